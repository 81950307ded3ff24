//! What Berth keeps of the cluster: slim, immutable, pure data.
//!
//! Nothing here knows JSON, clocks, locks or the network. Objects are converted at the door
//! ([`crate::cluster`]) and shared by `Arc` from then on.

pub mod anti_affinity;
pub mod constraints;
pub mod group;
pub mod kind;
pub mod label_syntax;
pub mod labels;
pub mod limit_range;
pub mod managed_service;
pub mod name;
pub mod node;
pub mod persistent;
pub mod pod;
pub mod pod_requests;
pub mod priority_class;
pub mod quantity;
pub mod requirements;
pub mod resource_quota;
pub mod resources;
pub mod selector;
pub mod volume;
pub mod workload;

pub use anti_affinity::{AffinityTerm, AntiAffinityTerm};
pub use constraints::{HostPort, PodConstraints};
pub use group::{GroupKey, GroupObject, Membership, Recogniser, Template};
pub use kind::{GroupKind, Kind};
pub use labels::Labels;
pub use limit_range::LimitRange;
pub use managed_service::{GroupService, ManagedService, Owner};
pub use name::{Name, ObjectKey};
pub use node::{Node, Taint};
pub use pod::{Controller, Pod, Uid};
pub use pod_requests::PodRequests;
pub use priority_class::PriorityClass;
pub use quantity::Quantity;
pub use requirements::Requirements;
pub use resource_quota::{QuotaTraits, ResourceQuota};
pub use resources::{Dimension, Resources, Used};
pub use selector::Selector;
pub use volume::{ClaimName, PersistentVolume, StorageClass, TemplateVolume, VolumeAffinity, VolumeClaim};
pub use workload::{Namespace, Object, Service, Workload};
