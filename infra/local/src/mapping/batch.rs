//! How a mapping acts on the response to an invocation: which records are handled, retried or discarded. Pure.

use std::time::SystemTime;

use serde_json::Value;

use crate::template::EventSource;

/// A record that the mapping delivers to the function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Delivery {
    /// The record's number in the shard's [`Progress`](super::progress::Progress).
    pub(super) number: u64,
    pub(super) sequence_number: String,
    pub(super) created: SystemTime,
    /// The item's key attributes, as JSON.
    pub(super) keys: String,
    /// The record, as JSON.
    pub(super) text: String,
}

/// Records that the function gets in one invocation: a batch, or what bisecting has left of one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) deliveries: Vec<Delivery>,
    /// The number of failed invocations with exactly these records. Bisecting doesn't count.
    pub(super) failures: u32,
}

/// The meaning of a response to a batch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Response {
    Handled,
    /// The record at this position failed. It is the checkpoint: this record and all later ones are delivered again.
    FailedFrom(usize),
    Failed(String),
}

/// The next step of a batch after an invocation.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Next {
    pub(super) handled: Vec<Delivery>,
    pub(super) again: Vec<Batch>,
    pub(super) discarded: Vec<Delivery>,
}

/// Parses a response.
///
/// Without `ReportBatchItemFailures` every response means success. With it, AWS takes these for success: no response,
/// an empty one, no list of failures, and an empty list. The failure with the lowest sequence number is the checkpoint.
/// An identifier that is empty, missing or not in the batch fails the whole batch.
pub(super) fn parse_response(
    returned: Result<Value, String>,
    deliveries: &[Delivery],
    reports_failures: bool,
) -> Response {
    let returned = match returned {
        Ok(returned) if reports_failures => returned,
        Ok(_) => return Response::Handled,
        Err(reason) => return Response::Failed(reason),
    };
    let failures = match &returned {
        Value::Null => return Response::Handled,
        Value::String(text) if text.is_empty() => return Response::Handled,
        Value::Object(fields) => fields.get("batchItemFailures").unwrap_or(&Value::Null),
        _ => return Response::Failed(format!("the response isn't an object: {returned}")),
    };
    let failures = match failures {
        Value::Null => return Response::Handled,
        Value::Array(failures) => failures,
        _ => return Response::Failed(format!("batchItemFailures isn't a list: {failures}")),
    };
    let mut checkpoint = None;
    for failure in failures {
        let identifier = failure.get("itemIdentifier").and_then(Value::as_str).unwrap_or_default();
        // Sequence numbers rise within a batch, so the lowest position has the lowest number.
        match deliveries.iter().position(|delivery| delivery.sequence_number == identifier) {
            Some(place) => checkpoint = Some(checkpoint.map_or(place, |lowest: usize| lowest.min(place))),
            None => return Response::Failed(format!("no record of the batch has the itemIdentifier {identifier:?}")),
        }
    }
    checkpoint.map_or(Response::Handled, Response::FailedFrom)
}

/// Decides what happens to a batch.
///
/// With bisecting, a failed batch is halved, and a partly handled one is cut at its checkpoint; neither counts as a
/// retry. AWS doesn't document a checkpoint at the first record: here the batch is halved, so that a bad record ends up
/// alone. A batch that can't be cut is retried unchanged.
pub(super) fn next(batch: Batch, response: &Response, source: &EventSource) -> Next {
    let Batch { mut deliveries, failures } = batch;
    let handled_count = match response {
        Response::Handled => deliveries.len(),
        Response::FailedFrom(place) => (*place).min(deliveries.len()),
        Response::Failed(_) => 0,
    };
    let mut rest = deliveries.split_off(handled_count);
    let mut next = Next { handled: deliveries, ..Next::default() };
    if rest.is_empty() {
        return next;
    }
    if source.bisects_on_error && handled_count > 0 {
        next.again.push(Batch { deliveries: rest, failures: 0 });
        return next;
    }
    if source.bisects_on_error && rest.len() > 1 {
        let second = rest.split_off(rest.len() / 2);
        next.again.extend([rest, second].map(|deliveries| Batch { deliveries, failures }));
        return next;
    }
    // With records handled, the failure is another record's, so the count starts again.
    let failures = if handled_count > 0 { 1 } else { failures.saturating_add(1) };
    match source.retries_max {
        Some(max) if failures > max => next.discarded = rest,
        _ => next.again.push(Batch { deliveries: rest, failures }),
    }
    next
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::template::StartingPosition;

    fn deliveries(numbers: &[u64]) -> Vec<Delivery> {
        let delivery = |&number: &u64| Delivery {
            number,
            sequence_number: format!("{number:03}"),
            created: SystemTime::UNIX_EPOCH,
            keys: String::new(),
            text: String::new(),
        };
        numbers.iter().map(delivery).collect()
    }

    fn batch(numbers: &[u64], failures: u32) -> Batch {
        Batch { deliveries: deliveries(numbers), failures }
    }

    fn source(bisects_on_error: bool, retries_max: Option<u32>) -> EventSource {
        EventSource {
            filter_patterns: Vec::new(),
            batch_size_max: 100,
            batching_window: std::time::Duration::ZERO,
            parallelization_factor: 1,
            reports_batch_item_failures: true,
            bisects_on_error,
            retries_max,
            record_age_max: None,
            starting_position: StartingPosition::TrimHorizon,
            has_failure_destination: true,
        }
    }

    #[test]
    fn a_response_without_failures_handles_the_batch() {
        let batch = deliveries(&[1, 2]);
        for answer in
            [json!(null), json!(""), json!({}), json!({"batchItemFailures": null}), json!({"batchItemFailures": []})]
        {
            assert_eq!(parse_response(Ok(answer.clone()), &batch, true), Response::Handled, "{answer}");
        }
    }

    #[test]
    fn the_lowest_failure_is_the_checkpoint() {
        let answer = json!({"batchItemFailures": [{"itemIdentifier": "003"}, {"itemIdentifier": "002"}]});
        assert_eq!(parse_response(Ok(answer.clone()), &deliveries(&[1, 2, 3]), true), Response::FailedFrom(1));
        assert_eq!(parse_response(Ok(answer), &deliveries(&[1, 2, 3]), false), Response::Handled);
    }

    #[test]
    fn an_identifier_that_names_no_record_fails_the_batch() {
        for failure in [
            json!({"itemIdentifier": "009"}),
            json!({"itemIdentifier": ""}),
            json!({"itemIdentifier": null}),
            json!({"id": "001"}),
        ] {
            let answer = json!({"batchItemFailures": [{"itemIdentifier": "001"}, failure]});
            assert!(matches!(parse_response(Ok(answer), &deliveries(&[1, 2]), true), Response::Failed(_)), "{failure}");
        }
    }

    #[test]
    fn a_failed_batch_is_halved_without_using_up_a_retry() {
        let next = next(batch(&[1, 2, 3], 0), &Response::Failed(String::new()), &source(true, Some(0)));
        assert_eq!(next.again, [batch(&[1], 0), batch(&[2, 3], 0)]);
        assert!(next.discarded.is_empty());
    }

    #[test]
    fn a_single_record_is_discarded_after_its_retries() {
        let failed = Response::Failed(String::new());
        assert_eq!(next(batch(&[1], 1), &failed, &source(true, Some(2))).again, [batch(&[1], 2)]);
        assert_eq!(next(batch(&[1], 2), &failed, &source(true, Some(2))).discarded, deliveries(&[1]));
        assert_eq!(next(batch(&[1], 999), &failed, &source(true, None)).again, [batch(&[1], 1000)]);
    }

    #[test]
    fn a_partly_handled_batch_goes_on_at_its_checkpoint() {
        let next = next(batch(&[1, 2, 3], 2), &Response::FailedFrom(1), &source(false, Some(2)));
        assert_eq!(next.handled, deliveries(&[1]));
        assert_eq!(next.again, [batch(&[2, 3], 1)]);
    }

    #[test]
    fn a_checkpoint_at_the_first_record_halves_the_batch_too() {
        let next = next(batch(&[1, 2], 0), &Response::FailedFrom(0), &source(true, Some(0)));
        assert_eq!(next.again, [batch(&[1], 0), batch(&[2], 0)]);
    }

    #[test]
    fn without_bisecting_a_batch_is_discarded_whole() {
        let next = next(batch(&[1, 2], 1), &Response::Failed(String::new()), &source(false, Some(1)));
        assert_eq!(next.discarded, deliveries(&[1, 2]));
    }
}
