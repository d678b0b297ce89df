//! Change records of a stream, without types of the SDK.

use std::time::SystemTime;

use serde_json::Value;

/// One change record.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    /// The record as a function gets it from Lambda.
    pub(crate) event: Value,
    /// The record's position in the shard.
    pub(crate) sequence_number: String,
    /// The time of the change.
    pub(crate) created: SystemTime,
}

impl Record {
    /// Returns the key attributes of the changed item as text, which is the same in all records of the item.
    pub(crate) fn item(&self) -> String {
        self.event["dynamodb"]["Keys"].to_string()
    }

    /// Returns true if the write changed nothing. Only dynoxide makes a record of such a write; AWS and DynamoDB Local don't.
    pub(crate) fn changes_nothing(&self) -> bool {
        let images = &self.event["dynamodb"];
        match (images.get("OldImage"), images.get("NewImage")) {
            (Some(old), Some(new)) => same_value(old, new),
            _ => false,
        }
    }
}

/// Returns true if two values in DynamoDB's JSON are equal. Sets have no order.
fn same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(name, a)| {
                    b.get(name).is_some_and(|b| match (name.as_str(), a, b) {
                        // An attribute can have the name SS too, but its value is never a list.
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
