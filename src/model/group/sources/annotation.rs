//! Berth's own annotations, on pods of any kind.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::model::group::service_terms::ServiceTerms;
use crate::model::group::source::{GroupSource, Mark, NoObject, Recognised, Told};
use crate::model::group::{FirstMember, GroupKey, Recogniser};
use crate::model::{Name, Pod};

/// The keys. All but the first two may be added to the pods of any other source.
pub mod keys {
    pub const GROUP: &str = "berth.dev/group";
    pub const SET: &str = "berth.dev/group-set";
    pub const SIZE: &str = "berth.dev/group-size";
    pub const INDEX: &str = "berth.dev/group-index";
    pub const REQUIRED: &str = "berth.dev/required-topology";
    pub const PREFERRED: &str = "berth.dev/preferred-topology";
    pub const EXCLUSIVE: &str = "berth.dev/exclusive";
    /// Whether the group is to have a Service of its own.
    pub const SERVICE: &str = "berth.dev/service-per-group";
    /// What the Service is called, as the pod was told when it was created.
    pub const SERVICE_NAME: &str = "berth.dev/service-name";
}

/// As long as the name of an object may be.
const LONGEST_NAME: usize = 253;

/// Whether an annotation may name a group. It is written into logs and kept for as long as the group is remembered.
pub(crate) fn is_name(text: &str) -> bool {
    text.len() <= LONGEST_NAME && !text.contains(char::is_control)
}

/// What stands for the name of a group that is told that its own is none: such groups are let in nowhere.
fn printable(name: Name) -> Name {
    if is_name(&name) {
        return name;
    }
    let short: String = name.chars().filter(|char| !char.is_control()).take(LONGEST_NAME / 4).collect();
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    // Longer than the name of any group that is let in may be, so that it is none of those.
    format!("{short:.<254}{:016x}", hasher.finish()).as_str().into()
}

/// See [`super::Source::Annotation`].
pub(super) struct Annotation;

impl GroupSource for Annotation {
    const MARK: Mark = Mark::Annotation(keys::GROUP);
    const ANNOTATIONS: &'static [&'static str] = &["berth.dev/"];
    // Annotations select nothing: who wants a Service for the group repeats them as labels.
    const GROUP_LABELS: &'static [&'static str] = &[keys::GROUP];

    type Object = NoObject;

    fn recognise(pod: &Told<'_>, _: &Recogniser) -> Option<Recognised> {
        let name = printable(pod.annotations.text(keys::GROUP)?);
        // Size, index and topology are added to what any source says.
        Some(match pod.annotations.text(keys::SET) {
            Some(set) => Recognised { index: Some(name), ..Recognised::named(printable(set)) },
            None => Recognised::named(name),
        })
    }

    fn service(pod: &Told<'_>, group: &GroupKey, _: &Recogniser) -> ServiceTerms {
        let of_set = pod.annotations.text(keys::SET).is_some();
        let wanted: &[&str] = if of_set { &[keys::SET, keys::GROUP] } else { &[keys::GROUP] };
        let is_repeated = |(key, value): &(Name, Name)| pod.annotations.text(key).as_ref() == Some(value);
        let labels = pod.labels.pairs(wanted).filter(|pairs| pairs.iter().all(is_repeated));
        ServiceTerms::of(group, labels)
    }

    fn first_member(_: &Pod) -> FirstMember {
        FirstMember::Numbered
    }
}
