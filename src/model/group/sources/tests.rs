use super::{Mark, Source};
use crate::model::Kind;

#[test]
fn no_two_sources_have_a_name_a_mark_or_a_kind_in_common() {
    for (at, source) in Source::ALL.into_iter().enumerate() {
        for earlier in &Source::ALL[..at] {
            assert_ne!(source.name(), earlier.name());
            assert!(source.mark() != earlier.mark(), "{source:?} and {earlier:?}");
            assert!(source.kind().is_none() || source.kind() != earlier.kind(), "{source:?} and {earlier:?}");
        }
    }
    let kinds = Kind::ALL.into_iter().filter(|kind| matches!(kind, Kind::Group(_))).count();
    assert_eq!(kinds, Source::KINDS);
}

#[test]
fn what_a_source_looks_for_is_kept_when_pods_are_read() {
    for source in Source::ALL {
        match source.mark() {
            Mark::Annotation(key) => assert!(source.reads_annotation(key), "{source:?}"),
            // The quick test for marks has one bit for each length.
            Mark::Label(key) => assert!(key.len() < 64, "{source:?}"),
            Mark::ByRule => assert!(!source.is_listed()),
        }
    }
}
