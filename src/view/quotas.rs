//! Quotas, and what the pods of their namespaces use.

use std::sync::Arc;

use super::{Namespaced, View};
use crate::model::persistent::HashMap;
use crate::model::resource_quota::QuotaLimit;
use crate::model::{Name, ObjectKey, Pod, QuotaTraits, ResourceQuota, Used};

/// Quotas, and what is seen of what they count.
#[derive(Clone, Debug, Default)]
pub(super) struct Quotas {
    pub(super) objects: Namespaced<ResourceQuota>,
    /// What pods use that are to stay, by namespace and by what quotas tell them apart by. Counted while there is any
    /// quota.
    used: HashMap<Name, HashMap<QuotaTraits, Used>>,
}

impl Quotas {
    /// A pod is another one than before, has come, or is gone.
    pub(super) fn recount(&mut self, before: Option<&Pod>, after: Option<&Pod>) {
        let is_same = before.zip(after).is_some_and(|(before, after)| std::ptr::eq(before, after));
        if self.objects.is_empty() || is_same {
            return;
        }
        if let Some(pod) = before.filter(|pod| counts(pod)) {
            self.leave(pod);
        }
        if let Some(pod) = after.filter(|pod| counts(pod)) {
            self.arrive(pod);
        }
    }

    fn arrive(&mut self, pod: &Pod) {
        let used = self.used.entry(pod.key.namespace.clone()).or_default();
        used.entry(QuotaTraits::of(pod)).or_default().arrive(&pod.allocated);
    }

    fn leave(&mut self, pod: &Pod) {
        let Some(by_traits) = self.used.get_mut(&pod.key.namespace) else { return };
        let traits = QuotaTraits::of(pod);
        let Some(used) = by_traits.get_mut(&traits) else { return };
        used.leave(&pod.allocated);
        if used.pods == 0 {
            by_traits.remove(&traits);
        }
        if by_traits.is_empty() {
            self.used.remove(&pod.key.namespace);
        }
    }

    /// What the pods that a quota counts are seen to use.
    fn seen(&self, quota: &ResourceQuota, limit: &QuotaLimit) -> i64 {
        let used = self.used.get(&quota.key.namespace).into_iter().flatten();
        let counted = used.filter(|(traits, _)| quota.counts(traits));
        counted.fold(0, |sum: i64, (_, used)| sum.saturating_add(limit.of.of_used(used)))
    }
}

/// Whether a pod uses what a quota limits. The API server counts one that is leaving until it is gone; whoever comes in
/// its stead is not created before that either, and must not be kept out until then.
fn counts(pod: &Pod) -> bool {
    !pod.finished && !pod.terminating
}

impl View {
    /// The quotas of a namespace.
    pub fn quotas(&self, namespace: &str) -> impl Iterator<Item = &Arc<ResourceQuota>> {
        self.quotas.objects.in_namespace(namespace)
    }

    /// How much of what a quota limits is left. Pods and quotas are watched each for itself: a quota may know of pods that
    /// are not shown yet, and they would count twice, as used and as still to come; or not know yet that pods are gone. So
    /// the lesser of what it says and of what is seen is used.
    pub fn quota_left(&self, quota: &ResourceQuota, limit: &QuotaLimit) -> i64 {
        let seen = self.quotas.seen(quota, limit);
        limit.hard.saturating_sub(limit.used.map_or(seen, |used| used.min(seen)))
    }

    /// Takes in a quota, or that it is gone.
    pub(super) fn set_quota(&mut self, key: &ObjectKey, quota: Option<Arc<ResourceQuota>>) {
        let is_first = self.quotas.objects.is_empty();
        if !self.quotas.objects.set(key, quota) {
            return;
        }
        if self.quotas.objects.is_empty() {
            self.quotas.used = HashMap::default();
        } else if is_first {
            for pod in self.pods.values().filter(|pod| counts(pod)) {
                self.quotas.arrive(pod);
            }
        }
        self.doubt_incomplete_groups(|group| group.set.namespace == key.namespace);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::fixtures::{PodBuilder, object, pod};
    use crate::model::{Kind, Object, ObjectKey, Resources};
    use crate::view::View;
    use crate::view::change::Change;

    fn quota(name: &str, more: &str) -> Object {
        object(&format!(
            r#"{{"apiVersion":"v1","kind":"ResourceQuota","metadata":{{"name":"{name}","namespace":"default"}},{more}}}"#
        ))
    }

    fn show(view: &mut View, pod: PodBuilder) {
        view.apply(Change::Upsert(Object::Pod(Arc::new(pod.build()))));
    }

    fn left(view: &View) -> Vec<i64> {
        let left = |quota| view.quota_left(quota, &quota.limits[0]);
        view.quotas("default").map(|quota| left(quota)).collect()
    }

    #[test]
    fn what_is_left_is_the_more_of_what_the_quota_says_and_of_what_is_seen() {
        let worker = |name: &str, cpus: i64| pod(name).requests(Resources::new(cpus * 1_000, 0, 0, []));
        let status = |used: &str| {
            quota("q", &format!(r#""status":{{"hard":{{"cpu":"10"}},"used":{{"cpu":"{used}"}}}}"#))
        };
        let mut view = View::default();
        show(&mut view, worker("a", 3));
        view.apply(Change::Upsert(quota("q", r#""spec":{"hard":{"cpu":"10"}}"#)));
        assert_eq!(left(&view), [7_000], "nobody has said what is used");
        view.apply(Change::Upsert(status("8")));
        assert_eq!(left(&view), [7_000], "pods of 5 are not shown yet");
        show(&mut view, worker("b", 5));
        assert_eq!(left(&view), [2_000]);
        show(&mut view, worker("c", 2));
        assert_eq!(left(&view), [2_000], "the quota does not know of it yet");
        view.apply(Change::Upsert(status("10")));
        assert_eq!(left(&view), [0]);
        show(&mut view, worker("b", 5).terminating());
        assert_eq!(left(&view), [5_000], "its room is for the next one");
        view.apply(Change::Remove(Kind::Pod, ObjectKey::new("default", "a")));
        assert_eq!(left(&view), [8_000]);
        show(&mut view, worker("c", 1));
        assert_eq!(left(&view), [9_000], "resized");
        view.apply(Change::Remove(Kind::ResourceQuota, ObjectKey::new("default", "q")));
        show(&mut view, worker("d", 4));
        view.apply(Change::Upsert(status("10")));
        assert_eq!(left(&view), [5_000], "counted anew");
    }

    #[test]
    fn a_quota_sees_the_pods_of_its_scopes() {
        let mut view = View::default();
        let of_class =
            |class: &str| quota(class, &format!(r#""spec":{{"hard":{{"pods":"9"}},{}}}"#, selecting(class)));
        view.apply(Change::Upsert(of_class("a")));
        view.apply(Change::Upsert(of_class("b")));
        for (name, class) in [("p", "a"), ("q", "a"), ("r", "b"), ("s", "c")] {
            let mut pod = pod(name).build();
            pod.priority_class = Some(class.into());
            view.apply(Change::Upsert(Object::Pod(Arc::new(pod))));
        }
        assert_eq!(left(&view), [7, 8]);
    }

    fn selecting(class: &str) -> String {
        format!(
            r#""scopeSelector":{{"matchExpressions":[{{"scopeName":"PriorityClass","operator":"In","values":["{class}"]}}]}}"#
        )
    }
}
