//! Berth's own annotations, on pods of any kind.

use crate::model::group::Recogniser;
use crate::model::group::source::{GroupSource, Mark, NoObject, Recognised, Told};

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

/// See [`super::Source::Annotation`].
pub(super) struct Annotation;

impl GroupSource for Annotation {
    const MARK: Mark = Mark::Annotation(keys::GROUP);
    const ANNOTATIONS: &'static [&'static str] = &["berth.dev/"];
    const GROUP_LABELS: &'static [&'static str] = &[];

    type Object = NoObject;

    fn recognise(pod: &Told<'_>, _: &Recogniser) -> Option<Recognised> {
        let name = pod.annotations.text(keys::GROUP)?;
        // Size, index and topology are added to what any source says.
        Some(match pod.annotations.text(keys::SET) {
            Some(set) => Recognised { index: Some(name), ..Recognised::named(set) },
            None => Recognised::named(name),
        })
    }
}
