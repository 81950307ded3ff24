//! A file of `deploy/examples`, as it stands there or with something taken away.

use std::path::Path;

use serde_json::Value;

/// The text of a file.
pub fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/examples").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The one object in a file.
pub fn object(name: &str) -> Value {
    let objects: Vec<Value> = serde_saphyr::from_multiple(&text(name)).expect("YAML");
    let [object] = <[Value; 1]>::try_from(objects).expect("one object");
    object
}

/// The object without what is at some path: fields, divided by spaces, for keys may contain anything else.
pub fn without(mut object: Value, path: &str) -> Value {
    let (parents, last) = path.rsplit_once(' ').expect("PARENT FIELD");
    let mut parent = &mut object;
    for field in parents.split(' ') {
        parent = parent.get_mut(field).unwrap_or_else(|| panic!("no {field} on the path {path}"));
    }
    let gone = parent.as_object_mut().and_then(|parent| parent.remove(last));
    assert!(gone.is_some(), "nothing is at {path}");
    object
}
