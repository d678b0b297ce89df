//! Tables that are damaged at random, compared with their base records, and repaired.
//!
//! `SAPWOOD_SCHEDULES=1000000` runs so many; `SAPWOOD_SEED=17` replays one.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use sapwood_core::audit::{Difference, Kind, Mended, Subject, look, mend};
use sapwood_core::fanout::{Context, Limits, Run};
use sapwood_core::keys::{Id, ItemKey, NodeRef};
use sapwood_core::model::{AttributeValue, Item, text};
use sapwood_core::plan::{Facts, Plan, Read, Rule, Rules, Step};
use sapwood_engine::audit::Audit;
use sapwood_simulation::fixture::{Fixture, NoRetries, at_once};
use sapwood_simulation::intercept::{Intercept, Observer, Request};
use sapwood_simulation::memory::MemoryTable;
use sapwood_simulation::seeds::seeds;
use sapwood_simulation::sim::{
    Profile, Writers, run as schedule, run_auditor, run_damage, run_totals_auditor, run_totals_damage, search,
};
use sapwood_store::{Client, RetryPolicy, TableError};

#[test]
fn whatever_is_damaged_is_named_and_mended_and_nothing_else() {
    let seeds = seeds(600);
    let count = seeds.end - seeds.start;
    match search(seeds, |seed| run_damage(seed, None)) {
        Ok(steps) => println!("{count} damaged tables, {steps} steps, all mended"),
        Err(fault) => panic!("{}\nreplay it with SAPWOOD_SEED={}", fault.what.join("\n"), fault.seed),
    }
}

#[test]
fn whatever_of_totals_is_damaged_is_named_and_mended_and_nothing_else() {
    let seeds = seeds(600);
    let count = seeds.end - seeds.start;
    match search(seeds, |seed| run_totals_damage(seed, None)) {
        Ok(steps) => println!("{count} tables with damaged totals, {steps} steps, all mended"),
        Err(fault) => panic!("{}\nreplay it with SAPWOOD_SEED={}", fault.what.join("\n"), fault.seed),
    }
}

#[test]
fn the_auditor_makes_no_total_wrong_that_was_right() {
    let seeds = seeds(300);
    let count = seeds.end - seeds.start;
    match search(seeds, |seed| run_totals_auditor(seed, None)) {
        Ok(steps) => println!("{count} audited tables with damaged totals, {steps} steps, none is worse"),
        Err(fault) => panic!("{}\nreplay it with SAPWOOD_SEED={}", fault.what.join("\n"), fault.seed),
    }
}

#[test]
fn an_auditor_that_has_every_node_counted_makes_totals_wrong() {
    let is_worse = |seed: &u64| run_totals_auditor(*seed, Some(Rule::CountHolds)).is_err();
    let seed = (0..600).find(is_worse).expect("broken, and no total is worse");
    assert!(run_totals_auditor(seed, None).is_ok(), "{seed}");
}

#[test]
fn without_the_rule_a_lineage_has_items_of_the_owner_deleted() {
    let says_so = |fault: &str| fault.contains("owner was changed");
    let goes = |seed| run_damage(seed, Some(Rule::RowsById)).is_err_and(|fault| says_so(&fault.what.concat()));
    assert!((0..2_000).any(goes));
}

fn schedules(writers: Writers, usual: u64) {
    let (seeds, profile) = (seeds(usual), Profile::new(writers).with_repairs());
    let count = seeds.end - seeds.start;
    match search(seeds, |seed| schedule(seed, &profile)) {
        Ok(steps) => println!("{writers:?} with repairs: {count} schedules, {steps} steps, no difference"),
        Err(fault) => panic!("{writers:?} with repairs: {fault}\nreplay it with SAPWOOD_SEED={}", fault.seed),
    }
}

#[test]
fn repairs_beside_writers_do_no_harm() {
    schedules(Writers::Any, 750);
}

#[test]
fn repairs_beside_moves_do_no_harm() {
    schedules(Writers::Moves, 600);
}

#[test]
fn repairs_beside_deletions_do_no_harm() {
    schedules(Writers::Deletions, 600);
}

#[test]
fn repairs_beside_deletions_and_other_clients_do_no_harm() {
    schedules(Writers::MixedDeletions, 600);
}

#[test]
fn repairs_beside_heirs_that_go_do_no_harm() {
    schedules(Writers::Heirs, 400);
}

#[test]
fn repairs_beside_marks_that_are_taken_back_do_no_harm() {
    schedules(Writers::Returns, 400);
}

#[test]
fn repairs_beside_tenants_do_no_harm() {
    schedules(Writers::Tenants, 200);
}

#[test]
fn repairs_beside_readers_do_no_harm() {
    schedules(Writers::Readers, 200);
}

/// Runs a plan to its end on the table of a fixture, and does something else before its first write.
fn carried_out<D>(fixture: &mut Fixture, mut plan: Plan<'_, D>, meanwhile: impl FnOnce(&mut Fixture)) -> D {
    let (mut facts, mut meanwhile) = (Facts::None, Some(meanwhile));
    loop {
        match plan.next(facts).unwrap() {
            Step::Need(need) => {
                let (table, settings) = (fixture.table(), fixture.settings());
                let client = Client::new(table, &NoRetries, &settings.schema);
                let items = at_once(client.get_many(need.keys, &need.options)).items;
                let items = items.into_iter().map(|(key, item)| (key, item.into())).collect();
                facts = Facts::Read(Read { items, ..Read::default() });
            }
            Step::Do(tasks) => {
                if let Some(meanwhile) = meanwhile.take() {
                    meanwhile(fixture);
                }
                let (table, settings) = (fixture.table(), fixture.settings());
                let client = Client::new(table, &NoRetries, &settings.schema);
                let outcomes = tasks.iter().map(|task| Ok(at_once(client.carry_out(task)).outcome.unwrap()));
                facts = Facts::Done(outcomes.collect());
            }
            Step::Done(done) => return done,
            _ => panic!("another step"),
        }
    }
}

#[test]
fn a_row_stays_that_a_lineage_names_by_then() {
    let stays = |rules: Rules| {
        let mut fixture = Fixture::default();
        for (id, parent) in [("D", None), ("E", None), ("V", Some("D"))] {
            fixture.put_node(id, parent, &[]);
        }
        fixture.settle();
        fixture.put("E", "NODE#0001#V", &[("_id", text("V")), ("_depth", sapwood_core::model::number(1))]);
        let settings = fixture.settings().clone();
        let (key, node) = (ItemKey::new("E", "NODE#0001#V"), NodeRef::from(Id::new("V").unwrap()));
        let (subjects, known) = (BTreeSet::from([Subject::Row { key, node }]), Default::default());
        let found = carried_out(&mut fixture, look(&settings, subjects, &known, true), |_| ());
        let [surplus] = &found[..] else { panic!("{found:?}") };
        assert_eq!(surplus.kind, Kind::RowSurplus);
        let context = Context { settings: &settings, limits: Limits::default(), rules, run: Run::default() };
        carried_out(&mut fixture, mend(context, surplus.clone(), "1".to_owned()), |fixture| {
            fixture.put_node("V", Some("E"), &[]);
            fixture.settle();
        });
        fixture.get("E", "NODE#0001#V").is_some()
    };
    assert!(stays(Rules::default()));
    assert!(!stays(Rules::without(Rule::RepairCheck)));
}

#[test]
fn a_record_that_was_put_back_stays_nobodys_if_others_of_ours_write_it() {
    let mut fixture = Fixture::default();
    let put_back = ("_put_back", text("1"));
    // Another repair saw the node before it went, and an ancestor's event touched it.
    fixture.put("V", "NODE", &[put_back.clone(), ("_redriven", text("2")), ("_touched", text("3#P"))]);
    fixture.put("W", "NODE", &[put_back, ("name", text("somebody's"))]);
    let settings = fixture.settings().clone();
    let context =
        Context { settings: &settings, limits: Limits::default(), rules: Rules::default(), run: Run::default() };
    for id in ["V", "W"] {
        let node = NodeRef::from(Id::new(id).unwrap());
        let difference = Difference::unseen(Kind::RecordPutBack, settings.schema.node_key(&node), node);
        carried_out(&mut fixture, mend(context, difference, "4".to_owned()), |_| ());
    }
    assert_eq!(fixture.get("V", "NODE"), None);
    let kept = fixture.get("W", "NODE").unwrap();
    assert!(!kept.contains_key("_put_back") && kept.contains_key("name"));
}

#[test]
fn a_record_that_was_put_back_without_an_answer_is_taken_away() {
    let mut fixture = Fixture::default();
    fixture.put_node("V", None, &[]);
    fixture.settle();
    fixture.delete_node("V");
    // Its event is lost.
    let _ = fixture.take_records();
    let settings = fixture.settings().clone();
    let context =
        Context { settings: &settings, limits: Limits::default(), rules: Rules::default(), run: Run::default() };
    let node = NodeRef::from(Id::new("V").unwrap());
    let surplus = Difference::unseen(Kind::LineageSurplus, settings.schema.lineage_key(&node), node);
    // The client sends the write again, and its own first attempt is in the way.
    let first = |fixture: &mut Fixture| fixture.put("V", "NODE", &[("_put_back", text("4"))]);
    let mended = carried_out(&mut fixture, mend(context, surplus, "4".to_owned()), first);
    assert_eq!((mended, fixture.get("V", "NODE")), (Mended::Redriven, None));
    fixture.settle();
    assert_eq!(fixture.get("V", "LINEAGE"), None);
}

#[test]
fn the_auditor_mends_whatever_is_damaged_and_a_pass_that_has_ended_means_right() {
    let seeds = seeds(160);
    let count = seeds.end - seeds.start;
    match search(seeds, run_auditor) {
        Ok(steps) => println!("{count} audited tables, {steps} steps, all mended"),
        Err(fault) => panic!("{}\nreplay it with SAPWOOD_SEED={}", fault.what.join("\n"), fault.seed),
    }
}

/// Has the first put of a copy get no answer, as if it were still on its way.
#[derive(Default)]
struct LosesFirstCopy(Mutex<Option<Item>>);

impl Observer for &LosesFirstCopy {
    async fn before(&self, _: &Request<'_>) {}

    fn refuses(&self, request: &Request<'_>) -> Option<TableError> {
        let mut lost = self.0.lock().unwrap();
        let Request::Put(item) = request else { return None };
        lost.is_none().then(|| {
            *lost = Some(Item::clone(item));
            TableError::unanswered("on its way")
        })
    }
}

/// While a repair waits for what may come late, the revision is amended, its copy follows, and then the lost put comes.
struct Meanwhile<'a> {
    table: &'a MemoryTable,
    lost: &'a LosesFirstCopy,
    is_over: AtomicBool,
}

impl RetryPolicy for Meanwhile<'_> {
    async fn wait(&self, attempt: u32) -> bool {
        if attempt > 0 && !self.is_over.swap(true, Ordering::SeqCst) {
            let mut memory = self.table.0.lock().unwrap();
            let lost = self.lost.0.lock().unwrap().clone().unwrap();
            let (revision, copy) = (ItemKey::new("n", "v003_Audit"), ItemKey::new("n", "v0_Audit"));
            for key in [&revision, &copy] {
                let mut amended = memory.get(key).cloned().unwrap();
                amended.insert("text".to_owned(), text("amended"));
                memory.write(key, Some(amended));
            }
            memory.write(&copy, Some(lost));
        }
        true
    }
}

#[test]
fn a_repair_whose_write_may_come_late_looks_again() {
    let mut fixture = Fixture::default();
    fixture.put_node("n", None, &[]);
    let (revision, copy) = (ItemKey::new("n", "v003_Audit"), ItemKey::new("n", "v0_Audit"));
    let of = |key: &ItemKey, said: &str| {
        Item::from([("PK", &*key.pk), ("SK", &*key.sk), ("text", said)].map(|(name, of)| (name.to_owned(), text(of))))
    };
    let mut wrong = of(&copy, "wrong");
    wrong.insert("_version".to_owned(), AttributeValue::N("3".to_owned()));
    for (key, item) in [(&revision, of(&revision, "first")), (&copy, wrong)] {
        fixture.table().0.lock().unwrap().write(key, Some(item));
    }
    let lost = LosesFirstCopy::default();
    let policy = Meanwhile { table: fixture.table(), lost: &lost, is_over: AtomicBool::new(false) };
    let table = Intercept { table: fixture.table().clone(), observer: &lost };
    let client = Client::new(&table, &policy, fixture.schema());
    let difference = Difference::unseen(Kind::CopyWrong, copy.clone(), Id::new("n").unwrap().into());
    let mended = at_once(Audit::new(&client, fixture.settings()).mend(difference, "1".to_owned(), Rules::default()));
    assert!(policy.is_over.load(Ordering::SeqCst), "{mended:?}");
    let copied = fixture.table().0.lock().unwrap().get(&copy).cloned().unwrap();
    assert_eq!(copied["text"], text("amended"), "{mended:?}");
}
