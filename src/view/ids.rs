//! Dense numbers for hosts and domains, which must not be mixed up.

macro_rules! dense_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The one of this position. Positions are far below 2^32: they count nodes.
            pub fn at(position: usize) -> Self {
                Self(u32::try_from(position).unwrap_or(u32::MAX))
            }

            /// Its position, in tables with one row for each.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

dense_id! {
    /// A host's number. It stays the same while the host is known, and is used again afterwards.
    HostId
}

dense_id! {
    /// A domain's number among those of its topology key, dense from 0.
    DomainId
}
