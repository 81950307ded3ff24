//! Persistent collections: a clone shares what it has in common with the original, which is how a view is cheap to change.
//!
//! Keys come from inside the cluster and are looked up many times for each call, so they are hashed fast, with a key that is
//! drawn anew in every process.

use ahash::RandomState;
use imbl::shared_ptr::DefaultSharedPtr;

/// A persistent map.
pub type HashMap<K, V> = imbl::GenericHashMap<K, V, RandomState, DefaultSharedPtr>;
/// A persistent set.
pub type HashSet<A> = imbl::GenericHashSet<A, RandomState, DefaultSharedPtr>;
