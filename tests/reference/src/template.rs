//! The parameters of the template.

use std::fmt::Write;

use serde::Deserialize;
use serde_yaml_ng::Value;

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
fn template() -> Value {
    serde_yaml_ng::from_str(include_str!("../../../template.yaml")).expect("the template is YAML")
}

fn text(value: &Value) -> String {
    match value {
        Value::Bool(true) => "on".to_owned(),
        Value::Bool(false) => "off".to_owned(),
        Value::Number(number) => number.to_string(),
        value => value.as_str().unwrap_or_default().to_owned(),
    }
}

/// A list of parameters for each group of the console.
#[allow(clippy::expect_used, reason = "a group that names no parameter is a fault of this repository")]
pub(crate) fn parameters() -> String {
    let template = template();
    let groups = &template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"];
    let mut page = String::new();
    for group in groups.as_sequence().into_iter().flatten() {
        let _ = writeln!(page, "## {}\n", text(&group["Label"]["default"]));
        for name in group["Parameters"].as_sequence().into_iter().flatten().map(text) {
            let declared = template["Parameters"][name.as_str()].clone();
            let parameter: Parameter = serde_yaml_ng::from_value(declared).expect("the parameter is declared");
            let default = Some(text(&parameter.default)).filter(|default| !default.is_empty());
            let default = default.map_or_else(String::new, |default| format!(" (default `{default}`)"));
            // A description that explains each value names them all.
            let explained = parameter.description.to_lowercase();
            let is_explained = |value: &Value| explained.contains(&text(value).to_lowercase());
            let values: Vec<String> =
                parameter.allowed_values.iter().map(|value| format!("`{}`", text(value))).collect();
            let values = if parameter.allowed_values.iter().all(is_explained) {
                String::new()
            } else {
                format!(" Values: {}.", values.join(", "))
            };
            let meaning = format!("{}.{values}", parameter.description.trim_end_matches('.'));
            let _ = writeln!(page, "- <a id=\"{}\"></a>`{name}`{default}: {meaning}", name.to_lowercase());
        }
        page.push('\n');
    }
    page
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    #[test]
    fn every_parameter_of_the_template_is_in_a_group() {
        let (page, template) = (super::parameters(), super::template());
        let names: Vec<&str> =
            template["Parameters"].as_mapping().unwrap().keys().map(|name| name.as_str().unwrap()).collect();
        assert!(names.len() > 30 && names.iter().all(|name| page.contains(&format!("</a>`{name}`"))), "{names:?}");
    }
}
