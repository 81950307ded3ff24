//! A snapshot, and calls about it.

/// Two nodes, a service, a pod that runs and one that waits.
pub const SNAPSHOT: &str = r#"{"apiVersion":"v1","kind":"List","items":[
  {"apiVersion":"v1","kind":"Node","metadata":{"name":"node-a","labels":{"zone":"1"}}},
  {"apiVersion":"v1","kind":"Node","metadata":{"name":"node-b","labels":{"zone":"2"}}},
  {"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"default"},
   "spec":{"selector":{"app":"web"}}},
  {"apiVersion":"v1","kind":"Pod","metadata":{"name":"runs","namespace":"default","uid":"uid-runs"},
   "spec":{"nodeName":"node-a"}},
  {"apiVersion":"v1","kind":"Pod","metadata":{"name":"waits","namespace":"default","uid":"uid-waits"}}]}"#;

/// A filter or prioritize call for a pod of this name.
pub fn names_call(pod: &str, nodes: &[&str]) -> String {
    format!(
        r#"{{"Pod":{{"metadata":{{"name":"{pod}","namespace":"default","uid":"uid-{pod}"}}}},"Nodes":null,"NodeNames":{}}}"#,
        serde_json::to_string(nodes).unwrap_or_default()
    )
}

/// A bind call for a pod of this name.
pub fn bind_call(pod: &str, node: &str) -> String {
    format!(r#"{{"PodName":"{pod}","PodNamespace":"default","PodUID":"uid-{pod}","Node":"{node}"}}"#)
}

/// The first lines of every configuration.
pub const CONFIG_HEAD: &str = "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\n";
