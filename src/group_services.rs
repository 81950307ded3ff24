//! A headless Service for each replica group that asks for one. Pure: what is to be there follows from a view, and what
//! has to be done from the difference to what is there.
//!
//! ```text
//!   request     which groups ask for one, by pods, templates or the object behind them
//!   name        what it is called; a suffix where the plain name is taken, or is none
//!   owners      with whom it is garbage-collected
//!   desired     all of it together, for every group of the cluster; who is refused, and why
//!   difference  what to create, to repair and to delete
//!   address     what a pod has to know of it when it is created
//! ```

mod address;
mod desired;
mod difference;
mod name;
mod owners;
mod request;
#[cfg(test)]
mod tests;

#[allow(unused_imports, reason = "for admission, which sets it")]
pub(crate) use self::address::{Address, address};
pub(crate) use self::desired::{Desired, Refusal, desired};
pub(crate) use self::difference::{Action, difference};
