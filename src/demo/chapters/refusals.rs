//! What Berth says to calls that make no sense.

use anyhow::{Context, ensure};

use super::Stage;
use crate::verbs::Verb;

pub async fn tell(stage: &mut Stage) -> anyhow::Result<()> {
    stage.screen.chapter("Calls that make no sense")?;

    let body = r#"{"Pod":{"metadata":{"name":"web"}}}"#;
    let answer = stage.scheduler.send(Verb::Filter, body.to_owned()).await?;
    let (status, reason) = (answer.status.as_u16(), answer.body.trim());
    ensure!(
        status == 400 && !reason.contains('\n'),
        "a filter call without nodes was answered {status}, not 400 with one line: {reason}"
    );
    stage.refused.malformed += 1;
    stage.screen.print(&[
        "  A filter call that names no nodes:".to_owned(),
        format!("    POST /filter  {body}"),
        format!("    {status}  {reason}"),
        String::new(),
    ])?;

    let (taken, pod) = {
        let node = stage.cluster.nodes.iter().find(|node| !node.pods.is_empty());
        let node = node.context("no pod runs in the built-in cluster")?;
        (node.name.clone(), node.pods[0].clone())
    };
    let other = stage.cluster.nodes.iter().map(|node| &node.name).find(|name| **name != taken);
    let other = other.context("the built-in cluster has one node only")?.clone();
    let reason = stage.scheduler.bind(&pod, &other).await?;
    ensure!(
        reason.contains(&taken),
        "{} runs on {taken}, but binding it to {other} too was answered: {reason:?}",
        pod.name
    );
    stage.refused.bindings += 1;
    stage.screen.print(&[
        format!("  Binding {}, which runs already, to {other}:", pod.name),
        format!("    {reason}"),
    ])?;
    Ok(())
}
