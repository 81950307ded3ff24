//! Objects that stand behind groups: their sources name the fields, which are looked up here.

use std::collections::HashMap;
use std::fmt::Display;

use serde::Deserialize;
use serde::de::Error;
use serde_json::value::RawValue;

use super::Interner;
use crate::model::group::fields::{Fields, Malformed};
use crate::model::{GroupKind, GroupObject, Name, ObjectKey, Template};

/// Reads an object of a source's kind.
pub(super) fn read(
    kind: GroupKind,
    key: ObjectKey,
    text: &str,
    interner: &Interner,
) -> Result<GroupObject, serde_json::Error> {
    let namespace = key.namespace.clone();
    let fields = Json { text, namespace: &namespace, interner };
    kind.source().read(&fields, GroupObject::named(key)).map_err(serde_json::Error::custom)
}

/// An object, or a part of one, as it was written. Numbers keep their digits, so that quantities are read exactly.
struct Json<'a> {
    text: &'a str,
    namespace: &'a Name,
    interner: &'a Interner,
}

impl<'a> Json<'a> {
    /// What stands at the end of the path; `None` if it leads nowhere, or to null.
    fn at(&self, path: &str) -> Result<Option<&'a str>, Malformed> {
        let mut text = self.text;
        for field in path.split('.') {
            let fields: HashMap<String, &'a RawValue> =
                serde_json::from_str(text).map_err(|error| malformed(path, &error))?;
            match fields.get(field).map(|value| value.get()).filter(|value| *value != "null") {
                Some(value) => text = value,
                None => return Ok(None),
            }
        }
        Ok(Some(text))
    }

    fn value<T: Deserialize<'a>>(&self, path: &str) -> Result<Option<T>, Malformed> {
        let Some(text) = self.at(path)? else { return Ok(None) };
        serde_json::from_str(text).map(Some).map_err(|error| malformed(path, &error))
    }
}

impl Fields for Json<'_> {
    fn number(&self, path: &str) -> Result<Option<u32>, Malformed> {
        self.value(path)
    }

    fn text(&self, path: &str) -> Result<Option<Name>, Malformed> {
        let text = self.value::<String>(path)?.filter(|text| !text.is_empty());
        Ok(text.map(|text| self.interner.name(&text)))
    }

    fn annotation(&self, key: &str) -> Result<Option<Name>, Malformed> {
        let annotations = self.value::<HashMap<String, &RawValue>>("metadata.annotations")?;
        let Some(value) = annotations.and_then(|all| all.get(key).map(|value| value.get())) else {
            return Ok(None);
        };
        let text = serde_json::from_str::<String>(value).map_err(|error| malformed(key, &error))?;
        Ok(Some(text).filter(|text| !text.is_empty()).map(|text| self.interner.name(&text)))
    }

    fn template(&self, path: &str) -> Result<Option<Template>, Malformed> {
        let template = self.value(path)?;
        Ok(template.map(|template| super::template(template, self.namespace, self.interner)))
    }

    fn list(&self, path: &str) -> Result<Vec<Box<dyn Fields + '_>>, Malformed> {
        let mut list: Vec<Box<dyn Fields + '_>> = Vec::new();
        for entry in self.value::<Vec<&RawValue>>(path)?.into_iter().flatten() {
            list.push(Box::new(Json { text: entry.get(), ..*self }));
        }
        Ok(list)
    }
}

fn malformed(path: &str, reason: &dyn Display) -> Malformed {
    Malformed { path: path.to_owned(), reason: reason.to_string() }
}
