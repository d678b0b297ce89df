//! What Lambda makes of an invocation's answer: what is handled, what is tried again, what is given up. Pure.

use std::time::SystemTime;

use serde_json::Value;

use crate::template::EventSource;

/// A record on its way to the function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Delivery {
    /// Its number in the shard's progress.
    pub(super) number: u64,
    pub(super) sequence_number: String,
    pub(super) created: SystemTime,
    /// The item's keys, as JSON.
    pub(super) keys: String,
    /// The record, as JSON.
    pub(super) text: String,
}

/// Records that are handed to the function together.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) deliveries: Vec<Delivery>,
    /// How often it failed as it is. Splitting a batch doesn't count.
    pub(super) failures: u32,
}

/// What an answer says about a batch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Handled,
    /// The record at this place failed, and all from there on come again.
    FailedFrom(usize),
    Failed(String),
}

/// What becomes of a batch.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Next {
    pub(super) handled: Vec<Delivery>,
    pub(super) again: Vec<Batch>,
    pub(super) discarded: Vec<Delivery>,
}

/// Reads an answer.
///
/// Without `ReportBatchItemFailures` every answer is a success. With it, AWS counts as success: no answer, an empty one, no
/// list of failures or an empty one. The failure with the lowest sequence number is the checkpoint; an identifier that is
/// empty, missing or not in the batch fails the whole batch.
pub(super) fn judge(answer: Result<Value, String>, deliveries: &[Delivery], reports_failures: bool) -> Verdict {
    let answer = match answer {
        Ok(answer) if reports_failures => answer,
        Ok(_) => return Verdict::Handled,
        Err(reason) => return Verdict::Failed(reason),
    };
    let failures = match &answer {
        Value::Null => return Verdict::Handled,
        Value::String(text) if text.is_empty() => return Verdict::Handled,
        Value::Object(fields) => fields.get("batchItemFailures").unwrap_or(&Value::Null),
        _ => return Verdict::Failed(format!("the answer is no object: {answer}")),
    };
    let failures = match failures {
        Value::Null => return Verdict::Handled,
        Value::Array(failures) => failures,
        _ => return Verdict::Failed(format!("batchItemFailures is no list: {failures}")),
    };
    let mut checkpoint = None;
    for failure in failures {
        let identifier = failure.get("itemIdentifier").and_then(Value::as_str).unwrap_or_default();
        // Sequence numbers rise within a batch, so the first place is the lowest number.
        match deliveries.iter().position(|delivery| delivery.sequence_number == identifier) {
            Some(place) => checkpoint = Some(checkpoint.map_or(place, |lowest: usize| lowest.min(place))),
            None => return Verdict::Failed(format!("no record of the batch has the itemIdentifier {identifier:?}")),
        }
    }
    checkpoint.map_or(Verdict::Handled, Verdict::FailedFrom)
}

/// Decides what becomes of a batch.
///
/// With bisecting, a batch that failed is halved, and a partly handled one is cut at its checkpoint; neither uses up a
/// retry. (AWS doesn't say what cutting means when the first record is the checkpoint. Here such a batch is halved too, so
/// that one bad record is alone in the end either way.) What can't be cut any more is tried again as it is.
pub(super) fn next(batch: Batch, verdict: &Verdict, source: &EventSource) -> Next {
    let Batch { mut deliveries, failures } = batch;
    let handled_count = match verdict {
        Verdict::Handled => deliveries.len(),
        Verdict::FailedFrom(place) => (*place).min(deliveries.len()),
        Verdict::Failed(_) => 0,
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
    // A checkpoint that has moved is another record's failure.
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
    fn an_answer_without_failures_handles_the_batch() {
        let batch = deliveries(&[1, 2]);
        for answer in
            [json!(null), json!(""), json!({}), json!({"batchItemFailures": null}), json!({"batchItemFailures": []})]
        {
            assert_eq!(judge(Ok(answer.clone()), &batch, true), Verdict::Handled, "{answer}");
        }
    }

    #[test]
    fn the_lowest_failure_is_the_checkpoint() {
        let answer = json!({"batchItemFailures": [{"itemIdentifier": "003"}, {"itemIdentifier": "002"}]});
        assert_eq!(judge(Ok(answer.clone()), &deliveries(&[1, 2, 3]), true), Verdict::FailedFrom(1));
        assert_eq!(judge(Ok(answer), &deliveries(&[1, 2, 3]), false), Verdict::Handled);
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
            assert!(matches!(judge(Ok(answer), &deliveries(&[1, 2]), true), Verdict::Failed(_)), "{failure}");
        }
    }

    #[test]
    fn a_failed_batch_is_halved_without_using_up_a_retry() {
        let next = next(batch(&[1, 2, 3], 0), &Verdict::Failed(String::new()), &source(true, Some(0)));
        assert_eq!(next.again, [batch(&[1], 0), batch(&[2, 3], 0)]);
        assert!(next.discarded.is_empty());
    }

    #[test]
    fn a_single_record_is_discarded_after_its_retries() {
        let failed = Verdict::Failed(String::new());
        assert_eq!(next(batch(&[1], 1), &failed, &source(true, Some(2))).again, [batch(&[1], 2)]);
        assert_eq!(next(batch(&[1], 2), &failed, &source(true, Some(2))).discarded, deliveries(&[1]));
        assert_eq!(next(batch(&[1], 999), &failed, &source(true, None)).again, [batch(&[1], 1000)]);
    }

    #[test]
    fn a_partly_handled_batch_goes_on_at_its_checkpoint() {
        let next = next(batch(&[1, 2, 3], 2), &Verdict::FailedFrom(1), &source(false, Some(2)));
        assert_eq!(next.handled, deliveries(&[1]));
        assert_eq!(next.again, [batch(&[2, 3], 1)]);
    }

    #[test]
    fn a_checkpoint_at_the_first_record_halves_the_batch_too() {
        let next = next(batch(&[1, 2], 0), &Verdict::FailedFrom(0), &source(true, Some(0)));
        assert_eq!(next.again, [batch(&[1], 0), batch(&[2], 0)]);
    }

    #[test]
    fn without_bisecting_a_batch_is_discarded_whole() {
        let next = next(batch(&[1, 2], 1), &Verdict::Failed(String::new()), &source(false, Some(1)));
        assert_eq!(next.discarded, deliveries(&[1, 2]));
    }
}
