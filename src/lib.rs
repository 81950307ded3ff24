//! Berth: a kube-scheduler extender.
//!
//! Berth keeps each replica group (a leader and its workers, a job of many pods) together in one topology domain, whole
//! or not at all, and spreads everything else by rules that the operator of the cluster sets once. An unmodified
//! kube-scheduler asks it over HTTP which nodes may be used, which are best, where an eviction is worth it, and to bind
//! the pod. Berth answers from memory. All it knows can be rebuilt from the API server.
//!
//! ```text
//!   API server --list, watch--> json --> cluster --change--> store --publish--> snapshot: view, settings, engine
//!       ^                                                      |
//!       | binding                                              | one snapshot per request
//!       |                                                      v
//!   kube-scheduler --HTTP--> server --> wire --> verbs --> engine --> policies
//!       ^                                          |                    |
//!       +------------ reply, made by wire <--------+<---- decision -----+
//!                                                  |
//!                                                  +--> ledger: what was decided and the watch does not show yet
//! ```
//!
//! | to read about | begin with |
//! |---|---|
//! | what all others speak of: pods, nodes, kinds, selectors, quantities | [`model`] |
//! | how objects of Kubernetes become that | [`json`] |
//! | what was decided and is not yet seen, and the room reserved for groups | [`ledger`] |
//! | what a decision is made on, and how it changes | [`view`], [`view::change`] |
//! | how that is published together with the settings, and who is told of changes | [`store`] |
//! | what comes out: verdicts, reason codes, facts | [`decision`] |
//! | the rules: replica groups, spreading, fit, nominated nodes, preemption | [`policy`] |
//! | how the rules are asked, one after another | [`engine`] |
//! | what kube-scheduler sends and gets | [`wire`] |
//! | the way of one call, from its body to its answer | [`verbs`] |
//! | watches, bindings, Events, and how far the cache can be trusted | [`cluster`] |
//! | ports, TLS, limits, admin endpoints | [`server`] |
//! | settings | [`config`] |
//! | what is measured, and what is logged | [`metrics`], [`logging`] |
//! | how all of it is put together, started and stopped | [`app`] |
//! | certificates to start with | `certs` |
//! | the command line, and the story that needs no cluster | [`cli`], `demo` |
//! | what checks an installation | [`doctor`] |
//!
//! Read [`verbs`] first: it shows the way of a whole decision. `docs/architecture.md` explains why the parts are as they
//! are and has the table of which module may know which, `docs/glossary.md` the words, `docs/decisions` what was decided
//! and why.

pub mod admission;
pub mod app;
pub mod build_info;
mod certs;
pub mod cli;
pub mod cluster;
pub mod config;
mod controllers;
pub mod decision;
mod demo;
pub mod doctor;
pub mod engine;
#[cfg(test)]
mod fixtures;
mod group_services;
pub mod json;
pub mod ledger;
pub mod logging;
pub mod metrics;
pub mod model;
mod off_loop;
pub mod policy;
pub mod server;
pub mod store;
pub mod verbs;
pub mod view;
pub mod wire;
