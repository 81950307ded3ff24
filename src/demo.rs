//! The demo (placeholder until written).
/// Runs it.
pub async fn run() -> anyhow::Result<()> {
    anyhow::bail!("not there yet")
}
