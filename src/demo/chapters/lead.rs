//! The picture that the whole story is about, before the story: two groups and the wedge.

use anyhow::Context;

use super::Stage;
use crate::demo::occupants;
use crate::demo::workload::ALPHA;

/// What became of two groups that want the same rack.
#[derive(Clone, Debug, Default)]
pub struct Wedge {
    /// The rack with nobody to ask.
    pub unaided: String,
    /// Members placed of either group then.
    pub placed: (usize, usize),
    /// The rack with Berth asked about every pod.
    pub aided: String,
}

/// Shows what the rehearsal came to.
pub fn tell(stage: &mut Stage) -> anyhow::Result<()> {
    let Wedge { unaided, placed: (alpha, beta), aided } =
        stage.wedge.clone().context("the rehearsal has left no picture; this is a bug in the demo")?;
    let size = ALPHA.replicas;
    stage.screen.print(&[
        "Berth, a kube-scheduler extender, on a cluster that exists in memory only.".to_owned(),
        String::new(),
        format!("Two groups of {size} pods each want the only rack where one of them fits:"),
        String::new(),
        format!("  pod by pod   {unaided}"),
        format!("               {alpha} of {size} and {beta} of {size} run: a wedge, of use to nobody"),
        format!("  with Berth   {aided}"),
        format!("               {size} of {size} run; the other group waits and holds nothing"),
        String::new(),
        format!("  {}", occupants::legend()),
        String::new(),
        "Both were played just now, in this process. Here is the whole story.".to_owned(),
    ])?;
    Ok(())
}
