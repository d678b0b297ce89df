//! `Idempotency-Key`: done once, with the same outcome.

use sapwood_engine::write::{
    Begun, Claim, Command, Idempotency, Outcome, Patch, Refusal, Request, Stamp, WriteError, Writer,
};
use sapwood_simulation::memory::Patient;
use sapwood_store::Client;

use super::fixture::{Fixture, create, n, patch, refusal, run, under};

fn key(fingerprint: &str) -> Idempotency {
    Idempotency { tenant: None, hash: "hash".to_owned(), fingerprint: fingerprint.to_owned() }
}

fn request(stamp: Stamp, fingerprint: &str, at: u64) -> Request {
    Request { idempotency: Some(key(fingerprint)), ..Request::new(Stamp { seconds: at, ..stamp }) }
}

fn begin(fixture: &Fixture, fingerprint: &str, at: u64) -> Result<Begun, Refusal> {
    let begun =
        fixture.write(async |writer, stamp| writer.begin(&key(fingerprint), &Stamp { seconds: at, ..stamp }).await);
    begun.map_err(refusal)
}

fn claim(begun: Result<Begun, Refusal>) -> Claim {
    match begun.unwrap() {
        Begun::Claimed(claim) => claim,
        Begun::Kept(_) => panic!("kept"),
    }
}

fn write(fixture: &Fixture, command: &Command, fingerprint: &str, at: u64) -> Result<Outcome, Refusal> {
    let done = fixture.write(async |writer, stamp| writer.write(command, &request(stamp, fingerprint, at)).await);
    done.map_err(refusal)
}

#[test]
fn the_same_key_gives_what_it_was_completed_with_and_another_request_is_refused() {
    let fixture = Fixture::default();
    let claimed = claim(begin(&fixture, "one", 1_000));
    assert_eq!(begin(&fixture, "one", 1_030), Err(Refusal::InProgress(30)));
    assert_eq!(begin(&fixture, "two", 1_030), Err(Refusal::IdempotencyMismatch));
    let kept = vec![7; 800_000];
    fixture.write(async |writer, _| writer.complete(&claimed, &kept).await).unwrap();
    assert_eq!(begin(&fixture, "one", 2_000), Ok(Begun::Kept(kept)));
    assert_eq!(begin(&fixture, "two", 2_000), Err(Refusal::IdempotencyMismatch));
    assert!(
        matches!(begin(&fixture, "two", 1_000 + 86_400), Ok(Begun::Claimed(_))),
        "after 24 hours it is another key"
    );
}

#[test]
fn a_command_with_a_key_is_carried_out_once_and_has_the_same_outcome_each_time() {
    let fixture = Fixture::default();
    let large = under(None, &[("list", super::fixture::list((0..60_000).map(n)))]);
    let command = create("a", false, &large);
    let first = write(&fixture, &command, "one", 1_000).unwrap();
    let base = fixture.base("a");
    fixture.foreign("a", &[("other", n(1))]);
    assert_eq!(write(&fixture, &command, "one", 2_000), Ok(first.clone()));
    assert!(matches!(first, Outcome::Node { item, created: true, .. } if Some(&item) == base.as_ref()));
}

#[test]
fn a_request_that_took_too_long_does_nothing_once_another_has_taken_over() {
    let fixture = Fixture::default();
    let session = Client::new(&fixture.table, &Patient, &fixture.settings.schema);
    let writer = Writer::new(&session, &fixture.settings);
    let (late, command) = (request(fixture.stamp(), "one", 1_000), create("late", true, &under(None, &[])));
    let (next, other) = (request(fixture.stamp(), "one", 1_061), create("a", true, &under(None, &[])));
    let (_, result) = run(async {
        let mut write = std::pin::pin!(writer.write(&command, &late));
        // It looks for the key, claims it, and begins the transaction.
        for _ in 0..3 {
            assert!(futures::poll!(write.as_mut()).is_pending());
        }
        writer.write(&other, &next).await.unwrap();
        write.await
    });
    assert_eq!(result, Err(WriteError::Refused(Refusal::InProgress(60))));
    assert_eq!(fixture.base("late"), None);
    let again = write(&fixture, &create("twice", true, &under(None, &[])), "one", 1_070).unwrap();
    assert!(matches!(again, Outcome::Node { node, .. } if node == super::fixture::node("a")));
    assert_eq!(fixture.base("twice"), None);
}

#[test]
fn a_claim_that_came_to_nothing_is_given_back() {
    let fixture = Fixture::default();
    let first = claim(begin(&fixture, "one", 1_000));
    fixture.write(async |writer, _| writer.release(&first).await).unwrap();
    let second = claim(begin(&fixture, "other", 1_001));
    fixture.write(async |writer, _| writer.release(&first).await).unwrap();
    fixture.write(async |writer, _| writer.complete(&second, &[]).await).unwrap();
    assert_eq!(begin(&fixture, "other", 1_002), Ok(Begun::Kept(Vec::new())));
}

#[test]
fn a_command_that_is_refused_gives_its_claim_back() {
    let fixture = Fixture::default();
    assert_eq!(write(&fixture, &patch("a", &Patch::default()), "one", 1_000), Err(Refusal::NotFound));
    write(&fixture, &create("a", false, &under(None, &[])), "two", 1_001).unwrap();
}
