//! Which methods a path of the contract has, whichever function serves them: API Gateway hands each method to one function,
//! which must answer for the others as the two would together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use axum::http::HeaderValue;
use matchit::Router;

use crate::contract::{Route, routes};

/// The methods of a path, as the header `Allow` has them; none where the contract doesn't know the path. The table is made of
/// the contract when it is first asked for: a function that is only asked what it has never needs it.
pub(super) fn allowed(path: &str) -> Option<HeaderValue> {
    static TABLE: OnceLock<Router<HeaderValue>> = OnceLock::new();
    let table = TABLE.get_or_init(|| table(routes()));
    table.at(path).ok().map(|found| found.value.clone())
}

fn table(routes: Vec<Route>) -> Router<HeaderValue> {
    let mut methods: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for Route { method, path, .. } in routes {
        // What the document writes as one segment are as many as there are.
        let of_path = methods.entry(path.replace("{path}", "{*path}")).or_default();
        of_path.extend((method == "GET").then(|| "HEAD".to_owned()));
        of_path.insert(method);
    }
    let mut table = Router::new();
    for (path, methods) in methods {
        let names = methods.into_iter().collect::<Vec<_>>().join(", ");
        let inserted = HeaderValue::try_from(names).map(|value| table.insert(path, value));
        debug_assert!(matches!(inserted, Ok(Ok(()))), "the contract's paths can be told from one another");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_the_contract_has_the_methods_of_both_functions() {
        let methods = |path: &str| allowed(path).map(|value| value.to_str().unwrap_or_default().to_owned());
        assert_eq!(methods("/nodes/a").as_deref(), Some("DELETE, GET, HEAD, PATCH, PUT"));
        assert_eq!(methods("/nodes/a/revisions/t").as_deref(), Some("GET, HEAD, POST"));
        assert_eq!(methods("/paths/a/b/c/d").as_deref(), Some("GET, HEAD"));
        assert_eq!(methods("/nodes").as_deref(), Some("POST"));
        assert_eq!(methods("/nothing"), None);
        assert_eq!(methods("/nodes/a/"), None);
    }
}
