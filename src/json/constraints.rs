//! What few pods ask for: host ports, claims of volumes, pods to be near.

use std::sync::Arc;

use super::Interner;
use super::shapes::{ContainerObject, PodSpec, VolumeObject};
use crate::model::{AffinityTerm, ClaimName, HostPort, Name, ObjectKey, PodConstraints, TemplateVolume};

/// Those of a pod.
pub fn of_pod(spec: &PodSpec, key: &ObjectKey, interner: &Interner) -> Option<Arc<PodConstraints>> {
    let claims = claimed(spec).filter_map(|(_, claim)| claim.of_pod(Some(&key.name)));
    let claims = claims.map(|name| interner.name(&name)).collect();
    constraints(spec, claims, &key.namespace, interner)
}

/// Those of a pod that does not exist yet, but for its claims.
pub fn of_template(spec: &PodSpec, namespace: &Name, interner: &Interner) -> Option<Arc<PodConstraints>> {
    constraints(spec, Box::default(), namespace, interner)
}

/// The volumes of a pod that does not exist yet.
pub fn template_volumes(spec: &PodSpec, interner: &Interner) -> Box<[TemplateVolume]> {
    claimed(spec).map(|(name, claim)| TemplateVolume { name: interner.name(name), claim }).collect()
}

/// On the host's network every port of a container is one of the host: so the API server completes a pod when it is
/// created, but not the template of a custom resource.
pub fn fill_in_host_ports(spec: &mut PodSpec) {
    if spec.host_network != Some(true) {
        return;
    }
    let containers = spec.containers.iter_mut().chain(&mut spec.init_containers).flatten();
    for port in containers.flat_map(|container| &mut container.ports).flatten() {
        if port.host_port.unwrap_or_default() == 0 {
            port.host_port = port.container_port;
        }
    }
}

fn constraints(
    spec: &PodSpec,
    claims: Box<[Name]>,
    namespace: &Name,
    interner: &Interner,
) -> Option<Arc<PodConstraints>> {
    let constraints = PodConstraints {
        host_ports: host_ports(spec, interner),
        claims,
        affinity: affinity(spec, namespace, interner),
    };
    (!constraints.is_empty()).then(|| interner.constraints(constraints))
}

fn affinity(spec: &PodSpec, namespace: &Name, interner: &Interner) -> Box<[AffinityTerm]> {
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.pod_affinity.as_ref());
    affinity.map_or_else(Box::default, |affinity| super::affinity_terms(affinity, namespace, interner).into())
}

/// Ports of containers that run for as long as the pod does.
fn host_ports(spec: &PodSpec, interner: &Interner) -> Box<[HostPort]> {
    let sidecars = spec.init_containers.iter().flatten().filter(|container| container.is_sidecar());
    let containers = sidecars.chain(spec.containers.iter().flatten());
    let mut ports = Vec::new();
    for port in containers.flat_map(|container: &ContainerObject| &container.ports).flatten() {
        let Some(number) = port.host_port.filter(|number| *number > 0) else { continue };
        let protocol = port.protocol.as_deref().filter(|protocol| !protocol.is_empty()).unwrap_or("TCP");
        let ip = port.host_ip.as_deref().filter(|ip| !matches!(*ip, "" | "0.0.0.0"));
        ports.push(HostPort {
            ip: ip.map(|ip| interner.name(ip)),
            protocol: interner.name(protocol),
            number,
        });
    }
    ports.into()
}

/// Volumes behind which there is a claim, by name. That of an ephemeral volume is named after its pod.
fn claimed(spec: &PodSpec) -> impl Iterator<Item = (&str, ClaimName)> {
    let claim = |volume: &VolumeObject| match &volume.persistent_volume_claim {
        Some(claim) => Some(ClaimName::Fixed(Name::from(&*claim.claim_name))),
        None => volume.ephemeral.as_ref().map(|_| ClaimName::AfterPod(Name::from(&*volume.name))),
    };
    let volumes = spec.volumes.iter().flatten();
    volumes.filter_map(move |volume| Some((&*volume.name, claim(volume)?)))
}
