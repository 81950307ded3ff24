//! What the API server accepts as a label's key and value.

/// At most 63 characters of letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
fn is_name_part(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    text.len() <= 63
        && ends(bytes.first())
        && ends(bytes.last())
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b))
}

/// Whether a label may have this value; the empty one is fine.
pub(crate) fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_name_part(text)
}

/// Whether a label may have this key: a name, or a lower-case DNS name, a slash and a name.
pub(crate) fn is_label_key(text: &str) -> bool {
    let is_dns_label = |part: &str| {
        let lower = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let bytes = part.as_bytes();
        bytes.first().is_some_and(lower)
            && bytes.last().is_some_and(lower)
            && bytes.iter().all(|b| lower(b) || *b == b'-')
    };
    match text.split_once('/') {
        None => is_name_part(text),
        Some((prefix, name)) => {
            prefix.len() <= 253 && prefix.split('.').all(is_dns_label) && is_name_part(name)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{is_label_key, is_label_value};

    #[test]
    fn keys_and_values_are_checked_as_the_api_server_does() {
        for key in ["zone", "kubernetes.io/hostname", "a/b", "A_b.C-d"] {
            assert!(is_label_key(key), "{key}");
        }
        for key in ["", "/", "a/", "/b", "a/b/c", "-a", "a.", "Upper/b", "a..b/c", "a b"] {
            assert!(!is_label_key(key), "{key}");
        }
        assert!(is_label_value("") && is_label_value("rack-1"));
        assert!(!is_label_value("-") && !is_label_value("a b") && !is_label_value(&"a".repeat(64)));
    }
}
