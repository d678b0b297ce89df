//! Small scopes in every order: two requests, one run of the handler, one lost answer and one death. See
//! `sim/exhaustive.rs`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;
use std::time::Instant;

use sapwood_core::plan::{Rule, Rules};
use sapwood_tests::sim::{Scope, Searched, all_scopes, few_scopes, search_scope};

/// Searches the scopes on all processors, and prints how many schedules that are. Returns it.
fn search(group: &str, scopes: &[Scope]) -> Searched {
    let since = Instant::now();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut sum = Searched::default();
        while let Some(scope) = scopes.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Searched { schedules, states } = search_scope(scope, Rules::default())?;
            sum.schedules += schedules;
            sum.states += states;
        }
        Ok::<Searched, String>(sum)
    };
    let found: Vec<Result<Searched, String>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..available_parallelism().map_or(1, usize::from)).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let (mut sum, mut wrong) = (Searched::default(), Vec::new());
    for one in found {
        match one {
            Ok(Searched { schedules, states }) => {
                sum.schedules += schedules;
                sum.states += states;
            }
            Err(what) => wrong.push(what),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let Searched { schedules, states } = sum;
    let (count, took) = (scopes.len(), since.elapsed());
    println!("{group}: {count} scopes, {schedules} schedules, {states} states, no difference, in {took:.0?}");
    sum
}

#[test]
fn a_lost_answer_leads_to_no_second_effect_in_any_order() {
    search("few", &few_scopes());
}

#[test]
fn without_a_rule_about_lost_answers_some_order_has_a_second_effect() {
    for rule in [Rule::StandsAsRead, Rule::CreatedAndDeleted, Rule::RevisionWithNode] {
        let wrong = few_scopes().iter().find_map(|scope| search_scope(scope, Rules::without(rule)).err());
        println!("{rule:?}: {}", wrong.expect("broken, and every order is right"));
    }
}

#[test]
fn without_a_check_of_its_sibling_a_node_is_placed_elsewhere_in_some_order() {
    let groups = all_scopes();
    let (_, places) = groups.iter().find(|(group, _)| *group == "siblings").unwrap();
    let wrong = places.iter().find_map(|scope| search_scope(scope, Rules::without(Rule::AnchorStays)).err());
    assert!(wrong.expect("broken, and every order is right").contains("not where it was asked for"));
}

#[test]
#[ignore = "takes minutes: .ci/full exhaustive runs it"]
fn two_requests_of_every_kind_end_right_in_any_order() {
    let mut groups = all_scopes();
    // SAPWOOD_GROUP='the trash' searches the groups alone whose names begin so.
    if let Ok(group) = std::env::var("SAPWOOD_GROUP") {
        groups.retain(|(name, _)| name.starts_with(&group));
    }
    assert!(!groups.is_empty(), "there is no such group");
    let (mut scopes, mut sum) = (0, Searched::default());
    for (group, some) in &groups {
        let Searched { schedules, states } = search(group, some);
        scopes += some.len();
        sum.schedules += schedules;
        sum.states += states;
    }
    println!("in all: {scopes} scopes, {} schedules, {} states", sum.schedules, sum.states);
}
