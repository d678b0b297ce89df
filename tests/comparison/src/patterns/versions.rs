//! Version control by sort keys, as AWS's guide has it: each revision is an item, and a copy with the version 0 is the
//! newest. The guide has no more; the conditions are what keeps two writers from losing a revision, or from leaving an
//! old copy.

use crate::client::{Client, Item, Table, Value, item, n, number, s, text};

/// The table of the revisions.
pub(crate) const VERSIONS: Table = Table { name: "versions", keys: &["PK", "SK"], index: None };

pub(crate) async fn revise(client: &Client, id: &str, topic: &str, text: &str) {
    loop {
        let newest = client.get(VERSIONS.name, key(id, topic, 0), true).await;
        let version = 1 + newest.map_or(0, |newest| number(&newest, "version"));
        let revision = |sort: usize| {
            let mut revision = key(id, topic, sort);
            revision.extend(item([("version", n(version)), ("text", s(text))]));
            revision
        };
        let is_new = ("attribute_not_exists(PK)", None);
        if client.put_if(VERSIONS.name, revision(version), Some(is_new)).await {
            let is_newer = ("attribute_not_exists(PK) OR version < :v", Some(Value::N(version.to_string())));
            client.put_if(VERSIONS.name, revision(0), Some(is_newer)).await;
            return;
        }
    }
}

pub(crate) async fn newest(client: &Client, id: &str, topic: &str) -> Option<String> {
    let newest = client.get(VERSIONS.name, key(id, topic, 0), false).await;
    newest.map(|newest| text(&newest, "text").to_owned())
}

fn key(id: &str, topic: &str, version: usize) -> Item {
    let sort = if version == 0 { format!("v0_{topic}") } else { format!("v{version:03}_{topic}") };
    item([("PK", s(id)), ("SK", s(sort))])
}
