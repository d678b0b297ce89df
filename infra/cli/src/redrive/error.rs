//! Errors of `sapwood redrive`.

use sapwood_dynamodb::lacks_credentials;
use sapwood_import::work::WorkError;
use sapwood_store::TableError;

use crate::connect::ConnectError;
use crate::exit::Failure;
use crate::sdk::{ProvideErrorMetadata, SdkError, said};
use crate::stream::StreamRefusal;

/// Why records can't be redriven. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RedriveError {
    /// The table can't be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The keys can't be kept.
    #[error(transparent)]
    Work(#[from] WorkError),
    /// A request to the table failed for good.
    #[error(
        "the table can't be read or written: {0}. Run the same command again: what is done already is only done once more"
    )]
    Table(#[from] TableError),
    /// A name of a bucket can't be read.
    #[error("{0} isn't a place in S3; write it as s3://BUCKET or s3://BUCKET/PREFIX")]
    Place(String),
    /// A name of a stream can't be read.
    #[error(
        "{0} isn't the ARN of a table's stream, which is written arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE/stream/TIME. TableStreamArn, an output of the stack, is one"
    )]
    Arn(String),
    /// The stream is that of another table.
    #[error("the stream is that of the table {found}, and --table names {wanted}. Nothing is written")]
    OtherTable {
        /// The stream's table.
        found: String,
        /// The table that is redriven.
        wanted: String,
    },
    /// The stream can't be read.
    #[error("{arn} can't be read: {refusal}. Nothing is written")]
    Stream {
        /// The stream.
        arn: String,
        /// Why.
        refusal: StreamRefusal,
    },
    /// S3 refuses.
    #[error("{what} can't be read: {refusal}. Nothing is written")]
    Bucket {
        /// The bucket or the object.
        what: String,
        /// Why.
        refusal: Refusal,
    },
}

impl Failure for RedriveError {}

/// Why S3 gives no list or no object, and what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// The caller may not read it.
    #[error(
        "access is denied. docs/policies/redrive.json has what is needed: s3:ListBucket on the bucket, s3:GetObject on its objects"
    )]
    Denied,
    /// The bucket isn't there.
    #[error("there is no such bucket. FailedRecordsBucket, an output of the stack, is its name")]
    NoBucket,
    /// The bucket is in another region than the one that was asked.
    #[error(
        "the bucket is in {}, not in the region that was asked. Name it with --region; if the table is elsewhere, copy the objects (aws s3 cp --recursive) and name the directory",
        .0.as_deref().unwrap_or("another region")
    )]
    Elsewhere(Option<String>),
    /// The object was there when the bucket was listed.
    #[error("it is gone since the bucket was listed. Run the same command again")]
    Gone,
    /// The object's storage class gives nothing at once.
    #[error("it is archived. Restore the object first, or name copies of the others")]
    Archived,
    /// There are no credentials.
    #[error("{0}")]
    NoCredentials(String),
    /// S3 doesn't take the credentials.
    #[error("S3 refuses the credentials ({0}). Log in again, or name another profile")]
    Credentials(String),
    /// No answer came.
    #[error("no whole answer came ({0}). Run the same command again")]
    Unanswered(String),
    /// S3 answers something else.
    #[error("S3 says {0}")]
    Other(String),
}

/// The header in which S3 says where a bucket is.
const REGION_HEADER: &str = "x-amz-bucket-region";

impl Refusal {
    /// Reads what a failed call of S3 says ([AWS: error responses][aws]).
    ///
    /// [aws]: https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
    pub(super) fn of<E: ProvideErrorMetadata + std::error::Error + 'static>(error: &SdkError<E>) -> Self {
        let code = error.as_service_error().and_then(ProvideErrorMetadata::code);
        let region = || error.raw_response()?.headers().get(REGION_HEADER).map(str::to_owned);
        match code {
            Some("AccessDenied" | "AllAccessDisabled" | "AccountProblem") => Self::Denied,
            Some("NoSuchBucket") => Self::NoBucket,
            Some("PermanentRedirect" | "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException") => {
                Self::Elsewhere(region())
            }
            Some("NoSuchKey") => Self::Gone,
            Some("InvalidObjectState") => Self::Archived,
            Some(
                code @ ("ExpiredToken"
                | "InvalidAccessKeyId"
                | "InvalidToken"
                | "SignatureDoesNotMatch"
                | "RequestTimeTooSkewed"
                | "TokenRefreshRequired"),
            ) => Self::Credentials(code.to_owned()),
            Some(_) => Self::Other(said(error)),
            None => match (lacks_credentials(error), error.raw_response()) {
                (Some(words), _) => Self::NoCredentials(words),
                (None, Some(_)) => Self::Other(said(error)),
                (None, None) => Self::Unanswered(said(error)),
            },
        }
    }
}
