//! What all lines of an invocation have: the keys by which tools find the lines of one request, or of a cold start.
//! They are those of [Powertools for AWS Lambda][keys].
//!
//! [keys]: https://docs.aws.amazon.com/powertools/python/latest/core/logger/#standard-structured-keys

use std::io::{Result, Write};
use std::sync::{PoisonError, RwLock};

use serde::Serialize;
use tracing_subscriber::fmt::MakeWriter;

/// An invocation, as Lambda describes it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Invocation<'a> {
    /// Lambda's id of the request.
    pub request_id: &'a str,
    /// The function's ARN, as it was invoked.
    pub arn: &'a str,
    /// The id by which the caller knows the request: that of API Gateway's request, or of the event.
    pub correlation_id: Option<&'a str>,
    /// The header of X-Ray, such as `Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1`.
    pub trace: Option<&'a str>,
}

/// The keys of the present invocation. `service` is the variable `POWERTOOLS_SERVICE_NAME`, or `sapwood`; the name of
/// the function and its memory in MB are in variables of Lambda's.
#[derive(Debug)]
pub struct Keys(RwLock<InvocationKeys>);

#[derive(Debug)]
struct InvocationKeys {
    process: Process,
    has_begun: bool,
    /// As they stand in a line, with a comma at the end.
    text: String,
}

#[derive(Clone, Debug, Default, Serialize)]
struct Process {
    service: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_memory_size: Option<u32>,
}

#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    process: &'a Process,
    cold_start: bool,
    function_arn: &'a str,
    function_request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    xray_trace_id: Option<&'a str>,
}

impl Keys {
    /// No keys: lines stay as they are until an invocation has begun.
    #[must_use]
    pub const fn none() -> Self {
        let process = Process { service: String::new(), function_name: None, function_memory_size: None };
        Self(RwLock::new(InvocationKeys { process, has_begun: false, text: String::new() }))
    }

    /// Reads what is the same in all invocations of the process.
    pub fn name(&self, variable: impl Fn(&str) -> Option<String>) {
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        self.0.write().unwrap_or_else(PoisonError::into_inner).process = Process {
            service: variable("POWERTOOLS_SERVICE_NAME").unwrap_or_else(|| "sapwood".to_owned()),
            function_name: variable("AWS_LAMBDA_FUNCTION_NAME"),
            function_memory_size: variable("AWS_LAMBDA_FUNCTION_MEMORY_SIZE").and_then(|size| size.parse().ok()),
        };
    }

    /// Has the lines from now on have the keys of this invocation. The first one is a cold start.
    pub fn began(&self, invocation: &Invocation<'_>) {
        let mut state = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let cold_start = !std::mem::replace(&mut state.has_begun, true);
        let line = Line {
            process: &state.process,
            cold_start,
            function_arn: invocation.arn,
            function_request_id: invocation.request_id,
            correlation_id: invocation.correlation_id,
            xray_trace_id: invocation.trace.and_then(root_of),
        };
        let json = serde_json::to_string(&line).unwrap_or_default();
        let members = json.strip_prefix('{').and_then(|json| json.strip_suffix('}'));
        state.text = members.map(|members| format!("{members},")).unwrap_or_default();
    }

    /// Puts the keys in front of the members of each line that is written here.
    pub(super) fn in_front_of<W>(&'static self, to: W) -> InFrontOf<W> {
        InFrontOf { keys: self, to }
    }
}

fn root_of(trace: &str) -> Option<&str> {
    trace.split(';').find_map(|part| part.trim().strip_prefix("Root="))
}

/// An output of lines, each a JSON object, in front of whose members the keys stand.
pub(super) struct InFrontOf<W> {
    keys: &'static Keys,
    to: W,
}

impl<'a, W: MakeWriter<'a>> MakeWriter<'a> for InFrontOf<W> {
    type Writer = InFrontOf<W::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        InFrontOf { keys: self.keys, to: self.to.make_writer() }
    }
}

/// The subscriber writes a line at once.
impl<W: Write> Write for InFrontOf<W> {
    fn write(&mut self, line: &[u8]) -> Result<usize> {
        let state = self.keys.0.read().unwrap_or_else(PoisonError::into_inner);
        match line.strip_prefix(b"{") {
            Some(members) => self.to.write_all(&[b"{", state.text.as_bytes(), members].concat())?,
            None => self.to.write_all(line)?,
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.to.flush()
    }
}
