//! Small scopes, searched whole: a few requests, one run of the handler, one lost answer and one death, in every order
//! in which the table may carry their calls out. Random schedules find what happens often. This finds what can happen
//! at all.
//!
//! The search goes depth first. Two schedules that have come to the same table, the same history, and the same answers
//! to each invocation go on in the same way, so what follows is searched once. Two schedules that differ in the order
//! of calls that touch nothing in common come to the same, so one of them is enough: see [`Search::passes`]. The number
//! of schedules counts all but those.

mod footprints;
mod scopes;
mod under_way;
mod world;

use std::collections::HashMap;

use sapwood_core::plan::Rules;

use super::requests::Asked;
use super::writers::BaseWrite;
use footprints::Footprints;
use world::{Move, Start, World};

pub use scopes::{all_scopes, few_scopes};

/// What is searched.
#[derive(Clone, Debug)]
pub struct Scope {
    /// What the clients ask for, in words.
    pub name: String,
    /// What is there before.
    settled: Vec<BaseWrite>,
    /// The clients. Each sends its requests one after another.
    clients: Vec<Vec<Asked>>,
    /// Most calls whose answer is lost, or that are lost themselves.
    losses_max: u32,
    /// True if the answers that the handler waits for can be lost, too.
    loses_handlers: bool,
    /// Most functions that die.
    deaths_max: u32,
    /// How often more time passes than a claim of an idempotency key lasts, while nothing is under way.
    passes_max: u32,
    /// The most times that a client of the table tries one thing again.
    waits_max: u32,
    /// True if siblings are ordered by hand.
    is_ordered: bool,
    /// How the handler runs once between the requests. It runs after them in any case.
    handles: Handles,
}

/// How the handler runs between the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handles {
    /// All of its calls are carried out at once.
    AtOnce,
    /// Its calls are carried out in any order among the others.
    Between,
}

/// What a search has come to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Searched {
    /// The number of schedules.
    pub schedules: u128,
    /// The number of states that differ.
    pub states: usize,
}

/// A schedule that ends wrong.
struct Wrong {
    moves: Vec<Move>,
    what: Vec<String>,
}

struct Search<'a> {
    scope: &'a Scope,
    rules: Rules,
    start: Start,
    footprints: Footprints,
    /// For each state the number of schedules that go on from it.
    seen: HashMap<u64, u128>,
}

impl Search<'_> {
    /// Searches the scope in passes. Each expects the footprints of the passes before. Where a call touches nothing
    /// that others are expected to touch later, the pass takes this call alone, and leaves out what would come before
    /// it. It ends with the pass that meets what was expected and nothing else. That has missed nothing: suppose that a
    /// schedule which it left out touches something else, and take the first call that does. The calls before that one
    /// touch nothing of the call that was taken alone, so they can come after it and do the same. There the pass has
    /// followed them, up to that call.
    fn passes(&mut self) -> Result<u128, Wrong> {
        loop {
            let mut world = World::new(self.scope, self.rules, Some(&self.start));
            world.footprints = self.footprints.clone();
            let schedules = self.explore(world, &mut Vec::new())?;
            let Some(next) = self.footprints.next() else { return Ok(schedules) };
            self.footprints = next;
            self.seen.clear();
        }
    }

    /// Searches what can follow a move from here.
    fn follow(&mut self, mut world: World, next: Move, moves: &mut Vec<Move>) -> Result<u128, Wrong> {
        world.apply(next);
        moves.push(next);
        let schedules = self.explore(world, moves)?;
        moves.pop();
        Ok(schedules)
    }

    /// Searches what can follow these moves, which have led to this world. Returns the number of schedules.
    fn explore(&mut self, world: World, moves: &mut Vec<Move>) -> Result<u128, Wrong> {
        let digest = world.digest();
        if let Some(schedules) = self.seen.get(&digest) {
            return Ok(*schedules);
        }
        let mut others = world.moves();
        let Some(last) = others.pop() else {
            let what = world.faults();
            if !what.is_empty() {
                return Err(Wrong { moves: moves.clone(), what });
            }
            self.seen.insert(digest, 1);
            return Ok(1);
        };
        let mut schedules = 0;
        for next in others {
            schedules += self.follow(world.copy(), next, moves)?;
        }
        schedules += self.follow(world, last, moves)?;
        self.seen.insert(digest, schedules);
        Ok(schedules)
    }
}

/// Searches a scope: all that its schedules can come to.
///
/// # Errors
/// The first schedule that ends wrong, and what is wrong with it.
pub fn search_scope(scope: &Scope, rules: Rules) -> Result<Searched, String> {
    search(scope, rules, Footprints::none(scope))
}

/// Searches all schedules of a scope, also those that differ only in the order of calls that have nothing in common, or
/// in whether a function dies before it reads or afterwards. This takes ten times as long and more.
///
/// # Errors
/// The first schedule that ends wrong, and what is wrong with it.
pub fn search_every_order(scope: &Scope, rules: Rules) -> Result<Searched, String> {
    search(scope, rules, Footprints::any(scope))
}

fn search(scope: &Scope, rules: Rules, footprints: Footprints) -> Result<Searched, String> {
    let mut search = Search { scope, rules, start: World::start(scope), footprints, seen: HashMap::new() };
    match search.passes() {
        Ok(schedules) => Ok(Searched { schedules, states: search.seen.len() }),
        Err(Wrong { moves, what }) => {
            let moves: Vec<String> = moves.iter().map(|next| format!("{next:?}")).collect();
            Err(format!("{}: {}\nafter {}", scope.name, what.join("; "), moves.join(", ")))
        }
    }
}
