//! `Idempotency-Key`: done once, answered the same.

use sapwood_engine::write::{Begun, Claim, Done, Idempotency, Request, Stamp, StoredAnswer, WriteError};
use sapwood_table::Action;

use super::fixture::{Fixture, node, under};

fn key(fingerprint: &str) -> Idempotency {
    Idempotency { tenant: None, hash: "hash".to_owned(), fingerprint: fingerprint.to_owned() }
}

fn begin(fixture: &Fixture, fingerprint: &str, at: u64) -> Result<Begun, WriteError> {
    fixture.write(async |writer, stamp| writer.begin(&key(fingerprint), &Stamp { seconds: at, ..stamp.clone() }).await)
}

fn claim(begun: Result<Begun, WriteError>) -> Claim {
    match begun.unwrap() {
        Begun::Claimed(claim) => claim,
        Begun::Answered(_) => panic!("answered"),
    }
}

fn create(fixture: &Fixture, of: &str, claim: &Claim, answer: &StoredAnswer) -> Result<(), WriteError> {
    fixture.write(async |writer, stamp| {
        let also = |_: &Done| -> Vec<Action> { writer.completion(claim, answer) };
        let request = Request { also: Some(&also), ..Request::new(stamp) };
        writer.create(&node(of), true, &under(None, &[]), &request).await.map(drop)
    })
}

#[test]
fn the_same_key_gives_the_same_answer_and_another_request_is_refused() {
    let fixture = Fixture::default();
    let claimed = claim(begin(&fixture, "one", 1_000));
    assert!(matches!(begin(&fixture, "one", 1_030), Err(WriteError::InProgress)));
    assert!(matches!(begin(&fixture, "two", 1_030), Err(WriteError::IdempotencyMismatch)));
    let answer = StoredAnswer(vec![7; 800_000]);
    create(&fixture, "a", &claimed, &answer).unwrap();
    assert_eq!(begin(&fixture, "one", 2_000).unwrap(), Begun::Answered(answer));
    assert!(matches!(begin(&fixture, "two", 2_000), Err(WriteError::IdempotencyMismatch)));
    assert!(
        matches!(begin(&fixture, "two", 1_000 + 86_400), Ok(Begun::Claimed(_))),
        "after 24 hours it is another key"
    );
}

#[test]
fn a_request_that_took_too_long_does_nothing_once_another_has_taken_over() {
    let fixture = Fixture::default();
    let (first, second) = (claim(begin(&fixture, "one", 1_000)), claim(begin(&fixture, "one", 1_061)));
    let answer = StoredAnswer(b"{}".to_vec());
    assert!(matches!(create(&fixture, "late", &first, &answer), Err(WriteError::InProgress)));
    assert_eq!(fixture.base("late"), None);
    create(&fixture, "a", &second, &answer).unwrap();
    assert!(matches!(create(&fixture, "twice", &second, &answer), Err(WriteError::InProgress)));
    assert_eq!(fixture.base("twice"), None);
}

#[test]
fn a_claim_that_came_to_nothing_is_given_back() {
    let fixture = Fixture::default();
    let first = claim(begin(&fixture, "one", 1_000));
    fixture.write(async |writer, _| writer.release(&first).await).unwrap();
    let second = claim(begin(&fixture, "other", 1_001));
    fixture.write(async |writer, _| writer.release(&first).await).unwrap();
    create(&fixture, "a", &second, &StoredAnswer(Vec::new())).unwrap();
    assert_eq!(begin(&fixture, "other", 1_002).unwrap(), Begun::Answered(StoredAnswer(Vec::new())));
}
