//! A fixture to read from, and pages put together again.

use sapwood_core::keys::{Id, NodeRef, Tenant};
use sapwood_core::model::{AttributeValue, Settings, text};
use sapwood_engine::query::{Bounds, Descendant, Fields, ListOptions, Page, ReadError, Reader};
use sapwood_simulation::fixture::{Fixture, NoRetries, at_once};
use sapwood_simulation::memory::MemoryTable;
use sapwood_simulation::oracle::Oracle;
use sapwood_store::{Client, Usage};

pub(crate) type TestReader<'a> = Reader<'a, MemoryTable, NoRetries>;

/// Reads once, and says what it took.
pub(crate) fn counted<R>(fixture: &Fixture, read: impl AsyncFnOnce(&TestReader<'_>) -> R) -> (R, Usage) {
    read_with(fixture, fixture.settings(), read)
}

/// The same with other settings than the rows were written with.
pub(crate) fn read_with<R>(
    fixture: &Fixture,
    settings: &Settings,
    read: impl AsyncFnOnce(&TestReader<'_>) -> R,
) -> (R, Usage) {
    let session = Client::new(fixture.table(), &NoRetries, fixture.schema());
    let reader = Reader::new(&session, settings);
    let answer = at_once(read(&reader));
    (answer, session.usage())
}

pub(crate) fn read<R>(fixture: &Fixture, read: impl AsyncFnOnce(&TestReader<'_>) -> R) -> R {
    counted(fixture, read).0
}

pub(crate) fn node(id: &str) -> NodeRef {
    Id::new(id).unwrap().into()
}

pub(crate) fn node_of(tenant: &str, id: &str) -> NodeRef {
    NodeRef { tenant: Some(Tenant::new(tenant).unwrap()), id: Id::new(id).unwrap() }
}

pub(crate) fn options() -> ListOptions {
    ListOptions { bounds: Bounds::items(1_000), ..ListOptions::default() }
}

pub(crate) fn fields(names: &[&str]) -> ListOptions {
    ListOptions { fields: Fields::only(names.iter().map(|&name| name.to_owned())).unwrap(), ..options() }
}

/// All pages of a list, `limit` items each. No page is empty, but for the only one of an empty list.
pub(crate) fn all_pages<R>(limit: usize, page: impl Fn(&ListOptions) -> Result<Page<R>, ReadError>) -> Vec<R> {
    let mut options = ListOptions { bounds: Bounds::items(limit), ..ListOptions::default() };
    let mut all = Vec::new();
    loop {
        let found = page(&options).unwrap();
        assert!(found.items.len() <= limit);
        assert!(!found.items.is_empty() || (found.next.is_none() && options.after.is_none()), "an empty page");
        all.extend(found.items);
        match found.next {
            None => return all,
            next => options.after = next,
        }
    }
}

pub(crate) fn ids(nodes: &[Descendant]) -> Vec<&str> {
    nodes.iter().map(|node| node.id.as_str()).collect()
}

/// D over V and W, V over X over Y, W over Z.
pub(crate) fn small() -> Fixture {
    let mut fixture = Fixture::default();
    for (id, parent) in
        [("D", None), ("V", Some("D")), ("W", Some("D")), ("X", Some("V")), ("Y", Some("X")), ("Z", Some("W"))]
    {
        fixture.put_node(id, parent, &[("name", text(format!("Folder {id}"))), ("size", number(id.len()))]);
    }
    fixture.settle();
    fixture
}

/// A table with tenants.
pub(crate) fn with_tenants() -> Fixture {
    let schema = sapwood_core::keys::Schema::new(sapwood_core::keys::Names::default(), true).unwrap();
    Fixture::new(Settings { schema, ..Settings::default() }, Oracle { tenants: true, ..Oracle::default() })
}

pub(crate) fn number(value: usize) -> AttributeValue {
    sapwood_core::model::number(value)
}
