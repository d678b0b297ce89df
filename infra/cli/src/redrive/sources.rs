//! Where lost records are: files, directories of files, S3, and the table's stream.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Error, Result, anyhow, bail};
use futures::TryStreamExt;
use indicatif::ProgressBar;
use sapwood_core::keys::Schema;
use sapwood_import::failed_records::{LostError, LostKeys, read};

use super::table_stream::{StreamArn, TableStream, shown};
use crate::printable;

const SCHEME: &str = "s3://";

/// The beginning of a stream's name. A file of that name is written `./arn:…`.
const ARN: &str = "arn:";

/// A place of lost records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A file, or a directory of files.
    Path(PathBuf),
    /// The objects of a bucket whose names begin like this.
    Bucket { bucket: String, prefix: String },
    /// The table's stream.
    Stream(StreamArn),
}

impl Source {
    /// Reads the name of a source of this table.
    pub(super) fn parse(text: &str, table: &str) -> Result<Self> {
        if text.starts_with(ARN) {
            return StreamArn::parse(text, table).map(Self::Stream);
        }
        let Some(rest) = text.strip_prefix(SCHEME) else { return Ok(Self::Path(text.into())) };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            bail!("{text} isn't a place in S3; write it as s3://BUCKET or s3://BUCKET/PREFIX");
        }
        Ok(Self::Bucket { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }
}

/// Reads sources, and collects the keys of the items that their records name.
pub(super) struct Reader<'a> {
    pub(super) schema: &'a Schema,
    pub(super) keys: LostKeys,
    /// The number of files and objects that can't be read. Each was named.
    pub(super) unreadable: u64,
}

impl Reader<'_> {
    pub(super) fn path(&mut self, path: &Path) -> Result<()> {
        let mut left = vec![path.to_owned()];
        while let Some(path) = left.pop() {
            // A link inside a directory isn't followed.
            let listed = std::fs::metadata(&path).and_then(|metadata| {
                if !metadata.is_dir() {
                    return Ok(None);
                }
                let entries = std::fs::read_dir(&path)?;
                entries
                    .map(|entry| entry.and_then(|entry| Ok((entry.file_type()?, entry.path()))))
                    .collect::<Result<Vec<_>, _>>()
                    .map(Some)
            });
            match listed {
                Err(error) => self.name(&path.display().to_string(), &error.to_string()),
                Ok(Some(entries)) => left.extend(
                    entries.into_iter().filter(|(kind, _)| kind.is_dir() || kind.is_file()).map(|(_, path)| path),
                ),
                Ok(None) => match File::open(&path) {
                    Ok(file) => self.read(&path.display().to_string(), file)?,
                    Err(error) => self.name(&path.display().to_string(), &error.to_string()),
                },
            }
        }
        Ok(())
    }

    /// Reads a stream, and says how far back it goes.
    pub(super) async fn stream(&mut self, stream: &TableStream<'_>, bar: &ProgressBar) -> Result<()> {
        let failed = |refusal: Error| anyhow!("{} can't be read: {refusal}. Nothing is written", stream.arn);
        let (shards, mut is_trimmed) = stream.shards().await.map_err(failed)?;
        let mut pages = stream.pages(shards);
        let (mut records, mut oldest) = (0, None);
        while let Some(page) = pages.try_next().await.map_err(failed)? {
            for key in &page.keys {
                self.keys.add(key)?;
            }
            bar.inc(page.records);
            records += page.records;
            oldest = oldest.into_iter().chain(page.oldest).min();
            is_trimmed |= page.is_trimmed;
        }
        bar.finish_and_clear();
        let since = oldest.map_or_else(String::new, |time| format!(", the oldest of {}", shown(time)));
        eprintln!("{records} records of the stream are read{since}");
        if is_trimmed {
            eprintln!(
                "what was written before is no longer in the stream: sapwood verify finds what that has left wrong, and sapwood repair mends it"
            );
        }
        Ok(())
    }

    pub(super) fn read(&mut self, what: &str, input: impl std::io::Read) -> Result<()> {
        match read(input, self.schema, &mut self.keys) {
            Ok(()) => {}
            Err(LostError::Work(error)) => return Err(error.into()),
            Err(LostError::Unreadable { at, reason }) => self.name(&format!("{what}: {at}"), &reason),
        }
        Ok(())
    }

    fn name(&mut self, place: &str, reason: &str) {
        eprintln!("{}: {}", printable::shown(place), printable::shown(reason));
        self.unreadable += 1;
    }
}

#[cfg(not(feature = "aws"))]
impl Reader<'_> {
    /// Refuses to read from S3.
    pub(super) async fn bucket(
        &mut self,
        _: &crate::connect::Connection,
        _: Option<&str>,
        _: bool,
        _: (&str, &str),
    ) -> Result<()> {
        Err(crate::connect::no_aws())
    }
}
