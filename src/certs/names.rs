//! By which names and addresses the server can be called.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use x509_parser::extensions::GeneralName;
use x509_parser::pem::parse_x509_pem;

use super::CertsError;

/// The most that DNS has room for, in a name and between two dots.
const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// Loopback, so that the set can be tried at once, whatever was asked for, and the names of the certificate that is renewed:
/// callers that use a name which is left out are cut off, and one too many hurts nobody.
pub(super) fn server_names(
    hosts: &[String],
    services: &[String],
    renewed: Option<&Path>,
) -> Result<Vec<String>, CertsError> {
    let loopback = ["localhost".to_owned(), Ipv4Addr::LOCALHOST.to_string(), Ipv6Addr::LOCALHOST.to_string()];
    let mut names = Vec::from(loopback);
    for service in services {
        let parts: Vec<&str> = service.split('.').collect();
        let [name, namespace] = parts[..] else {
            return Err(CertsError::Service(service.clone()));
        };
        for domain in ["", ".svc", ".svc.cluster.local"] {
            names.push(format!("{name}.{namespace}{domain}"));
        }
    }
    names.extend(hosts.iter().cloned());
    if let Some(certificate) = renewed {
        names.extend(names_of(certificate)?);
    }
    if let Some(bad) = names.iter().find(|name| name.parse::<IpAddr>().is_err() && !is_host(name)) {
        return Err(CertsError::Host(bad.clone()));
    }
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    Ok(names)
}

/// Whether it is a host name as certificates have it, or all names of one domain (`*.example.com`). A trailing dot and
/// underscores are no part of one, and what ends in a number is an address, if a wrong one.
fn is_host(name: &str) -> bool {
    let labels: Vec<_> = name.strip_prefix("*.").unwrap_or(name).split('.').collect();
    let is_label = |label: &&str| {
        (1..=LONGEST_LABEL).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let is_number = |label: &&str| label.bytes().all(|byte| byte.is_ascii_digit());
    name.len() <= LONGEST_NAME && labels.iter().all(is_label) && !labels.last().is_some_and(is_number)
}

/// The names and addresses of a certificate; none if it is not there.
fn names_of(path: &Path) -> Result<Vec<String>, CertsError> {
    let unreadable = |reason: &dyn std::fmt::Display| CertsError::Names {
        path: path.to_owned(),
        reason: reason.to_string(),
    };
    let pem = match std::fs::read(path) {
        Ok(pem) => pem,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(&error)),
    };
    let (_, block) = parse_x509_pem(&pem).map_err(|error| unreadable(&error))?;
    let certificate = block.parse_x509().map_err(|error| unreadable(&error))?;
    let alternatives = certificate.subject_alternative_name().map_err(|error| unreadable(&error))?;
    let general_names = alternatives.iter().flat_map(|extension| &extension.value.general_names);
    // Nobody calls a server by names of other sorts.
    Ok(general_names
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            GeneralName::IPAddress(octets) => address(octets).map(|address| address.to_string()),
            _ => None,
        })
        .collect())
}

fn address(octets: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(octets).map(IpAddr::from);
    four.or_else(|_| <[u8; 16]>::try_from(octets).map(IpAddr::from)).ok()
}

#[cfg(test)]
mod tests {
    use super::is_host;

    #[test]
    fn host_names_are_told_from_what_looks_like_one() {
        let (label, long) = ("a".repeat(63), ["a".repeat(63).as_str(); 4].join("."));
        for good in ["a", "berth.example.com", "*.example.com", "1a.b-c.d", "7.example", &label, &long[2..]] {
            assert!(is_host(good), "{good}");
        }
        let too_long = "a".repeat(64);
        for bad in [
            "",
            ".",
            "a.",
            ".a",
            "a..b",
            "a_b",
            "a b",
            "*",
            "a.*.b",
            "-a-",
            "-a",
            "a-",
            "a.-b.c",
            "192.0.2.300",
            "192.0.2",
            "*.192.0.2.1",
            "17",
            "berth.example.42",
            "\u{e4}.example",
            &too_long,
            &long,
        ] {
            assert!(!is_host(bad), "{bad}");
        }
    }
}
