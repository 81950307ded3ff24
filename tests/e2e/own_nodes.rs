//! Replica groups with nodes of their own: kube-apiserver asks Berth over TLS when the real `LeaderWorkerSet` controller has
//! pods made, and the groups wait for the node groups that an autoscaler would add.
//!
//! ```text
//!  controllers ── pods ──> kube-apiserver ── AdmissionReview, TLS ──> Berth: selector, toleration
//!                                                                      │
//!  test: adds a node group <── Event: AwaitsOwnNodes <─────────────────┘
//! ```

mod admitted;
pub mod bed;
mod scale_up;
