//! A run in which everything happens once that the dashboards show.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use kube::Client;

use super::prometheus::{SCRAPE_INTERVAL, Target};
use crate::berth_process::BerthProcess;
use crate::controlplane::{ControlPlane, Scheduler};
use crate::fixtures::{BindingsWatch, create, create_all, node, pod, pods, priority_class, service};
use crate::leader_worker_sets::racks::rack;
use crate::owed_room::members::members;
use crate::preemption::play::until;
use crate::scheduling::{SHIPPED, berth};

const MINUTE: Duration = Duration::from_mins(1);
/// Keeps the parts of the run from each other's nodes.
const POOL: &str = "example.com/pool";
const WEB: usize = 20;

/// Berth serves TLS, for its certificates are on the dashboards too.
pub struct Run {
    client: Client,
    watch: BindingsWatch,
    berth: BerthProcess,
    scheduler: Scheduler,
    config: PathBuf,
    settings: String,
}

/// Of series that begin with what happened, a rate sees nothing before it happens again.
async fn scraped() {
    tokio::time::sleep(2 * SCRAPE_INTERVAL).await;
}

impl Run {
    pub async fn start(plane: &ControlPlane) -> Result<Self> {
        let client = plane.client();
        let mut nodes = [rack("east", 2), rack("west", 2)].concat();
        nodes.extend((0..4).map(|at| {
            node(&format!("web-{at}")).zone(&format!("zone-{}", at % 2)).cpu("8").label(POOL, "web").build()
        }));
        nodes.extend((0..2).map(|at| node(&format!("busy-{at}")).cpu("4").label(POOL, "busy").build()));
        create_all(&client, &nodes).await?;
        create_all(&client, &[priority_class("low", 5), priority_class("high", 1000)]).await?;

        let authority = plane.authority();
        let identity = authority.issue(plane.workspace(), "berth")?;
        let settings = format!(
            "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\nserver:\n  tls: {{certFile: {}, keyFile: {}}}\n",
            identity.certificate.display(),
            identity.key.display(),
        );
        let config = plane.workspace().write("berth.yaml", &settings)?;
        let berth = plane.start_berth(berth().config(&config)).await?;
        let secured = SHIPPED
            .replace("# enableHTTPS: true", "enableHTTPS: true")
            .replace("# tlsConfig:", "tlsConfig:")
            .replace(
                "#   caFile: /etc/kubernetes/pki/ca.crt",
                &format!("  caFile: {}", authority.certificate.display()),
            );
        let url = format!("https://{}", berth.verbs_address());
        let scheduler = plane.start_scheduler(&secured, Some(&url)).await?;
        let watch = BindingsWatch::start(&client).await?;
        Ok(Self { client, watch, berth, scheduler, config, settings })
    }

    pub fn targets(&self) -> [Target; 2] {
        [
            Target { job: "berth", scheme: "http", address: self.berth.admin_address().to_string() },
            Target {
                job: "kube-scheduler",
                scheme: "https",
                address: format!("127.0.0.1:{}", self.scheduler.port()),
            },
        ]
    }

    pub async fn play(&self) -> Result<()> {
        self.spread().await?;
        self.place_groups().await?;
        scraped().await;
        self.preempt().await?;
        self.reload().await
    }

    async fn bound(&self, pods: usize) -> Result<()> {
        self.watch.wait_until_bound(pods, MINUTE).await
    }

    async fn spread(&self) -> Result<()> {
        create(&self.client, &service("web")).await?;
        let web = pods("web", WEB, |pod| pod.label("app", "web").cpu("100m").node_selector(POOL, "web"));
        create_all(&self.client, &web).await?;
        self.bound(WEB).await
    }

    /// Two groups find a rack each; a third, which is too large for either, waits.
    async fn place_groups(&self) -> Result<()> {
        for (group, placed) in [("first", 2), ("second", 4)] {
            scraped().await;
            create_all(&self.client, &members(group, 0..2, 2)).await?;
            self.bound(WEB + placed).await?;
        }
        create_all(&self.client, &members("third", 0..3, 3)).await?;
        until("a group that waits", async || {
            Ok(self.berth.metric_sum("berth_groups", &[("state", "waiting")]).await? == 1.0)
        })
        .await
    }

    async fn preempt(&self) -> Result<()> {
        let busy = |name: &str, class: &str| {
            pod(name).cpu("3").node_selector(POOL, "busy").priority_class(class).build()
        };
        create_all(&self.client, &[busy("low-0", "low"), busy("low-1", "low")]).await?;
        self.bound(WEB + 6).await?;
        create_all(&self.client, &[busy("high", "high")]).await?;
        let landed = |watch: &BindingsWatch| watch.node_of("default/high").is_some();
        self.watch.wait_for("the urgent pod", MINUTE, landed).await
    }

    async fn reload(&self) -> Result<()> {
        std::fs::write(&self.config, format!("{}  ledgerTtl: 45s\n", self.settings))?;
        until("the reload", async || {
            Ok(self.berth.metric_sum("berth_config_reloads_total", &[("result", "success")]).await? == 1.0)
        })
        .await
    }
}
