//! Lost records in S3.

use anyhow::{Error, Result, anyhow};
use aws_sdk_s3::Client;
use futures::{StreamExt, TryStreamExt, stream};
use sapwood_dynamodb::lacks_credentials;

use super::sources::Reader;
use crate::connect::Connection;
use crate::sdk_errors::{ProvideErrorMetadata, SdkError, causes, said};

/// Objects that are read at a time. Each is held in memory as a whole, which is 12 MB at most.
const OBJECTS_IN_FLIGHT_MAX: usize = 8;

impl Reader<'_> {
    /// Reads the objects of a bucket whose names begin with a prefix. `path_style` names buckets by the path, as
    /// emulators and other endpoints know them.
    pub(super) async fn bucket(
        &mut self,
        connection: &Connection,
        endpoint: Option<&str>,
        path_style: bool,
        (bucket, prefix): (&str, &str),
    ) -> Result<()> {
        let config = connection.config_of(endpoint).await?;
        let config = aws_sdk_s3::config::Builder::from(&config).force_path_style(path_style || endpoint.is_some());
        self.objects(&Client::from_conf(config.build()), bucket, prefix).await
    }

    async fn objects(&mut self, client: &Client, bucket: &str, prefix: &str) -> Result<()> {
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
