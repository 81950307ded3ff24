//! kube-scheduler and Berth show each other certificates, all of which are replaced while pods are scheduled.

#[allow(clippy::expect_used, reason = "a test fails by panicking")]
#[path = "../tls/volume.rs"]
mod volume;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use self::volume::Volume;
use crate::berth_process::BerthProcess;
use crate::controlplane::{ControlPlane, Options};
use crate::fixtures::{BindingsWatch, create, create_all, nodes, pods, service};
use crate::metrics_text::Metrics;
use crate::progress::report;
use crate::scheduling::{SHIPPED, berth};

const MINUTE: Duration = Duration::from_mins(1);
const BATCH: usize = 200;

/// A set of certificates that Berth made.
struct Set(PathBuf);

impl Set {
    fn make(folder: PathBuf) -> Result<Self> {
        let program = berth().program;
        let output = Command::new(program).arg("certs").arg("--out").arg(&folder).output()?;
        ensure!(output.status.success(), "berth certs: {}", String::from_utf8_lossy(&output.stderr));
        Ok(Self(folder))
    }

    fn read(&self, name: &str) -> Result<String> {
        Ok(std::fs::read_to_string(self.0.join(name))?)
    }
}

fn secured(ca: &Path, client: &Volume) -> String {
    let tls = format!(
        "  caFile: {}\n      certFile: {}\n      keyFile: {}",
        ca.display(),
        client.path("tls.crt"),
        client.path("tls.key")
    );
    SHIPPED
        .replace("# enableHTTPS: true", "enableHTTPS: true")
        .replace("# tlsConfig:", "tlsConfig:")
        .replace("#   caFile: /etc/kubernetes/pki/ca.crt", &tls)
}

async fn until_renewed(berth: &BerthProcess, times: f64) -> Result<()> {
    let began = Instant::now();
    loop {
        let metrics = berth.metrics().await?;
        let renewals = |result| metrics.sum("berth_certificate_renewals_total", &[("result", result)]);
        ensure!(renewals("failure") == 0.0, "files could not be used");
        if renewals("success") == times {
            return Ok(());
        }
        ensure!(began.elapsed() < MINUTE, "not renewed {times} times");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn every_certificate_is_rotated_under_load_without_a_failed_call() -> Result<()> {
    ControlPlane::run(Options::default(), async |plane| {
        let client = plane.client();
        create_all(&client, &nodes(50).zones(3).racks(5).build()).await?;
        create(&client, &service("web")).await?;
        let workspace = plane.workspace();
        let (old, new) = (Set::make(workspace.path("old-certs"))?, Set::make(workspace.path("new-certs"))?);
        let pair = |set: &Set, name: &str| -> Result<[(&str, String); 2]> {
            Ok([("tls.crt", set.read(&format!("{name}.crt"))?), ("tls.key", set.read(&format!("{name}.key"))?)])
        };
        let (old_ca, new_ca) = (old.read("ca.crt")?, new.read("ca.crt")?);
        let both_ca = format!("{old_ca}{new_ca}");
        let volume = |name: &str, files: &[(&str, String)]| Volume::new(&workspace.path(name), &borrowed(files));
        let serving = volume("serving", &pair(&old, "server")?);
        let authorities = volume("authorities", &[("ca.crt", old_ca)]);
        let scheduler_identity = volume("scheduler", &pair(&old, "kube-scheduler")?);
        // kube-scheduler reads the authorities of servers once, so it is told of both beforehand.
        let trusted = workspace.write("trusted.crt", &both_ca)?;
        let config = workspace.write(
            "berth.yaml",
            &format!(
                "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\nserver:\n  tls:\n    certFile: {}\n    \
                 keyFile: {}\n    clientCAFile: {}\n",
                serving.path("tls.crt"),
                serving.path("tls.key"),
                authorities.path("ca.crt")
            ),
        )?;
        let berth = plane.start_berth(berth().config(&config)).await?;
        let url = format!("https://{}", berth.verbs_address());
        let scheduler = plane.start_scheduler(&secured(&trusted, &scheduler_identity), Some(&url)).await?;
        let bindings = BindingsWatch::start(&client).await?;

        // Each change is made while a batch of pods is being scheduled.
        let mut created = 0;
        for (step, what) in ["nothing", "server", "both authorities", "client", "new authority"].iter().enumerate() {
            let batch = pods(&format!("web-{step}"), BATCH, |pod| pod.label("app", "web").cpu("10m"));
            let change = async {
                bindings.wait_until_bound(created + BATCH / 4, MINUTE).await?;
                match step {
                    1 => serving.swap(&borrowed(&pair(&new, "server")?)),
                    2 => authorities.swap(&[("ca.crt", &both_ca)]),
                    3 => scheduler_identity.swap(&borrowed(&pair(&new, "kube-scheduler")?)),
                    4 => authorities.swap(&[("ca.crt", &new_ca)]),
                    _ => {}
                }
                if step > 0 {
                    // kube-scheduler's own certificate is no file of Berth's.
                    until_renewed(&berth, [0.0, 1.0, 2.0, 2.0, 3.0][step]).await?;
                }
                Ok(())
            };
            tokio::try_join!(create_all(&client, &batch), change)?;
            created += BATCH;
            bindings.wait_until_bound(created, 2 * MINUTE).await?;
            report(&format!("{created} pods bound, changed: {what}"));
        }
        // One more batch, with nothing of the old set in force.
        create_all(&client, &pods("last", BATCH, |pod| pod.label("app", "web").cpu("10m"))).await?;
        bindings.wait_until_bound(created + BATCH, 2 * MINUTE).await?;
        bindings.ensure_bound_once()?;

        let failed = Metrics::parse(&scheduler.metrics().await?)?
            .sum("scheduler_schedule_attempts_total", &[("result", "error")]);
        ensure!(failed == 0.0, "{failed} attempts of kube-scheduler failed");
        let metrics = berth.metrics().await?;
        let calls = |labels: &[(&str, &str)]| metrics.sum("berth_request_duration_seconds_count", labels);
        ensure!(calls(&[("code", "200")]) == calls(&[]), "Berth did not answer every call with 200");
        let connections = metrics.sum("berth_connections_total", &[("listener", "verbs")]);
        ensure!(connections >= 3.0, "kube-scheduler did not come anew: {connections} connections");
        report(&format!("{connections} connections, no failed call"));
        Ok(())
    })
    .await
}

fn borrowed<'a>(files: &'a [(&'a str, String)]) -> Vec<(&'a str, &'a str)> {
    files.iter().map(|(name, content)| (*name, content.as_str())).collect()
}
