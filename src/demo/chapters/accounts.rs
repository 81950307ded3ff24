//! Berth's own numbers, and whether they agree with what the demo did.

use anyhow::ensure;

use super::Stage;
use crate::demo::scrape::Scrape;
use crate::verbs::Verb;

/// What the scheduling loop calls, once per pod.
const PER_POD: [Verb; 3] = [Verb::Filter, Verb::Prioritize, Verb::Bind];

pub async fn tell(stage: &mut Stage) -> anyhow::Result<()> {
    let scrape = stage.scrape().await?;
    stage.screen.chapter("What Berth counted (from /metrics on the admin port)")?;

    stage.screen.print(&["      verb         calls   mean answer time"])?;
    for verb in PER_POD {
        let (calls, mean) = answered(&scrape, verb)?;
        let line = format!("      {:10} {calls:7}   {:9.3} ms", verb.label(), mean * 1000.0);
        stage.screen.print(&[line])?;
    }
    stage.screen.print(&[""])?;

    let connections = scrape.count("berth_connections_total{listener=\"verbs\"}")?;
    ensure!(connections == 1, "{connections} connections were used, one was to be kept open");
    stage.screen.checked("all of it over 1 TCP connection")?;

    let bound = scrape.count("berth_bindings_total{result=\"bound\"}")?;
    let pods = scrape.count("berth_cache_objects{kind=\"Pod\"}")?;
    let (wanted, running) = (stage.bound, stage.cluster.pods().count());
    ensure!(
        bound == wanted && pods == running,
        "Berth bound {bound} pods and knows {pods}; the demo bound {wanted} and runs {running}"
    );
    stage
        .screen
        .checked(&format!("{bound} pods bound; Berth knows {pods} pods, as many as the map shows"))?;

    let malformed = scrape.count("berth_bad_requests_total{reason=\"node_forms\",verb=\"filter\"}")?;
    let refused = scrape.count("berth_bindings_total{result=\"refused\"}")?;
    ensure!(
        malformed == stage.refused.malformed && refused == stage.refused.bindings,
        "Berth counted {malformed} malformed calls and {refused} refused bindings; the demo made {:?}",
        stage.refused
    );
    stage.screen.checked(&format!("{malformed} malformed call and {refused} binding refused"))?;

    let offered = scrape.count("berth_ledger_entries{state=\"offered\"}")?;
    let assumed = scrape.count("berth_ledger_entries{state=\"assumed\"}")?;
    let left = offered + assumed;
    ensure!(
        left == 0,
        "{left} placements are left in the ledger though every pod is bound; this is a bug in Berth, \
         please report it together with the output of `berth --version`"
    );
    stage.screen.checked("0 entries left in the ledger: no placement is in doubt")?;
    Ok(())
}

/// Calls answered 200, and the seconds one of them took.
fn answered(scrape: &Scrape, verb: Verb) -> anyhow::Result<(usize, f64)> {
    let series =
        |part| format!("berth_request_duration_seconds_{part}{{code=\"200\",verb=\"{}\"}}", verb.label());
    let calls = scrape.count(&series("count"))?;
    let seconds = scrape.seconds(&series("sum"))?;
    Ok((calls, seconds / calls.max(1) as f64))
}
