//! As much of JSON Schema as the contract's document is written in. A word that isn't known here is an error, so that
//! nothing of it is passed over.

use serde_json::Value;

/// What of a value isn't as the schema says; nothing where all is.
pub(crate) fn misfits(document: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (word, told) in schema.as_object().into_iter().flatten() {
        let fits = match word.as_str() {
            "$ref" => {
                let place = told.as_str().unwrap().trim_start_matches('#');
                let named = document.pointer(place).unwrap_or_else(|| panic!("{told} is nowhere"));
                found.extend(misfits(document, named, value, at));
                true
            }
            "type" => match told {
                Value::Array(kinds) => kinds.iter().any(|kind| is_of(kind, value)),
                kind => is_of(kind, value),
            },
            "required" => told.as_array().unwrap().iter().all(|name| value.get(name.as_str().unwrap()).is_some()),
            "properties" => {
                for (name, schema) in told.as_object().unwrap() {
                    if let Some(member) = value.get(name) {
                        found.extend(misfits(document, schema, member, &format!("{at}.{name}")));
                    }
                }
                // An answer has no field that the document doesn't know, but for free-form objects.
                let is_open = schema.get("additionalProperties").is_some_and(|more| more != &Value::Bool(false));
                is_open || value.as_object().is_none_or(|object| object.keys().all(|name| told.get(name).is_some()))
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    found.extend(misfits(document, told, item, &format!("{at}[{index}]")));
                }
                true
            }
            "anyOf" => told.as_array().unwrap().iter().any(|one| misfits(document, one, value, at).is_empty()),
            "oneOf" => {
                told.as_array().unwrap().iter().filter(|one| misfits(document, one, value, at).is_empty()).count() == 1
            }
            "allOf" => {
                told.as_array().unwrap().iter().for_each(|one| found.extend(misfits(document, one, value, at)));
                true
            }
            "enum" => told.as_array().unwrap().contains(value),
            "minimum" => value.as_f64().is_none_or(|number| number >= told.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= told.as_f64().unwrap()),
            "minLength" => value.as_str().is_none_or(|text| text.chars().count() as u64 >= told.as_u64().unwrap()),
            "maxLength" => value.as_str().is_none_or(|text| text.chars().count() as u64 <= told.as_u64().unwrap()),
            "minItems" => value.as_array().is_none_or(|list| list.len() as u64 >= told.as_u64().unwrap()),
            "maxItems" => value.as_array().is_none_or(|list| list.len() as u64 <= told.as_u64().unwrap()),
            "description" | "examples" | "example" | "title" | "format" | "additionalProperties" | "default" => true,
            unknown => panic!("{unknown}: a word of JSON Schema that this test doesn't know"),
        };
        if !fits {
            found.push(format!("{at}: {word} {told}: {}", value.to_string().chars().take(300).collect::<String>()));
        }
    }
    found
}

fn is_of(kind: &Value, value: &Value) -> bool {
    match kind.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        unknown => panic!("{unknown} is no type"),
    }
}
