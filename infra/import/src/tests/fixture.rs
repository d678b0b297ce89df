//! Files, and what is read from them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sapwood_core::keys::{Id, NodeRef};
use sapwood_core::model::Placement;
use tempfile::TempDir;

use crate::sources::{Content, OpenError, Source, jsonl};
use crate::work::{Lookup, LookupError, Nowhere, Waiting, Work};
use crate::{Options, Record};

/// A directory that is deleted in the end.
pub(super) struct Directory(TempDir);

impl Directory {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(super) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

pub(super) fn gzip(content: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// What a source has: a line for each entry, such as `3: {"id":"d"}` or `4: unreadable: …`.
pub(super) fn told(source: Source) -> Vec<String> {
    let entries = source.map(|entry| {
        let told = match entry.found {
            Ok(Content::Record(record)) => jsonl::write(&record).unwrap(),
            Ok(Content::Implied(node)) => format!("implied {}", jsonl::write(&Record::Node(node)).unwrap()),
            Ok(other) => format!("{other:?}"),
            Err(fault) => format!("{}: {}", fault.kind, fault.message),
        };
        format!("{}: {told}", entry.at.line)
    });
    entries.collect()
}

/// What a file with this name and content has.
pub(super) fn read(name: &str, content: impl AsRef<[u8]>, options: &Options) -> Result<Vec<String>, OpenError> {
    let directory = Directory::new();
    Source::open(&directory.write(name, content), options).map(told)
}

/// The message of a file that can't be opened, with `FILE` in the place of its path.
pub(super) fn not_opened(name: &str, content: impl AsRef<[u8]>, options: &Options) -> String {
    let directory = Directory::new();
    let path = directory.write(name, content);
    refused(&path, options)
}

pub(super) fn refused(path: &Path, options: &Options) -> String {
    let error = Source::open(path, options).err().expect("the file was opened");
    error.to_string().replace(&path.display().to_string(), "FILE")
}

/// A table that has these nodes, each with its ancestors, nearest first.
#[derive(Default)]
pub(super) struct Existing(BTreeMap<String, Vec<Id>>);

impl Existing {
    pub(super) fn of(nodes: &[(&str, &[&str])]) -> Self {
        let ids = |ancestors: &[&str]| ancestors.iter().map(|id| Id::new(*id).unwrap()).collect();
        Self(nodes.iter().map(|(id, ancestors)| ((*id).to_owned(), ids(ancestors))).collect())
    }
}

impl Lookup for Existing {
    fn lookup(&mut self, nodes: &[NodeRef]) -> Result<Vec<Option<Placement>>, LookupError> {
        assert!((1..=100).contains(&nodes.len()));
        let of = |node: &NodeRef| {
            let ancestors = self.0.get(node.id.as_str())?.clone();
            let path = std::iter::once(&node.id).chain(&ancestors).take(ancestors.len());
            let path: Vec<String> = path.map(|id| id.as_str().to_owned()).collect();
            Some(Placement { path: path.into_iter().rev().collect(), ancestors, ..Placement::default() })
        };
        Ok(nodes.iter().map(of).collect())
    }
}

/// A file that was taken in and checked.
pub(super) struct Checked {
    pub(super) work: Work,
    pub(super) directory: Directory,
    pub(super) file: PathBuf,
}

impl Checked {
    pub(super) fn of(name: &str, content: impl AsRef<[u8]>, options: &Options) -> Self {
        Self::with(name, content, options, &mut Nowhere)
    }

    pub(super) fn with(name: &str, content: impl AsRef<[u8]>, options: &Options, lookup: &mut dyn Lookup) -> Self {
        let directory = Directory::new();
        let file = directory.write(name, content);
        let mut source = Source::open(&file, options).unwrap();
        let mut work = Work::open(&directory.path("work"), &source, options).unwrap();
        while work.load_some(&mut source).unwrap() {}
        while work.check_some(lookup).unwrap() {}
        Self { work, directory, file }
    }

    /// The faults, a line for each, with `FILE` in the place of the path.
    pub(super) fn faults(&self) -> Vec<String> {
        let faults = self.work.faults().unwrap().to_string();
        faults.replace(&self.file.display().to_string(), "FILE").lines().map(str::to_owned).collect()
    }
}

/// All records that wait, level by level.
pub(super) fn waiting(work: &Work) -> Vec<Waiting> {
    let mut records = Vec::new();
    for level in work.levels().unwrap() {
        let mut after = None;
        loop {
            let batch = work.next(level.level, after, 3).unwrap();
            let Some(last) = batch.last() else { break };
            after = Some(last.number);
            records.extend(batch);
        }
    }
    records
}

pub(super) fn lines(records: &[Waiting]) -> Vec<String> {
    records.iter().map(|waiting| jsonl::write(&waiting.record).unwrap()).collect()
}
