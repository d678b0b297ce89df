//! The parameters of the template.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_yaml_ng::Value;

use super::{ROOT, row};

/// A parameter as template.yaml declares it.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Parameter {
    description: String,
    default: Value,
    #[serde(default)]
    allowed_values: Vec<Value>,
}

#[allow(clippy::expect_used, reason = "the template is part of this repository")]
fn read(file: &str) -> Value {
    let text = fs::read_to_string(Path::new(ROOT).join(file)).expect("the file can be read");
    serde_yaml_ng::from_str(&text).expect("the file is YAML")
}

fn text(value: &Value) -> String {
    match value {
        Value::Bool(true) => "on".to_owned(),
        Value::Bool(false) => "off".to_owned(),
        Value::Number(number) => number.to_string(),
        value => value.as_str().unwrap_or_default().to_owned(),
    }
}

/// A table of parameters for each group of the console.
pub(crate) fn parameters() -> String {
    let template = read("template.yaml");
    let groups = &template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"];
    let mut page = String::new();
    for group in groups.as_sequence().into_iter().flatten() {
        let _ = writeln!(page, "## {}\n", text(&group["Label"]["default"]));
        page.push_str("| parameter | default | meaning |\n|---|---|---|\n");
        for name in group["Parameters"].as_sequence().into_iter().flatten().map(text) {
            let Ok(parameter) = serde_yaml_ng::from_value::<Parameter>(template["Parameters"][name.as_str()].clone())
            else {
                continue;
            };
            let default = Some(text(&parameter.default)).filter(|default| !default.is_empty());
            let default = default.map_or_else(|| "none".to_owned(), |default| format!("`{default}`"));
            let values: Vec<String> =
                parameter.allowed_values.iter().map(|value| format!("`{}`", text(value))).collect();
            let values = if values.is_empty() { String::new() } else { format!(" Values: {}.", values.join(", ")) };
            let meaning = format!("{}.{values}", parameter.description.trim_end_matches('.'));
            page.push_str(&row(&[format!("<a id=\"{}\"></a>`{name}`", name.to_lowercase()), default, meaning]));
        }
        page.push('\n');
    }
    page
}
