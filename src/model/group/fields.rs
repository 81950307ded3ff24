//! What a source may ask of its object, wherever the object was read from.

use crate::model::{Name, Template};

/// The fields of an object, or of one entry of a list in it.
///
/// A path such as `spec.leaderWorkerTemplate.size` leads to a field. A field that is absent or null, and one below such
/// a field, is `None`; one that holds something else than what is asked for makes the object malformed.
pub(crate) trait Fields {
    /// A number that is not negative.
    fn number(&self, path: &str) -> Result<Option<u32>, Malformed>;

    /// A text that is not empty.
    fn text(&self, path: &str) -> Result<Option<Name>, Malformed>;

    /// An annotation of the object that is not empty.
    fn annotation(&self, key: &str) -> Result<Option<Name>, Malformed>;

    /// A pod template.
    fn template(&self, path: &str) -> Result<Option<Template>, Malformed>;

    /// The entries of a list; none if it is absent.
    fn list(&self, path: &str) -> Result<Vec<Box<dyn Fields + '_>>, Malformed>;
}

/// A field does not hold what it should.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {reason}")]
pub(crate) struct Malformed {
    /// The field.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
}
