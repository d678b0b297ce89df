//! Small scopes in every order: two requests, one run of the handler, one lost answer and one death. See
//! `sim/exhaustive/mod.rs`. `.ci/full exhaustive` searches all of them, with `tests/simulation/examples/exhaustive.rs`.

use sapwood_core::plan::{Rule, Rules};
use sapwood_simulation::sim::{Searched, all_scopes, few_scopes, search_every_order, search_scope};

#[test]
fn a_lost_answer_leads_to_no_second_effect_in_any_order() {
    for scope in few_scopes() {
        let Searched { schedules, states } = search_scope(&scope, Rules::default()).unwrap();
        println!("{schedules} schedules, {states} states: {}", scope.name);
    }
}

#[test]
fn orders_that_are_left_out_are_never_the_only_ones_that_end_wrong() {
    let rules = [Rules::default(), Rules::without(Rule::StandsAsRead)].into_iter();
    let (mut wrong, mut saved) = (0, 0);
    for (rules, scope) in rules.flat_map(|rules| few_scopes().into_iter().map(move |scope| (rules, scope))) {
        let (some, all) = (search_scope(&scope, rules), search_every_order(&scope, rules));
        assert_eq!(some.is_ok(), all.is_ok(), "{some:?} and {all:?}");
        wrong += usize::from(some.is_err());
        if let (Ok(some), Ok(all)) = (some, all) {
            saved += all.states - some.states;
        }
    }
    println!("{wrong} scopes end wrong, and {saved} states are left out");
    assert!(wrong > 0 && saved > 0);
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
