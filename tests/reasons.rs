//! The page of reason codes in the docs is the one that the code gives.

use std::path::Path;

use berth::decision::catalogue;

#[test]
fn the_page_of_reason_codes_is_current() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reasons.md");
    let page = catalogue::page();
    if std::env::var_os("BERTH_WRITE_DOCS").is_some() {
        std::fs::write(&file, &page).expect("docs/reasons.md");
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == page,
        "docs/reasons.md is not what the code says: write it with BERTH_WRITE_DOCS=1 cargo test --test reasons"
    );
}
