//! Files that change under a running Berth.

use std::os::unix::fs::symlink;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use tempfile::TempDir;

use super::{Certificates, ClientCertificates, Expiry, Renewal};
use crate::config::Tls;

/// The first second of a year.
fn year(year: i32) -> i64 {
    date_time_ymd(year, 1, 1).unix_timestamp()
}

fn authority(until: i32) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_after = date_time_ymd(until, 1, 1);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority")
}

/// A certificate with its authority behind it, and its key.
fn identity(until: i32, authority_until: i32) -> (String, String) {
    let (authority, key) = (authority(authority_until), KeyPair::generate().expect("a key"));
    let mut params = CertificateParams::new(["localhost".to_owned()]).expect("a name");
    params.not_after = date_time_ymd(until, 1, 1);
    let certificate = params.signed_by(&key, &authority).expect("signed");
    (certificate.pem() + &authority.pem(), key.serialize_pem())
}

fn write(folder: &Path, name: &str, content: &str) {
    std::fs::write(folder.join(name), content).expect("written");
}

/// A folder with a good set, and the names of its files.
fn folder() -> (TempDir, Tls) {
    let folder = tempfile::tempdir().expect("a folder");
    let (certificate, key) = identity(2100, 2200);
    write(folder.path(), "tls.crt", &certificate);
    write(folder.path(), "tls.key", &key);
    write(folder.path(), "ca.crt", &(authority(2300).pem() + &authority(2250).pem()));
    let files = files(folder.path());
    (folder, files)
}

fn files(folder: &Path) -> Tls {
    let path = |name: &str| folder.join(name);
    Tls { cert_file: path("tls.crt"), key_file: path("tls.key"), client_ca_file: Some(path("ca.crt")) }
}

/// What comes of so many looks.
fn looks(certificates: &Certificates, number: usize) -> Vec<Renewal> {
    (0..number).map(|_| certificates.renew()).collect()
}

#[test]
fn the_certificate_that_ends_first_is_the_one_that_is_told() {
    let (folder, mut files) = folder();
    let loaded = Certificates::load(&files).expect("good files");
    assert_eq!(loaded.expiry(), Expiry { server: year(2100), client_ca: Some(year(2250)) });
    let (certificate, key) = identity(2300, 2200);
    write(folder.path(), "tls.crt", &certificate);
    write(folder.path(), "tls.key", &key);
    assert_eq!(loaded.renew(), Renewal::Renewed);
    assert_eq!(loaded.expiry(), Expiry { server: year(2200), client_ca: Some(year(2250)) });
    files.client_ca_file = None;
    let loaded = Certificates::load(&files).expect("good files");
    assert_eq!(loaded.expiry(), Expiry { server: year(2200), client_ca: None });
}

#[test]
fn bad_files_are_told_once_and_the_old_ones_stay() {
    let (certificate, _) = identity(2100, 2200);
    let cases = [
        ("tls.crt", "garbage", "tls.crt"),
        ("tls.crt", certificate.as_str(), "unusable"),
        ("tls.key", "garbage", "tls.key"),
        ("ca.crt", "garbage", "ca.crt"),
        ("ca.crt", "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n", "ca.crt"),
    ];
    for (name, content, said) in cases {
        let (folder, files) = folder();
        let loaded = Certificates::load(&files).expect("good files");
        let before = loaded.expiry();
        let good = std::fs::read_to_string(folder.path().join(name)).expect("read");
        write(folder.path(), name, content);
        let told = looks(&loaded, 5);
        let [
            Renewal::Unchanged,
            Renewal::Failed(error),
            Renewal::Unchanged,
            Renewal::Unchanged,
            Renewal::Unchanged,
        ] = &told[..]
        else {
            panic!("{name}: {told:?}")
        };
        assert!(error.to_string().contains(said), "{name}: {error}");
        assert_eq!(loaded.expiry(), before);

        std::fs::remove_file(folder.path().join(name)).expect("removed");
        let told = looks(&loaded, 3);
        assert!(matches!(told[1], Renewal::Failed(_)), "another sort of bad is told again: {told:?}");
        write(folder.path(), name, &good);
        assert_eq!(looks(&loaded, 2), [Renewal::Unchanged, Renewal::Unchanged], "{name}: as it was");
        write(folder.path(), name, content);
        assert!(matches!(looks(&loaded, 2)[1], Renewal::Failed(_)), "{name}: and bad once more");
    }
}

#[test]
fn key_and_certificate_may_be_replaced_one_after_the_other() {
    let (folder, files) = folder();
    let loaded = Certificates::load(&files).expect("good files");
    let (certificate, key) = identity(2110, 2200);
    write(folder.path(), "tls.key", &key);
    assert_eq!(loaded.renew(), Renewal::Unchanged, "they do not match, and nobody is alarmed");
    write(folder.path(), "tls.crt", &certificate);
    assert_eq!(looks(&loaded, 2), [Renewal::Renewed, Renewal::Unchanged]);
    assert_eq!(loaded.expiry().server, year(2110));
}

#[test]
fn a_symlink_that_is_swapped_is_a_change() {
    let (volume, other) = (tempfile::tempdir().expect("a folder"), folder());
    let (first, second) = (folder(), volume.path().join("..data"));
    // As kubelets do it: files are links through `..data`, which is replaced by renaming.
    symlink(first.0.path(), &second).expect("a link");
    for name in ["tls.crt", "tls.key", "ca.crt"] {
        symlink(Path::new("..data").join(name), volume.path().join(name)).expect("a link");
    }
    let loaded = Certificates::load(&files(volume.path())).expect("good files");
    assert_eq!(loaded.renew(), Renewal::Unchanged);
    let swap = volume.path().join("..data_tmp");
    symlink(other.0.path(), &swap).expect("a link");
    std::fs::rename(swap, second).expect("renamed");
    assert_eq!(looks(&loaded, 2), [Renewal::Renewed, Renewal::Unchanged]);
}

#[test]
fn only_other_client_authorities_make_clients_come_anew() {
    let (folder, files) = folder();
    let loaded = Certificates::load(&files).expect("good files");
    let told = loaded.authorities_changed();
    let (certificate, key) = identity(2110, 2200);
    write(folder.path(), "tls.key", &key);
    write(folder.path(), "tls.crt", &certificate);
    assert_eq!(loaded.renew(), Renewal::Renewed);
    assert!(!told.has_changed().expect("it lives"), "the server's certificate is no business of theirs");
    write(folder.path(), "ca.crt", &authority(2300).pem());
    assert_eq!(loaded.renew(), Renewal::Renewed);
    assert!(told.has_changed().expect("it lives"));
    let (demanding, open) = (ClientCertificates::Demanded, ClientCertificates::NotAsked);
    let differs = |clients| std::sync::Arc::as_ptr(loaded.acceptor(clients).config());
    assert_ne!(differs(demanding), differs(open));
}
