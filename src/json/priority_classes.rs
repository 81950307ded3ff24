//! Priority classes: what priority pods will have that name them.

use serde::Deserialize;

use super::shapes::Meta;
use super::{Interner, key_of};
use crate::model::PriorityClass;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClassObject {
    metadata: Meta,
    value: Option<i32>,
    global_default: Option<bool>,
    preemption_policy: Option<String>,
}

pub(super) fn read(text: &str, interner: &Interner) -> Result<PriorityClass, serde_json::Error> {
    let ClassObject { metadata, value, global_default, preemption_policy } = serde_json::from_str(text)?;
    Ok(PriorityClass {
        key: key_of(&metadata, interner),
        value: value.unwrap_or_default(),
        is_default: global_default.unwrap_or_default(),
        may_preempt: preemption_policy.as_deref() != Some("Never"),
    })
}
