//! Background services that write to the API server by themselves. Of several Berths one does so at a time.
//!
//! ```text
//!   election        who does, by a Lease; what may be relied on is drawn there
//!   group_services  a headless Service for each replica group that asks for one
//! ```

pub(crate) mod election;
pub(crate) mod group_services;
