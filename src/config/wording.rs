//! What the reader of a type says about a value, in the words of whoever wrote it: nobody who edits YAML knows of structs.

/// Whether a section is there and nothing below it.
pub(super) fn is_empty_section(reason: &str) -> bool {
    mismatch(reason).is_some_and(|(found, expected)| found == "null" && expected.starts_with("struct "))
}

/// The names that an error lists because another one was found.
pub(super) fn names_in(reason: &str) -> Option<&str> {
    reason.strip_prefix("unknown variant ")?.split_once(", expected ").map(|(_, names)| names)
}

/// What is wrong, in words. The names that may stand in the place are asked for only if they matter.
pub(super) fn in_words(reason: &str, names: impl FnOnce() -> Option<String>) -> String {
    let found = reason.strip_prefix("unknown variant ").and_then(|rest| rest.split_once(", expected "));
    if let Some((found, names)) = found {
        return format!("must be {names}, not {found}");
    }
    let Some((found, expected)) = mismatch(reason) else { return reason.to_owned() };
    let expected = match expected {
        "string or map" | "map with a single key" => names().unwrap_or_else(|| "a name".to_owned()),
        "a map" => "a mapping".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "path string" => "a path".to_owned(),
        "i32" => "a whole number".to_owned(),
        "u32" | "u64" | "usize" => "a whole number that is not negative".to_owned(),
        other if other.starts_with("struct ") => "a mapping of fields".to_owned(),
        other => other.to_owned(),
    };
    match found {
        "null" => format!("is empty, and must be {expected}"),
        "map" => format!("must be {expected}, not a mapping"),
        "sequence" => format!("must be {expected}, not a list"),
        found if found.starts_with("boolean ") => {
            let found = found.trim_start_matches("boolean ");
            format!(
                "must be {expected}, not {found}; without quotes YAML takes on and yes for true, off and no for false"
            )
        }
        found => format!("must be {expected}, not {found}"),
    }
}

/// What was found, and what was expected.
fn mismatch(reason: &str) -> Option<(&str, &str)> {
    let kinds = ["invalid type: ", "invalid value: "];
    kinds.iter().find_map(|kind| reason.strip_prefix(kind))?.split_once(", expected ")
}
