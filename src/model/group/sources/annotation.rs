//! Berth's own annotations, on pods of any kind.

use crate::model::group::source::{GroupSource, Mark, NoObject, Recognised, Told};
use crate::model::group::{FirstMember, Recogniser};
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
    short.as_str().into()
}

/// See [`super::Source::Annotation`].
pub(super) struct Annotation;

impl GroupSource for Annotation {
    const MARK: Mark = Mark::Annotation(keys::GROUP);
    const ANNOTATIONS: &'static [&'static str] = &["berth.dev/"];
    const GROUP_LABELS: &'static [&'static str] = &[];

    type Object = NoObject;

    fn recognise(pod: &Told<'_>, _: &Recogniser) -> Option<Recognised> {
        let name = printable(pod.annotations.text(keys::GROUP)?);
        // Size, index and topology are added to what any source says.
        Some(match pod.annotations.text(keys::SET) {
            Some(set) => Recognised { index: Some(name), ..Recognised::named(printable(set)) },
            None => Recognised::named(name),
        })
    }

    fn first_member(_: &Pod) -> FirstMember {
        FirstMember::Numbered
    }
}
