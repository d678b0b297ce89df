//! The events that the handler is given, and what is in the table before them.

use serde_json::{Value, json};

/// A number of nodes below the last of a chain, as the records of their creation or, after the chain's last node moved,
/// of a touch.
pub(crate) struct Case {
    pub(crate) nodes: usize,
    /// Records in an event.
    pub(crate) batch: usize,
    pub(crate) depth: usize,
    /// About the bytes of a node's base record.
    pub(crate) bytes: usize,
    /// True if the nodes are touched children of a node that moved.
    pub(crate) is_move: bool,
}

/// Something that happens before a case: items are put, then events are handled.
pub(crate) struct Step {
    pub(crate) items: Vec<Value>,
    pub(crate) events: Vec<String>,
}

impl Case {
    /// The cases whose processor time is measured.
    pub(crate) fn all() -> Vec<Self> {
        let case = |depth, bytes, is_move| Self { nodes: 1_000, batch: 100, depth, bytes, is_move };
        let kinds = [(5, false), (10, false), (5, true)];
        [400, 4_000].into_iter().flat_map(|bytes| kinds.map(|(depth, is_move)| case(depth, bytes, is_move))).collect()
    }

    pub(crate) fn name(&self) -> String {
        let what = if self.is_move { "touched children" } else { "creates" };
        format!("{} {what} at depth {}, {} bytes", self.nodes, self.depth, self.bytes)
    }

    /// What happens before the events. A chain has a node at each depth above the nodes.
    pub(crate) fn before(&self) -> Vec<Step> {
        let mut steps = vec![self.placed(&self.chain("a", self.depth)), self.placed(&self.chain("b", self.depth - 1))];
        if self.is_move {
            steps.extend(self.nodes("").chunks(self.batch).map(|batch| self.placed(batch)));
            let last = self.depth - 1;
            let [before, moved] =
                ["a", "b"].map(|chain| self.node(&format!("a{last}"), Some(&format!("{chain}{}", last - 1)), ""));
            steps.push(Step { events: vec![event(&[record(&moved, Some(&before))])], items: vec![moved] });
        }
        steps.push(Step { items: self.nodes(if self.is_move { "1#a" } else { "" }), events: Vec::new() });
        steps
    }

    /// The events that are measured.
    pub(crate) fn events(&self) -> Vec<String> {
        let old = self.is_move.then(|| self.nodes(""));
        let nodes = self.nodes(if self.is_move { "1#a" } else { "" });
        let records = nodes.iter().enumerate().map(|(n, node)| record(node, old.as_ref().map(|old| &old[n])));
        records.collect::<Vec<_>>().chunks(self.batch).map(event).collect()
    }

    fn placed(&self, nodes: &[Value]) -> Step {
        let records: Vec<Value> = nodes.iter().map(|node| record(node, None)).collect();
        Step { items: nodes.to_vec(), events: vec![event(&records)] }
    }

    fn chain(&self, name: &str, depth: usize) -> Vec<Value> {
        let parent = |n: usize| n.checked_sub(1).map(|n| format!("{name}{n}"));
        (0..depth).map(|n| self.node(&format!("{name}{n}"), parent(n).as_deref(), "")).collect()
    }

    fn nodes(&self, touched: &str) -> Vec<Value> {
        let parent = format!("a{}", self.depth - 1);
        (0..self.nodes).map(|n| self.node(&format!("n{n:04}"), Some(&parent), touched)).collect()
    }

    /// A base record of some attributes, as users have them.
    fn node(&self, id: &str, parent: Option<&str>, touched: &str) -> Value {
        let mut node = json!({
            "PK": {"S": id}, "SK": {"S": "NODE"}, "_born": {"S": format!("life of {id}")}, "name": {"S": format!("Folder {id}")},
            "owner": {"S": "ada@example.com"}, "created": {"S": "2026-11-22T10:15:30Z"}, "size": {"N": "40960"},
            "shared": {"BOOL": true}, "tags": {"L": [{"S": "maps"}, {"S": "drawings"}, {"S": "2026"}]},
        });
        if let Some(parent) = parent {
            node["parent"] = json!({"S": parent});
        }
        if !touched.is_empty() {
            node["_touched"] = json!({"S": touched});
        }
        // The attributes above have some 200 bytes.
        node["description"] = json!({"S": "a word ".repeat(self.bytes.saturating_sub(200) / 7)});
        node
    }
}

fn event(records: &[Value]) -> String {
    json!({"Records": records}).to_string()
}

/// A record of the stream. Its sequence number is its node's, so no two of an event are equal.
fn record(node: &Value, old: Option<&Value>) -> Value {
    let keys = json!({"PK": node["PK"], "SK": node["SK"]});
    let number: u64 = node["PK"]["S"].as_str().unwrap()[1..].parse().unwrap();
    let mut change = json!({
        "ApproximateCreationDateTime": 1_795_235_985, "Keys": keys, "NewImage": node, "SizeBytes": node.to_string().len(),
        "SequenceNumber": format!("{}", 100_000_000_003_498_069_970_000_u128 + u128::from(number)),
        "StreamViewType": "NEW_AND_OLD_IMAGES",
    });
    if let Some(old) = old {
        change["OldImage"] = old.clone();
    }
    json!({
        "eventID": "c4ca4238a0b923820dcc509a6f75849b", "eventName": if old.is_some() { "MODIFY" } else { "INSERT" },
        "eventVersion": "1.1", "eventSource": "aws:dynamodb", "awsRegion": "eu-central-1", "dynamodb": change,
        "eventSourceARN": "arn:aws:dynamodb:eu-central-1:123456789012:table/sapwood/stream/2026-11-21T04:39:45.123",
    })
}
