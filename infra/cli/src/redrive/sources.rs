//! Where lost records are: files, directories of files, S3, and the table's stream.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Error, Result, anyhow, bail};
use aws_sdk_s3::Client;
use futures::{StreamExt, TryStreamExt, stream};
use indicatif::ProgressBar;
use sapwood_core::keys::Schema;
use sapwood_dynamodb::lacks_credentials;
use sapwood_import::failed_records::{LostError, LostKeys, read};

use super::table_stream::{StreamArn, TableStream, shown};
use crate::connect::Connection;
use crate::printable;
use crate::sdk::{ProvideErrorMetadata, SdkError, causes, said};

/// Objects that are read at a time. Each is held in memory as a whole, which is 12 MB at most.
const OBJECTS_IN_FLIGHT_MAX: usize = 8;

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

    pub(super) async fn bucket(&mut self, client: &Client, bucket: &str, prefix: &str) -> Result<()> {
        let failed = |what: &str, refusal: String| anyhow!("{what} can't be read: {refusal}. Nothing is written");
        let mut pages = client.list_objects_v2().bucket(bucket).prefix(prefix).into_paginator().send();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| failed(&format!("s3://{bucket}"), refusal(&error)))?;
            let names = page.contents().iter().filter_map(|object| object.key().map(str::to_owned));
            let mut objects = stream::iter(names.map(|name| async move {
                let what = format!("s3://{bucket}/{name}");
                let object = client.get_object().bucket(bucket).key(&name).send().await;
                let object = object.map_err(|error| failed(&what, refusal(&error)))?;
                let bytes = object.body.collect().await;
                let bytes = bytes.map_err(|error| failed(&what, unanswered(&causes(&error))))?;
                Ok::<_, Error>((what, bytes.into_bytes()))
            }))
            .buffered(OBJECTS_IN_FLIGHT_MAX);
            while let Some((what, bytes)) = objects.try_next().await? {
                self.read(&what, &bytes[..])?;
            }
        }
        Ok(())
    }

    /// Reads a stream, and says how far back it goes.
    pub(super) async fn stream(&mut self, stream: &TableStream<'_>, bar: &ProgressBar) -> Result<()> {
        let failed = |refusal: Error| anyhow!("{} can't be read: {refusal}. Nothing is written", stream.arn());
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

    fn read(&mut self, what: &str, input: impl std::io::Read) -> Result<()> {
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

/// Makes a client of S3. `path_style` names buckets by the path, as emulators and other endpoints know them.
pub(super) async fn client(connection: &Connection, endpoint: Option<&str>, path_style: bool) -> Result<Client> {
    let config = connection.config_of(endpoint).await?;
    let config = aws_sdk_s3::config::Builder::from(&config).force_path_style(path_style || endpoint.is_some());
    Ok(Client::from_conf(config.build()))
}

/// The header in which S3 says where a bucket is.
const REGION_HEADER: &str = "x-amz-bucket-region";

/// Says why S3 gives no list or no object, and what to do ([AWS: error responses][aws]).
///
/// [aws]: https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
fn refusal<E: ProvideErrorMetadata + std::error::Error + 'static>(error: &SdkError<E>) -> String {
    let words = match error.as_service_error().and_then(ProvideErrorMetadata::code) {
        Some("AccessDenied" | "AllAccessDisabled" | "AccountProblem") => {
            "access is denied. docs/policies/redrive.json has what is needed: s3:ListBucket on the bucket, s3:GetObject on its objects"
        }
        Some("NoSuchBucket") => "there is no such bucket. FailedRecordsBucket, an output of the stack, is its name",
        Some("PermanentRedirect" | "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException") => {
            let region = error.raw_response().and_then(|response| response.headers().get(REGION_HEADER));
            return format!(
                "the bucket is in {}, not in the region that was asked. Name it with --region; if the table is elsewhere, copy the objects (aws s3 cp --recursive) and name the directory",
                region.unwrap_or("another region")
            );
        }
        Some("NoSuchKey") => "it is gone since the bucket was listed. Run the same command again",
        Some("InvalidObjectState") => "it is archived. Restore the object first, or name copies of the others",
        Some(
            code @ ("ExpiredToken"
            | "InvalidAccessKeyId"
            | "InvalidToken"
            | "SignatureDoesNotMatch"
            | "RequestTimeTooSkewed"
            | "TokenRefreshRequired"),
        ) => return format!("S3 refuses the credentials ({code}). Log in again, or name another profile"),
        Some(_) => return format!("S3 says {}", said(error)),
        None => {
            return match (lacks_credentials(error), error.raw_response()) {
                (Some(words), _) => words,
                (None, Some(_)) => format!("S3 says {}", said(error)),
                (None, None) => unanswered(&said(error)),
            };
        }
    };
    words.to_owned()
}

fn unanswered(reason: &str) -> String {
    format!("no whole answer came ({reason}). Run the same command again")
}
