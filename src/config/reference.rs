//! The JSON Schema of the configuration file, and the page of settings in the docs. Both are made from the types and their
//! comments, so that there is one place to write them.

use std::fmt::Write;

use serde_json::Value;

use super::Config;

/// Where the schema of a type stands.
const DEFINITIONS: &str = "$defs";

/// The JSON Schema, for editors.
pub fn json_schema() -> String {
    // A value of strings, numbers and lists can always be printed.
    serde_json::to_string_pretty(&schema()).unwrap_or_default() + "\n"
}

fn schema() -> Value {
    let mut schema = schemars::schema_for!(Config).to_value();
    let id = "https://berth.dev/schemas/config.berth.dev/v1alpha1/berthconfiguration.json";
    schema["$id"] = id.into();
    schema["title"] = "BerthConfiguration".into();
    schema
}

/// The page of all settings.
pub fn page() -> String {
    let schema = schema();
    let mut page = "# Settings\n\n\
        Every field of the configuration file, made from the code: do not edit this page, but the comments in \
        `src/config`.\nA test compares, and tells the command that writes it anew.\n\n\
        `berth check-config FILE` checks a file and prints it with all defaults filled in. \
        `berth check-config --schema` prints\nthe JSON Schema, which is also in \
        [`deploy/berth.schema.json`](../deploy/berth.schema.json): editors with a YAML language server complete\nand check \
        the file with this as its first line:\n\n\
        ```yaml\n# yaml-language-server: $schema=berth.schema.json\n```\n\n\
        Durations are written in one unit: `500ms`, `10s`, `2m`, `1h`. `[]` in a path is each entry of a list. A field \
        without a default\nmay be left out unless it is required, and a section with nothing below it is the defaults.\n"
        .to_owned();
    let default = serde_json::to_value(Config::default()).unwrap_or_default();
    let mut sections = vec![Section { path: String::new(), schema: &schema, default }];
    // Depth first: what is inside of a section comes right after it.
    while let Some(section) = sections.pop() {
        let inner = section.write(&schema, &mut page);
        sections.extend(inner.into_iter().rev());
    }
    page
}

/// An object of which the fields are listed.
struct Section<'a> {
    path: String,
    schema: &'a Value,
    /// What it is when nobody says anything, as far as that is known.
    default: Value,
}

impl<'a> Section<'a> {
    /// Writes a table of the fields; what has fields of its own comes next.
    fn write(&self, root: &'a Value, page: &mut String) -> Vec<Section<'a>> {
        let properties = self.schema["properties"].as_object().into_iter().flatten();
        let required: Vec<_> = self.schema["required"].as_array().into_iter().flatten().collect();
        let title = if self.path.is_empty() { "The file" } else { &self.path };
        // Writing to a string does not fail.
        let _ = write!(page, "\n## {title}\n\n");
        if let Some(text) = self.schema["description"].as_str() {
            let _ = write!(page, "{}\n\n", in_one_line(text));
        }
        page.push_str("| field | type | default | meaning |\n|---|---|---|---|\n");
        let mut inner = Vec::new();
        for (name, property) in properties {
            let path = if self.path.is_empty() { name.clone() } else { format!("{}.{name}", self.path) };
            let shape = Shape::of(property, root);
            let default = match self.default.get(name).or_else(|| property.get("default")) {
                Some(Value::Null) | None if required.iter().any(|field| *field == name) => {
                    "required".to_owned()
                }
                Some(Value::Null) | None => String::new(),
                Some(_) if shape.object.is_some() && !shape.is_list => String::new(),
                Some(default) => format!("`{}`", plain(default)),
            };
            let meaning = property["description"].as_str().or(shape.description).unwrap_or_default();
            let text = in_one_line(meaning).replace('|', "\\|");
            let _ = writeln!(page, "| `{path}` | {} | {default} | {text}{} |", shape.name, shape.choices);
            if let Some(object) = shape.object {
                let path = if shape.is_list { format!("{path}[]") } else { path };
                let default = self.default.get(name).cloned().unwrap_or_default();
                inner.push(Section { path, schema: object, default });
            }
        }
        inner
    }
}

/// What may stand in a field.
struct Shape<'a> {
    name: String,
    /// What the values of an enumeration mean.
    choices: String,
    /// The object in it, or in each entry.
    object: Option<&'a Value>,
    is_list: bool,
    description: Option<&'a str>,
}

impl<'a> Shape<'a> {
    fn of(property: &'a Value, root: &'a Value) -> Self {
        let schema = resolve(property, root);
        let description = schema["description"].as_str();
        let leaf = |name: &str, choices: String| Shape {
            name: name.to_owned(),
            choices,
            object: None,
            is_list: false,
            description,
        };
        if let Some(items) = schema.get("items") {
            let entry = Shape::of(items, root);
            return Shape { name: format!("list of {}", entry.name), is_list: true, description, ..entry };
        }
        if let Some(options) = schema["oneOf"].as_array() {
            return match options[0]["const"].as_str() {
                Some(_) => leaf("name", choices(options.iter().map(|option| (&option["const"], option)))),
                None => one_field_of(options, leaf("", String::new())),
            };
        }
        if let Some(values) = schema["enum"].as_array() {
            return leaf("name", choices(values.iter().map(|value| (value, &Value::Null))));
        }
        if schema["properties"].is_object() {
            return Shape { name: "object".to_owned(), object: Some(schema), ..leaf("", String::new()) };
        }
        if schema["pattern"].is_string() {
            return leaf("duration", String::new());
        }
        let kinds = schema["type"].as_array().and_then(|kinds| kinds.first()).unwrap_or(&schema["type"]);
        match kinds.as_str() {
            Some("object") => leaf("map of strings", String::new()),
            Some(kind) => leaf(kind, String::new()),
            None => leaf("any", String::new()),
        }
    }
}

/// An object with one of several fields.
#[allow(clippy::needless_pass_by_value, reason = "the rest of it is moved into what is returned")]
fn one_field_of<'a>(options: &[Value], shape: Shape<'a>) -> Shape<'a> {
    let fields = options.iter().flat_map(|option| option["properties"].as_object().into_iter().flatten());
    let fields = fields.map(|(name, field)| {
        let kind = field["type"].as_str().unwrap_or("value");
        format!("`{{{name}: {kind}}}`")
    });
    let fields: Vec<_> = fields.collect();
    Shape { name: "object".to_owned(), choices: format!(" One of {}.", fields.join(", ")), ..shape }
}

fn choices<'a>(options: impl Iterator<Item = (&'a Value, &'a Value)>) -> String {
    let told = options.map(|(name, option)| {
        let name = name.as_str().unwrap_or_default();
        match option["description"].as_str() {
            Some(meaning) => format!("`{name}`: {}", in_one_line(meaning)),
            None => format!("`{name}`"),
        }
    });
    format!(" {}", told.collect::<Vec<_>>().join(" "))
}

/// What a reference leads to; of something that may be absent, what it is if it is there.
fn resolve<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return &root[DEFINITIONS][name];
    }
    let is_something = |option: &&Value| option["type"] != "null";
    match schema["anyOf"].as_array().and_then(|options| options.iter().find(is_something)) {
        Some(option) => resolve(option, root),
        None => schema,
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(
        || value.to_string(),
        |text| if text.is_empty() { "\"\"".to_owned() } else { text.to_owned() },
    )
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
