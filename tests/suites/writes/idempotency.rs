//! `Idempotency-Key`: done once, answered the same.

use sapwood_engine::write::{Begun, Claim, Done, Idempotency, Request, Stamp, StoredAnswer, WriteError};
use sapwood_table::Action;

use crate::stand::{Stand, node, under};

fn key(fingerprint: &str) -> Idempotency {
    Idempotency { tenant: None, hash: "hash".to_owned(), fingerprint: fingerprint.to_owned() }
}

fn begin(stand: &Stand, fingerprint: &str, at: u64) -> Result<Begun, WriteError> {
    stand.write(async |writer, stamp| writer.begin(&key(fingerprint), &Stamp { seconds: at, ..stamp.clone() }).await)
}

fn claim(begun: Result<Begun, WriteError>) -> Claim {
    match begun.unwrap() {
        Begun::Claimed(claim) => claim,
        Begun::Answered(_) => panic!("answered"),
    }
}

fn create(stand: &Stand, of: &str, claim: &Claim, answer: &StoredAnswer) -> Result<(), WriteError> {
    stand.write(async |writer, stamp| {
        let also = |_: &Done| -> Vec<Action> { writer.completion(claim, answer) };
        let request = Request { also: Some(&also), ..Request::new(stamp) };
        writer.create(&node(of), true, &under(None, &[]), &request).await.map(drop)
    })
}

#[test]
fn the_same_key_gives_the_same_answer_and_another_request_is_refused() {
    let stand = Stand::default();
    let claimed = claim(begin(&stand, "one", 1_000));
    assert!(matches!(begin(&stand, "one", 1_030), Err(WriteError::InProgress)));
    assert!(matches!(begin(&stand, "two", 1_030), Err(WriteError::IdempotencyMismatch)));
    let answer = StoredAnswer(vec![7; 800_000]);
    create(&stand, "a", &claimed, &answer).unwrap();
    assert_eq!(begin(&stand, "one", 2_000).unwrap(), Begun::Answered(answer));
    assert!(matches!(begin(&stand, "two", 2_000), Err(WriteError::IdempotencyMismatch)));
    assert!(matches!(begin(&stand, "two", 1_000 + 86_400), Ok(Begun::Claimed(_))), "after 24 hours it is another key");
}

#[test]
fn a_request_that_took_too_long_does_nothing_once_another_has_taken_over() {
    let stand = Stand::default();
    let (first, second) = (claim(begin(&stand, "one", 1_000)), claim(begin(&stand, "one", 1_061)));
    let answer = StoredAnswer(b"{}".to_vec());
    assert!(matches!(create(&stand, "late", &first, &answer), Err(WriteError::InProgress)));
    assert_eq!(stand.base("late"), None);
    create(&stand, "a", &second, &answer).unwrap();
    assert!(matches!(create(&stand, "twice", &second, &answer), Err(WriteError::InProgress)));
    assert_eq!(stand.base("twice"), None);
}

#[test]
fn a_claim_that_came_to_nothing_is_given_back() {
    let stand = Stand::default();
    let first = claim(begin(&stand, "one", 1_000));
    stand.write(async |writer, _| writer.release(&first).await).unwrap();
    let second = claim(begin(&stand, "other", 1_001));
    stand.write(async |writer, _| writer.release(&first).await).unwrap();
    create(&stand, "a", &second, &StoredAnswer(Vec::new())).unwrap();
    assert_eq!(begin(&stand, "other", 1_002).unwrap(), Begun::Answered(StoredAnswer(Vec::new())));
}
