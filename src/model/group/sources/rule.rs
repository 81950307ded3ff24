//! Groups by labels of one's own, as a rule of the configuration says.

use crate::model::Pod;
use crate::model::group::recognition::{Rule as GroupRule, Size};
use crate::model::group::service_terms::ServiceTerms;
use crate::model::group::source::{GroupSource, Mark, NoObject, Recognised, Told};
use crate::model::group::{FirstMember, GroupKey, Recogniser};

/// See [`super::Source::Rule`].
pub(super) struct Rule;

impl GroupSource for Rule {
    const MARK: Mark = Mark::ByRule;
    // A size may stand under any key: annotations that are numbers are always kept.
    const ANNOTATIONS: &'static [&'static str] = &[];
    // Those that the rules name are asked for there.
    const GROUP_LABELS: &'static [&'static str] = &[];

    type Object = NoObject;

    fn recognise(pod: &Told<'_>, recogniser: &Recogniser) -> Option<Recognised> {
        let applies =
            |rule: &&GroupRule| pod.labels.text(&rule.label).is_some() && rule.audience.includes(pod.pod);
        let rule = recogniser.rules.iter().find(applies)?;
        let size = match &rule.size {
            Size::Unknown => None,
            Size::Number(size) => Some(*size),
            Size::Label(label) => pod.labels.number(label),
            Size::Annotation(annotation) => pod.annotations.number(annotation),
        };
        let group = Recognised::named(pod.labels.text(&rule.label)?);
        Some(Recognised { size, topology: rule.topology.clone(), ..group })
    }

    fn service(pod: &Told<'_>, group: &GroupKey, recogniser: &Recogniser) -> ServiceTerms {
        let names_it = |rule: &&GroupRule| pod.labels.text(&rule.label).as_ref() == Some(&group.set.name);
        let rule = recogniser.rules.iter().find(|rule| names_it(rule) && rule.audience.includes(pod.pod));
        ServiceTerms::of(group, rule.and_then(|rule| pod.labels.pairs(&[&rule.label])))
    }

    fn first_member(_: &Pod) -> FirstMember {
        FirstMember::Nobody
    }
}
