//! Reads and writes a Lease: who of several Berths does what only one may do at a time.

use std::time::{Duration, SystemTime};

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};

use crate::model::ObjectKey;

/// How long the API server may take for one call.
const PATIENCE: Duration = Duration::from_secs(3);

/// A Lease as it was read or written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SeenLease {
    /// Who holds it; empty if nobody does.
    pub(crate) holder: String,
    /// How long after its last renewal it belongs to nobody.
    pub(crate) duration: Duration,
    /// Its version.
    pub(crate) version: String,
    /// The rest of it.
    lease: Lease,
}

/// Where Leases are.
#[derive(Clone)]
pub(crate) struct Leases {
    client: Client,
    /// Where a Lease is whose namespace nobody names.
    namespace: String,
}

impl Leases {
    /// Leases of an API server; `namespace` is the account's own.
    pub(crate) fn new(client: Client, namespace: String) -> Self {
        Self { client, namespace }
    }

    /// The place of a Lease.
    pub(crate) fn key(&self, namespace: &str, name: &str) -> ObjectKey {
        let namespace = if namespace.is_empty() { &*self.namespace } else { namespace };
        ObjectKey::new(namespace, name)
    }

    /// A Lease, if it is there.
    pub(crate) async fn read(&self, key: &ObjectKey) -> Result<Option<SeenLease>, String> {
        let lease = in_time(self.of(key).get_opt(&key.name)).await?;
        Ok(lease.map(SeenLease::from))
    }

    /// Writes who holds it, unless somebody else has written it since it was seen; then `None`.
    pub(crate) async fn write(
        &self,
        key: &ObjectKey,
        seen: Option<&SeenLease>,
        holder: &str,
        duration: Duration,
    ) -> Result<Option<SeenLease>, String> {
        let lease = claimed(key, seen, holder, duration, SystemTime::now());
        let (leases, params) = (self.of(key), PostParams::default());
        let written = match seen {
            None => in_time(leases.create(&params, &lease)).await,
            Some(_) => in_time(leases.replace(&key.name, &params, &lease)).await,
        };
        match written {
            Ok(lease) => Ok(Some(lease.into())),
            Err(Failure { is_conflict: true, .. }) => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }

    fn of(&self, key: &ObjectKey) -> Api<Lease> {
        Api::namespaced(self.client.clone(), &key.namespace)
    }
}

/// The Lease with a holder, who has just renewed it.
fn claimed(
    key: &ObjectKey,
    seen: Option<&SeenLease>,
    holder: &str,
    duration: Duration,
    now: SystemTime,
) -> Lease {
    let now = Timestamp::try_from(now).ok().map(MicroTime);
    let mut lease = seen.map_or_else(Lease::default, |seen| seen.lease.clone());
    if seen.is_none() {
        let (name, namespace) = (key.name.to_string(), key.namespace.to_string());
        lease.metadata = ObjectMeta { name: Some(name), namespace: Some(namespace), ..ObjectMeta::default() };
    }
    let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
    if spec.holder_identity.as_deref() != Some(holder) && !holder.is_empty() {
        spec.acquire_time.clone_from(&now);
        let transitions = spec.lease_transitions.unwrap_or_default();
        spec.lease_transitions = Some(transitions + i32::from(seen.is_some()));
    }
    spec.holder_identity = Some(holder.to_owned());
    spec.lease_duration_seconds = i32::try_from(duration.as_secs()).ok();
    spec.renew_time = now;
    lease
}

impl From<Lease> for SeenLease {
    fn from(lease: Lease) -> Self {
        let spec = lease.spec.as_ref();
        let seconds = spec.and_then(|spec| spec.lease_duration_seconds).unwrap_or_default();
        Self {
            holder: spec.and_then(|spec| spec.holder_identity.clone()).unwrap_or_default(),
            duration: Duration::from_secs(seconds.try_into().unwrap_or_default()),
            version: lease.metadata.resource_version.clone().unwrap_or_default(),
            lease,
        }
    }
}

/// Why a call failed.
struct Failure {
    is_conflict: bool,
    reason: String,
}

impl From<Failure> for String {
    fn from(failure: Failure) -> Self {
        failure.reason
    }
}

async fn in_time<T>(answer: impl Future<Output = kube::Result<T>>) -> Result<T, Failure> {
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => {
            let is_conflict = matches!(&error, kube::Error::Api(status) if status.code == 409);
            Err(Failure { is_conflict, reason: error.to_string() })
        }
        Err(_) => {
            Err(Failure { is_conflict: false, reason: "the API server did not answer in time".to_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::{SeenLease, claimed};
    use crate::model::ObjectKey;

    #[test]
    fn a_claim_keeps_what_is_not_its_own_and_counts_changes_of_the_holder() {
        let key = ObjectKey::new("ns", "l");
        let (now, duration) = (SystemTime::now(), Duration::from_secs(15));
        let claim = |seen: Option<&SeenLease>, holder: &str| {
            let mut lease = claimed(&key, seen, holder, duration, now);
            lease.metadata.resource_version = Some("1".to_owned());
            SeenLease::from(lease)
        };
        let transitions = |seen: &SeenLease| seen.lease.spec.as_ref().and_then(|spec| spec.lease_transitions);
        let first = claim(None, "a");
        assert_eq!((&*first.holder, first.duration, transitions(&first)), ("a", duration, Some(0)));
        let renewed = claim(Some(&first), "a");
        assert_eq!((transitions(&renewed), &*renewed.version), (Some(0), "1"));
        let released = claim(Some(&renewed), "");
        assert_eq!((&*released.holder, transitions(&released)), ("", Some(0)));
        assert_eq!(transitions(&claim(Some(&released), "b")), Some(1));
    }
}
