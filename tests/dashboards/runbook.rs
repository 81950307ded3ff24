//! Each alert says what a person needs to know, and leads to a section of the runbook; and no section is left without its alert.

use std::collections::BTreeSet;

use super::files::{alerts, project};

const DOCUMENT: &str = "docs/runbook.md";
/// Sections that belong to no alert.
const OTHERS: [&str; 1] = ["Berth is down"];
/// What a section answers, in this order.
const ANSWERS: [&str; 4] = ["**Means** ", "**Hurts** ", "**Look** ", "**Do** "];

/// Heading and text of each section.
fn sections() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(project().join(DOCUMENT)).expect("the runbook");
    let sections = text.split("\n## ").skip(1);
    sections
        .filter_map(|section| section.split_once('\n'))
        .map(|(h, text)| (h.to_owned(), text.to_owned()))
        .collect()
}

#[test]
fn alerts_and_sections_of_the_runbook_belong_together() {
    let names: BTreeSet<String> =
        alerts().iter().map(|alert| alert["alert"].as_str().expect("a name").to_owned()).collect();
    let headings: BTreeSet<String> = sections().into_iter().map(|(heading, _)| heading).collect();
    let expected: BTreeSet<String> = names.into_iter().chain(OTHERS.map(str::to_owned)).collect();
    assert_eq!(headings, expected);
}

#[test]
fn every_section_about_an_alert_answers_the_same_questions() {
    for (heading, text) in sections().iter().filter(|(heading, _)| !OTHERS.contains(&&**heading)) {
        let places: Vec<Option<usize>> = ANSWERS.iter().map(|answer| text.find(answer)).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{heading}: {places:?}");
    }
}

#[test]
fn every_alert_says_how_bad_it_is_what_it_is_and_where_to_read_on() {
    for alert in alerts() {
        let name = alert["alert"].as_str().expect("a name");
        assert!(name.starts_with("Berth"), "{name}");
        let severity = alert["labels"]["severity"].as_str().unwrap_or_default();
        assert!(["critical", "warning"].contains(&severity), "{name}: {severity}");
        for text in ["summary", "description"] {
            let text = alert["annotations"][text].as_str().unwrap_or_default();
            assert!(text.ends_with('.') && !text.contains('\n'), "{name}: {text}");
        }
        let link = format!("{DOCUMENT}#{}", name.to_lowercase());
        assert_eq!(alert["annotations"]["runbook_url"], link, "{name}");
    }
}

#[test]
fn links_within_the_runbook_lead_somewhere() {
    let anchors: BTreeSet<String> =
        sections().iter().map(|(heading, _)| heading.to_lowercase().replace(' ', "-")).collect();
    let text = std::fs::read_to_string(project().join(DOCUMENT)).expect("the runbook");
    for link in text.split("](#").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(anchors.contains(link), "#{link} is no section");
    }
}
