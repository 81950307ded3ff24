//! What there is before anything happens.

use anyhow::ensure;

use super::Stage;
use crate::demo::map;

pub async fn tell(stage: &mut Stage) -> anyhow::Result<()> {
    let scrape = stage.scrape().await?;
    let nodes = scrape.count("berth_cache_objects{kind=\"Node\"}")?;
    let pods = scrape.count("berth_cache_objects{kind=\"Pod\"}")?;
    let running = stage.cluster.pods().count();
    ensure!(
        nodes == stage.cluster.nodes.len() && pods == running,
        "Berth read {nodes} nodes and {pods} pods from the built-in cluster, not {} and {running}; \
         this is a bug in Berth, please report it",
        stage.cluster.nodes.len(),
    );

    let (verbs, paint) = (stage.verbs, stage.screen.paint);
    stage.screen.print(&[
        String::new(),
        format!("Berth runs in this process and serves its verbs at http://{verbs}."),
    ])?;
    stage.screen.chapter("The cluster")?;
    stage.screen.print(&map::draw(&stage.cluster, paint))?;
    stage.screen.print(&[String::new(), map::legend(paint), String::new()])?;
    stage.screen.checked(&format!("Berth has read {nodes} nodes and {pods} pods"))?;
    stage.screen.print(&["      one more pod has Succeeded: it is on a node but holds no room"])?;
    Ok(())
}
