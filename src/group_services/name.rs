//! What a group's Service is called.
//!
//! The plain name says it all: the set and the group. Where that is no name for a Service, or somebody else's Service bears
//! it, a hash of the group is added. Once a group's members, or its Service, bear one of the two, it stays: members were told
//! the name when they were created.

use crate::model::managed_service::GroupName;
use crate::model::{GroupKey, Name};

/// As long as a label of DNS may be.
const LONGEST: usize = 63;
/// Hexadecimal digits of a suffix, and their bits.
const DIGITS: usize = 10;

/// The names that a group's Service can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Names {
    plain: Option<Name>,
    suffixed: Name,
}

impl Names {
    /// Those of a group whose Service would best be called `wanted`.
    pub(super) fn of(group: &GroupKey, wanted: &str) -> Self {
        let plain = is_service_name(wanted).then(|| Name::from(wanted));
        Self { plain, suffixed: suffixed(group, wanted) }
    }

    /// All of them, the best one first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Name> {
        self.plain.iter().chain([&self.suffixed])
    }

    /// The name to use: one that is in use for the group already, else the best one that is not taken by others.
    pub(super) fn choose(
        &self,
        in_use: impl IntoIterator<Item = Name>,
        is_taken: impl Fn(&Name) -> bool,
    ) -> Option<Name> {
        let in_use = in_use.into_iter().filter(|name| self.iter().any(|own| own == name));
        in_use.chain(self.iter().cloned()).find(|name| !is_taken(name))
    }
}

/// Whether a Service can be called so (RFC 1035).
fn is_service_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let inside = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    text.len() <= LONGEST
        && bytes.first().is_some_and(u8::is_ascii_lowercase)
        && bytes.last().is_some_and(|byte| *byte != b'-')
        && bytes.iter().all(inside)
}

fn suffixed(group: &GroupKey, wanted: &str) -> Name {
    let allowed = |char: char| if char.is_ascii_alphanumeric() { char.to_ascii_lowercase() } else { '-' };
    let stem: String = wanted.chars().map(allowed).skip_while(|char| !char.is_ascii_lowercase()).collect();
    let stem: String = stem.chars().take(LONGEST - DIGITS - 1).collect();
    let stem = match stem.trim_end_matches('-') {
        "" => "group",
        stem => stem,
    };
    let hash = hash(&GroupName(group).to_string()) & ((1 << (4 * DIGITS)) - 1);
    format!("{stem}-{hash:0DIGITS$x}").into()
}

/// FNV-1a, folded: the same in every version and on every machine, for names stay longer than processes.
fn hash(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, Names, is_service_name};
    use crate::model::group::Source;
    use crate::model::{GroupKey, Name, ObjectKey};

    fn group(set: &str, index: &str) -> GroupKey {
        let set = ObjectKey::new("default", set);
        GroupKey { source: Source::LeaderWorkerSet, set, index: index.into(), revision: "a".into() }
    }

    #[test]
    fn a_name_that_a_service_cannot_have_gets_a_suffix() {
        let long = "a".repeat(62);
        for (set, index, plain, suffixed) in [
            ("llm", "0", Some("llm-0"), "llm-0-"),
            ("1st", "0", None, "st-0-"),
            ("Ring A.b", "0", None, "ring-a-b-0-"),
            ("", "", None, "group-"),
            ("77", "0", None, "group-"),
            (&*long, "0", None, "aaaa"),
            ("x-", "", None, "x-"),
        ] {
            let wanted = if index.is_empty() { set.to_owned() } else { format!("{set}-{index}") };
            let names = Names::of(&group(set, index), &wanted);
            assert_eq!(names.plain.as_deref(), plain, "{wanted}");
            assert!(names.suffixed.starts_with(suffixed), "{wanted}: {}", names.suffixed);
            for name in names.iter() {
                assert!(is_service_name(name) && name.len() <= LONGEST, "{name}");
            }
        }
    }

    #[test]
    fn a_suffix_tells_groups_apart_stays_for_ever_and_knows_no_revision() {
        let suffixed = |set: &str, index: &str| Names::of(&group(set, index), "llm").suffixed;
        assert_ne!(suffixed("a-b", "0"), suffixed("a", "b-0"));
        assert_ne!(suffixed("a", "0"), suffixed("a", "1"));
        // Written down: members bear it for as long as they run, whatever version of Berth comes next.
        assert_eq!(&*suffixed("llm", "0"), "llm-011da6c950");
        let later = GroupKey { revision: "b".into(), ..group("a", "0") };
        assert_eq!(Names::of(&later, "llm").suffixed, suffixed("a", "0"));
    }

    #[test]
    fn a_name_in_use_stays_and_one_that_is_taken_gives_way_to_a_suffix() {
        let names = Names::of(&group("llm", "0"), "llm-0");
        let (plain, suffixed) = (Name::from("llm-0"), names.suffixed.clone());
        let none: [Name; 0] = [];
        let free = |_: &Name| false;
        assert_eq!(names.choose(none.clone(), free), Some(plain.clone()));
        assert_eq!(names.choose(none.clone(), |name| *name == plain), Some(suffixed.clone()));
        assert_eq!(names.choose(none, |_| true), None);
        assert_eq!(names.choose([suffixed.clone()], free), Some(suffixed.clone()), "it was told so");
        assert_eq!(names.choose(["stranger".into()], free), Some(plain.clone()), "none of its names");
        assert_eq!(names.choose([plain.clone()], |name| *name == plain), Some(suffixed));
    }
}
