//! Volumes: where claims let pods be.

use std::sync::Arc;

use super::{Namespaced, View};
use crate::ledger::Slot;
use crate::model::{
    Name, ObjectKey, PersistentVolume, Pod, Requirements, StorageClass, VolumeAffinity, VolumeClaim,
};

/// Claims, and what is behind them.
#[derive(Clone, Debug, Default)]
pub(super) struct Volumes {
    pub(super) claims: Namespaced<VolumeClaim>,
    pub(super) persistent: Namespaced<PersistentVolume>,
    pub(super) classes: Namespaced<StorageClass>,
}

impl Volumes {
    /// Whether it is known where a claim lets a pod be. If not, kube-scheduler would not let its pods in either: the claim or
    /// its volume is missing, or is to be bound without regard to pods and is not yet.
    fn is_settled(&self, namespace: &Name, claim: &Name) -> bool {
        let key = ObjectKey { namespace: namespace.clone(), name: claim.clone() };
        let named = |name: &Name| ObjectKey { namespace: Name::from(""), name: name.clone() };
        self.claims.get(&key).is_some_and(|claim| match (&claim.volume, &claim.class) {
            (Some(volume), _) => self.persistent.get(&named(volume)).is_some(),
            (None, Some(class)) => {
                self.classes.get(&named(class)).is_some_and(|class| class.waits_for_consumer)
            }
            (None, None) => false,
        })
    }

    /// Where a claim lets a pod be. One that is bound: where its volume can be reached. One that waits for its first pod:
    /// where a volume can be made. Anywhere, if it is to be bound without regard to pods: until then kube-scheduler lets
    /// none of its pods in, and nobody knows where the volume will be. The same goes for one that does not exist yet.
    fn reachable(&self, namespace: &Name, claim: &Name) -> impl Iterator<Item = &Arc<Requirements>> {
        let key = ObjectKey { namespace: namespace.clone(), name: claim.clone() };
        let claim = self.claims.get(&key);
        let named = |name: &Name| ObjectKey { namespace: Name::from(""), name: name.clone() };
        let volume = claim.and_then(|claim| self.persistent.get(&named(claim.volume.as_ref()?)));
        let unbound = claim.filter(|claim| claim.volume.is_none());
        let class = unbound.and_then(|claim| self.classes.get(&named(claim.class.as_ref()?)));
        let class = class.filter(|class| class.waits_for_consumer);
        let selected = class.and_then(|_| unbound?.selected_node.as_ref());
        let made = class.and_then(|class| class.allowed_topologies.as_ref());
        volume.into_iter().flat_map(|volume| volume.reachable.iter()).chain(selected).chain(made)
    }
}

impl View {
    /// Takes in a claim, or that it is gone. It says where members may be.
    pub(super) fn set_claim(&mut self, key: &ObjectKey, claim: Option<Arc<VolumeClaim>>) {
        if self.volumes.claims.set(key, claim) {
            self.doubt_incomplete_groups(|group| group.set.namespace == key.namespace);
        }
    }

    /// Takes in a volume, or that it is gone.
    pub(super) fn set_persistent_volume(&mut self, key: &ObjectKey, volume: Option<Arc<PersistentVolume>>) {
        if self.volumes.persistent.set(key, volume) {
            self.doubt_incomplete_groups(|_| true);
        }
    }

    /// Takes in a storage class, or that it is gone.
    pub(super) fn set_storage_class(&mut self, key: &ObjectKey, class: Option<Arc<StorageClass>>) {
        if self.volumes.classes.set(key, class) {
            self.doubt_incomplete_groups(|_| true);
        }
    }

    /// Where pods that use these claims can be; `None` if that is every node.
    pub fn volume_affinity<'n>(
        &self,
        namespace: &Name,
        claims: impl IntoIterator<Item = &'n Name>,
    ) -> Option<VolumeAffinity> {
        let mut all: Vec<Arc<Requirements>> = Vec::new();
        for reachable in claims.into_iter().flat_map(|claim| self.volumes.reachable(namespace, claim)) {
            if !all.contains(reachable) {
                all.push(reachable.clone());
            }
        }
        VolumeAffinity::of(all)
    }

    /// Where a pod can be for the sake of its volumes; `None` if that is every node.
    pub fn volume_affinity_of(&self, pod: &Pod) -> Option<VolumeAffinity> {
        self.volume_affinity(&pod.key.namespace, pod.claims())
    }

    /// Whether it is known where all of a pod's volumes are, or can be made.
    pub fn knows_volumes_of(&self, pod: &Pod) -> bool {
        pod.claims().iter().all(|claim| self.volumes.is_settled(&pod.key.namespace, claim))
    }

    /// The slot of a member on a host.
    pub fn slot_of(&self, pod: &Pod, host: &Name) -> Slot {
        Slot { volumes: self.volume_affinity_of(pod), ..Slot::of(pod, host) }
    }
}

#[cfg(test)]
mod tests {
    use crate::fixtures::{node, object};
    use crate::model::Name;
    use crate::view::View;
    use crate::view::change::Change;

    /// A claim `c` in each state, a volume in rack `a`, and classes whose volumes are made in rack `a`.
    #[test]
    fn a_claim_lets_pods_be_where_its_volume_is_or_can_be_made() {
        let volume = r#"{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"v"},"spec":{"nodeAffinity":
            {"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"rack","operator":"In","values":["a"]}]}]}}}}"#;
        let class = |name: &str, mode: &str| {
            format!(
                r#"{{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{{"name":"{name}"}},
                "provisioner":"x","volumeBindingMode":"{mode}","allowedTopologies":[{{"matchLabelExpressions":
                [{{"key":"rack","values":["a"]}}]}}]}}"#
            )
        };
        let claim = |more: &str| {
            format!(
                r#"{{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{"name":"c","namespace":"ns"}},
                "spec":{{{more}}}}}"#
            )
        };
        let (late, early) = (class("late", "WaitForFirstConsumer"), class("early", "Immediate"));
        for (name, claim, expected) in [
            ("bound", claim(r#""volumeName":"v","storageClassName":"early""#), (true, false)),
            ("bound to what is gone", claim(r#""volumeName":"w""#), (true, true)),
            ("waits for a pod", claim(r#""storageClassName":"late""#), (true, false)),
            ("waits for its volume", claim(r#""storageClassName":"early""#), (true, true)),
            ("of no class", claim(""), (true, true)),
            ("another claim", claim("").replace("\"c\"", "\"d\""), (true, true)),
        ] {
            let mut view = View::default();
            for text in [volume, &late, &early, &claim] {
                view.apply(Change::Upsert(object(text)));
            }
            let settled = view.volumes.is_settled(&"ns".into(), &"c".into());
            assert_eq!(settled, matches!(name, "bound" | "waits for a pod"), "{name}");
            let found = view.volume_affinity(&"ns".into(), &[Name::from("c")]);
            let allows = |rack: &str| {
                let node = node("n").label("rack", rack).build();
                found.as_ref().is_none_or(|found| found.allows(&node))
            };
            assert_eq!((allows("a"), allows("b")), expected, "{name}");
        }
    }
}
