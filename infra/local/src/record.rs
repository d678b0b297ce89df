//! A change record of a stream, free of any SDK.

use std::time::SystemTime;

use serde_json::Value;

/// One change record.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    /// As Lambda hands it to a function.
    pub(crate) event: Value,
    /// Its place in the shard.
    pub(crate) sequence_number: String,
    /// When the change was made.
    pub(crate) created: SystemTime,
}

impl Record {
    /// The item that changed: its keys, as text that is the same for the same item.
    pub(crate) fn item(&self) -> String {
        self.event["dynamodb"]["Keys"].to_string()
    }

    /// Whether the record tells of a write that changed nothing.
    ///
    /// AWS and DynamoDB Local make no record then; dynoxide does.
    pub(crate) fn changes_nothing(&self) -> bool {
        let images = &self.event["dynamodb"];
        match (images.get("OldImage"), images.get("NewImage")) {
            (Some(old), Some(new)) => same_value(old, new),
            _ => false,
        }
    }
}

/// Whether two values in DynamoDB's JSON are equal. Sets have no order.
fn same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(name, a)| {
                    b.get(name).is_some_and(|b| match (name.as_str(), a, b) {
                        // An attribute may be called SS too, but its value is no list then.
                        ("SS" | "NS" | "BS", Value::Array(a), Value::Array(b)) => same_set(a, b),
                        _ => same_value(a, b),
                    })
                })
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_value(a, b)),
        _ => a == b,
    }
}

fn same_set(a: &[Value], b: &[Value]) -> bool {
    a.len() == b.len() && a.iter().all(|one| b.contains(one))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(old: Value, new: Value) -> Record {
        let event = json!({"dynamodb": {"Keys": {"k": {"S": "a"}}, "OldImage": old, "NewImage": new}});
        Record { event, sequence_number: "1".to_owned(), created: SystemTime::UNIX_EPOCH }
    }

    #[test]
    fn images_that_differ_in_the_order_of_a_set_are_equal() {
        let old = json!({"tags": {"SS": ["a", "b"]}, "list": {"L": [{"N": "1"}]}});
        assert!(
            record(old.clone(), json!({"tags": {"SS": ["b", "a"]}, "list": {"L": [{"N": "1"}]}})).changes_nothing()
        );
        assert!(
            !record(old.clone(), json!({"tags": {"SS": ["b", "c"]}, "list": {"L": [{"N": "1"}]}})).changes_nothing()
        );
        assert!(!record(old, json!({"tags": {"SS": ["a", "b"]}})).changes_nothing());
    }

    #[test]
    fn the_order_of_a_list_counts() {
        let image = |items: [&str; 2]| json!({"list": {"L": [{"S": items[0]}, {"S": items[1]}]}});
        assert!(!record(image(["a", "b"]), image(["b", "a"])).changes_nothing());
    }
}
