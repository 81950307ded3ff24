//! What to try after the demo.

use super::Stage;
use crate::config::Config;

pub fn tell(stage: &mut Stage) -> anyhow::Result<()> {
    let paint = stage.screen.paint;
    let Config { api_version, kind, .. } = Config::default();
    stage.screen.chapter("Your turn")?;
    stage.screen.print(&[
        paint.faint("  # a cluster from a file (kubectl get nodes,pods,services -A -o json makes one)"),
        r#"  echo '{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}}' > demo.json"#.to_owned(),
        "  berth serve --snapshot demo.json".to_owned(),
        String::new(),
        paint.faint("  # ask it, from another terminal"),
        "  curl -s http://127.0.0.1:8888/filter -d \\".to_owned(),
        r#"    '{"Pod":{"metadata":{"name":"p","uid":"1"}},"NodeNames":["n1"]}'"#.to_owned(),
        "  curl -s http://127.0.0.1:8889/metrics".to_owned(),
        String::new(),
        paint.faint("  # a configuration, with its defaults filled in"),
        format!("  printf 'apiVersion: {api_version}\\nkind: {kind}\\n' \\"),
        "    > berth.yaml && berth check-config berth.yaml".to_owned(),
        String::new(),
        paint.faint("  # all tests, from a checkout"),
        "  make test".to_owned(),
    ])?;
    Ok(())
}
