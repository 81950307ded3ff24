//! The priority of members that do not exist yet.

use std::sync::Arc;

use super::View;
use crate::model::{Name, ObjectKey, Pod, PriorityClass, Template};

/// How important a member still to come will be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedPriority {
    /// Its priority.
    pub value: i32,
    /// Whether others may be evicted for it.
    pub may_preempt: bool,
    /// The name of its priority class: also that of the default class, which is written into the pod.
    pub class: Option<Name>,
}

impl ExpectedPriority {
    /// The one of a pod.
    pub fn of(pod: &Pod) -> Self {
        Self { value: pod.priority, may_preempt: pod.may_preempt, class: pod.priority_class.clone() }
    }
}

impl View {
    /// The priority of a pod that is made from a template: what the template says, else what its class says, else the
    /// default class, else 0. Every cluster has classes: where none is known they are not in the picture, and a pod has the
    /// priority of another of its group, `like`, that is of the same class. Of a class that nobody knows, no more than the
    /// usual default is expected.
    pub fn expected_priority(&self, template: &Template, like: &Pod) -> ExpectedPriority {
        let class = match &template.priority_class {
            Some(name) => {
                self.priority_classes.get(&ObjectKey { namespace: Name::from(""), name: name.clone() })
            }
            None => self.default_priority_class(),
        };
        let name = class.map(|class| class.key.name.clone()).or_else(|| template.priority_class.clone());
        let is_known = class.is_some() || (name.is_none() && !self.priority_classes.is_empty());
        let (value, may_preempt) = match class {
            Some(class) => (class.value, class.may_preempt),
            None if is_known => (0, true),
            None if name == like.priority_class => (like.priority, like.may_preempt),
            None if name.is_none() => (0, true),
            None => (like.priority.min(0), true),
        };
        ExpectedPriority {
            value: template.priority.unwrap_or(value),
            may_preempt: template.may_preempt.unwrap_or(may_preempt),
            class: name,
        }
    }

    /// Of several the least important, as the API server has it.
    fn default_priority_class(&self) -> Option<&Arc<PriorityClass>> {
        let defaults = self.priority_classes.iter().filter(|class| class.is_default);
        defaults.min_by(|a, b| (a.value, &a.key).cmp(&(b.value, &b.key)))
    }

    /// Takes in a priority class, or that it is gone.
    pub(super) fn set_priority_class(&mut self, key: &ObjectKey, class: Option<Arc<PriorityClass>>) {
        if self.priority_classes.set(key, class) {
            self.doubt_incomplete_groups(|_| true);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::fixtures::{object, pod};
    use crate::model::Template;
    use crate::view::View;
    use crate::view::change::Change;

    #[test]
    fn a_template_has_the_priority_that_the_api_server_will_give_its_pods() {
        let class = |name: &str, value: i32, more: &str| {
            object(&format!(
                r#"{{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{{"name":"{name}"}},
                "value":{value}{more}}}"#
            ))
        };
        let classes = || vec![class("high", 100, ""), class("meek", 50, r#","preemptionPolicy":"Never""#)];
        let with_default = |value: i32| {
            let default = |name: &str, value: i32| class(name, value, r#","globalDefault":true"#);
            let mut classes = classes();
            classes.extend([default("usual", value), default("other", value + 1)]);
            classes
        };
        let named = |class: &str| Template { priority_class: Some(class.into()), ..Template::default() };
        let explicit = Template { priority: Some(7), may_preempt: Some(false), ..named("high") };
        let mut like = pod("leader").priority(20).build();
        like.priority_class = Some("mine".into());
        for (name, classes, template, expected) in [
            ("of a class", classes(), named("high"), (100, true, Some("high"))),
            ("of one whose pods wait", classes(), named("meek"), (50, false, Some("meek"))),
            ("its own word", classes(), explicit, (7, false, Some("high"))),
            ("of none", classes(), Template::default(), (0, true, None)),
            ("of the default", with_default(30), Template::default(), (30, true, Some("usual"))),
            ("of one below", with_default(-5), Template::default(), (-5, true, Some("usual"))),
            ("of the leader's, unknown", vec![], named("mine"), (20, true, Some("mine"))),
            ("of another, unknown", vec![], named("high"), (0, true, Some("high"))),
            ("of none, and no class is known", vec![], Template::default(), (0, true, None)),
        ] {
            let mut view = View::default();
            for class in classes {
                view.apply(Change::Upsert(class));
            }
            let found = view.expected_priority(&template, &like);
            assert_eq!((found.value, found.may_preempt, found.class.as_deref()), expected, "{name}");
        }
    }
}
