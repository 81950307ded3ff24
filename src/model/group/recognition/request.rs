//! What a group asks for, out of what its pods, its set and their templates say.
//!
//! ```text
//!   the pod says what its template says    what any template of the group asks for, the leader's before the others':
//!                                          all members ask for the same
//!   it says something else and waits       its own word: somebody added it, or the templates have changed since
//!   it says something else and runs        what it was placed by cannot be told any more. It keeps others out of no more
//!                                          than both ask for
//!   there are no templates                 its own word
//! ```

use super::berth;
use crate::model::group::source::{Told, Values};
use crate::model::group::{GroupObject, Overruled, Source, TopologyRequest};
use crate::model::{Pod, Template};

/// What a group asks for, and what was said in vain.
pub(super) struct Asked {
    pub topology: TopologyRequest,
    pub overruled: Option<Overruled>,
}

/// What the group of a pod asks for; `by_source` is what its source reads from the pod, and `index` tells which member it
/// is.
pub(super) fn asked(
    told: &Told<'_>,
    source: Source,
    by_source: &TopologyRequest,
    object: Option<&GroupObject>,
    index: Option<u32>,
) -> Asked {
    let by_object = object.map(|object| &object.topology).filter(|_| by_source.is_none());
    let own = annotated(&told.annotations).or(by_object.unwrap_or(by_source));
    let found = object.map(|object| (object, source.templates(told.pod, object)));
    let Some((object, templates)) = found.filter(|(_, templates)| !templates.is_empty()) else {
        return Asked { topology: own, overruled: None };
    };
    let said: Vec<_> = templates.iter().map(|template| of_template(template)).collect();
    let all = said.iter().fold(TopologyRequest::default(), TopologyRequest::or).or(&object.topology);
    let made_from = template_of(told.pod, source, object, index, &templates);
    if made_from.is_some_and(|template| of_template(template).or(&object.topology) == own) {
        let overruled = is_contradictory(&said).then_some(Overruled::Contradiction);
        Asked { topology: all, overruled }
    } else if told.pod.node.is_some() {
        let both = own.exclusive.zip(all.exclusive).map(|(own, all)| own.min(all));
        let exclusive = both.filter(|_| own.required == all.required);
        let overruled = (exclusive != own.exclusive).then_some(Overruled::RunningMember);
        Asked { topology: TopologyRequest { exclusive, ..own }, overruled }
    } else {
        Asked { topology: own.or(&all), overruled: None }
    }
}

/// The template that a pod was made from, if that is certain.
fn template_of<'o>(
    pod: &Pod,
    source: Source,
    object: &'o GroupObject,
    index: Option<u32>,
    templates: &[&'o Template],
) -> Option<&'o Template> {
    let index = index.or_else(|| source.index(pod, object));
    let numbered = index.and_then(|index| source.template(pod, object, index));
    let only = templates.first().copied().filter(|_| templates.len() == 1);
    numbered.or(only)
}

fn of_template(template: &Template) -> TopologyRequest {
    annotated(&Values(&template.annotations))
}

/// What Berth's own annotations ask for.
fn annotated(said: &Values<'_>) -> TopologyRequest {
    TopologyRequest {
        required: said.topology_key(berth::REQUIRED),
        preferred: said.topology_key(berth::PREFERRED),
        exclusive: said.scope(berth::EXCLUSIVE),
    }
}

/// Whether two templates name different topologies, or scopes.
fn is_contradictory(said: &[TopologyRequest]) -> bool {
    fn differ<T: PartialEq>(mut values: impl Iterator<Item = T>) -> bool {
        let first = values.next();
        values.any(|value| Some(&value) != first.as_ref())
    }
    differ(said.iter().filter_map(|one| one.required.as_ref()))
        || differ(said.iter().filter_map(|one| one.preferred.as_ref()))
        || differ(said.iter().filter_map(|one| one.exclusive))
}
