//! What a call does to the simulated table, one item at a time.

use std::collections::BTreeSet;

use rand::RngExt;
use sapwood_core::keys::ItemKey;
use sapwood_core::model::{Item, text};
use sapwood_store::{Action, ErrorKind, Scanned, TableError, Transacted, Write};

use super::{Answer, Ask, Call, Calls, Unseen, injected};
use crate::memory::{Memory, default_key};

impl Calls {
    pub(super) fn carry_out(&mut self, call: &mut Call) -> Option<Answer> {
        let retry = || Answer::Failed(injected());
        let Call { invocation, asked, ask, done, found, unprocessed, updated, .. } = call;
        match ask {
            Ask::Get(keys) => {
                let whole = self.rng.random_bool(0.5);
                loop {
                    if *done == keys.len() {
                        return Some(Answer::Found(std::mem::take(found)));
                    }
                    if self.fails() {
                        if self.rng.random_bool(0.5) {
                            return Some(retry());
                        }
                        found.unprocessed.push(keys[*done].clone());
                    } else {
                        found.items.extend(self.seen_item(&keys[*done]).cloned());
                    }
                    *done += 1;
                    if !whole && *done < keys.len() {
                        return None;
                    }
                }
            }
            Ask::Write(writes) => {
                if *done == 0 {
                    let is_bad = |(write, item): &(Write, Option<Item>)| {
                        item.as_ref().is_some_and(|item| Memory::check(item, write.key()).is_err())
                    };
                    if writes.iter().any(is_bad) {
                        return Some(Answer::Failed(TableError::new(ErrorKind::Refuse, "refused")));
                    }
                }
                let whole = self.rng.random_bool(0.5);
                loop {
                    if *done == writes.len() {
                        return Some(Answer::Unprocessed(std::mem::take(unprocessed)));
                    }
                    let write = &writes[*done];
                    let rest = || Ask::Write(writes[*done..].to_vec());
                    match self.one_write(*invocation, rest, |calls| calls.apply(write)) {
                        Ok(Some(())) => {}
                        Ok(None) => unprocessed.push(write.0.clone()),
                        Err(answer) => return Some(answer),
                    }
                    *done += 1;
                    if !whole && *done < writes.len() {
                        return None;
                    }
                }
            }
            Ask::Together(actions) => {
                let keys: BTreeSet<&ItemKey> = actions.iter().map(Action::key).collect();
                assert_eq!(keys.len(), actions.len(), "DynamoDB refuses a request that names an item twice");
                let whole = self.rng.random_bool(0.5);
                loop {
                    if *done == actions.len() {
                        return Some(Answer::Updated(std::mem::take(updated)));
                    }
                    let action = &actions[*done];
                    let rest = || Ask::Together(actions[*done..].to_vec());
                    match self.one_write(*invocation, rest, |calls| calls.of_together(action)) {
                        Ok(Some(answer)) => updated.push(answer),
                        Ok(None) => updated.push(Err(injected())),
                        Err(answer) => return Some(answer),
                    }
                    *done += 1;
                    if !whole && *done < actions.len() {
                        return None;
                    }
                }
            }
            Ask::Query(query) => {
                if self.fails() {
                    return Some(retry());
                }
                Some(Answer::Page(self.seen().query(query)))
            }
            Ask::Scan(scan) => {
                if self.fails() {
                    return Some(retry());
                }
                let seen = self.seen();
                let mut found = seen.scan(scan.segment, scan.segments, scan.after.as_ref());
                let page: Vec<_> = found.by_ref().take(scan.limit).collect();
                let next = found.next().and(page.last()).map(|(key, _)| (*key).clone());
                Some(Answer::Scanned(Scanned { items: page.into_iter().map(|(_, item)| item.clone()).collect(), next }))
            }
            Ask::Transact(actions) if *done > 0 => {
                // Whoever has the answer sees all of it.
                actions.iter().for_each(|action| self.show(action.key()));
                Some(Answer::Transacted(Transacted::Done))
            }
            Ask::Transact(actions) => {
                // Half of the transactions that fail conflict with another request. The others lose their answer.
                let fails = self.fails();
                if fails && let Some(answer) = self.leave(*invocation, *asked, Ask::Transact(actions.clone())) {
                    return Some(answer);
                }
                if fails && self.rng.random_bool(0.5) {
                    return Some(Answer::Failed(self.refuse(*asked)));
                }
                let is_torn = self.history.is_torn && actions.len() > 1 && self.coin();
                let before = |action: &Action| (action.key().clone(), self.memory.get(action.key()).cloned());
                let before: Vec<_> = actions.iter().filter(|_| is_torn).map(before).collect();
                let transacted = self.transact(actions);
                if is_torn && transacted == Transacted::Done {
                    for (key, item) in before {
                        if self.coin() {
                            let since = self.history.now();
                            self.unseen.insert(key, Unseen { invocation: *invocation, since, item });
                        }
                    }
                    if !fails {
                        *done = 1;
                        return None;
                    }
                }
                Some(if fails { Answer::Failed(self.lose(*asked)) } else { Answer::Transacted(transacted) })
            }
            ask => {
                let fails = self.fails();
                if fails && let Some(answer) = self.leave(*invocation, *asked, ask.clone()) {
                    return Some(answer);
                }
                if fails && self.rng.random_bool(0.5) {
                    return Some(Answer::Failed(self.refuse(*asked)));
                }
                let held = self.conditional(ask);
                Some(match held {
                    Ok(_) if fails => Answer::Failed(self.lose(*asked)),
                    Ok(held) => Answer::Held(held),
                    Err(error) => Answer::Failed(error),
                })
            }
        }
    }

    pub(super) fn apply(&mut self, (write, item): &(Write, Option<Item>)) {
        self.show(write.key());
        self.memory.write(write.key(), item.clone());
    }

    pub(super) fn of_together(&mut self, action: &Action) -> Result<bool, TableError> {
        match action.clone() {
            Action::Update { key, update, condition } => self.conditional(&Ask::Update(key, update, condition)),
            Action::Delete { key, condition } => self.conditional(&Ask::Delete(key, condition)),
            Action::Put { .. } | Action::Check { .. } => unreachable!("no statement"),
        }
    }

    pub(super) fn conditional(&mut self, ask: &Ask) -> Result<bool, TableError> {
        let (key, condition) = match ask {
            Ask::Put(item, condition) => (default_key(item).unwrap(), condition),
            Ask::Delete(key, condition) | Ask::Update(key, _, condition) => (key.clone(), condition),
            Ask::Get(_) | Ask::Write(_) | Ask::Together(_) | Ask::Query(_) | Ask::Scan(_) | Ask::Transact(_) => {
                unreachable!("not conditional")
            }
        };
        self.show(&key);
        let old = self.memory.get(&key).cloned();
        if !condition.holds(old.as_ref()) {
            return Ok(false);
        }
        let new = match ask {
            Ask::Put(item, _) => Some(item.clone()),
            Ask::Update(key, update, _) => Some(update.of(old.unwrap_or_else(|| bare(key)))),
            _ => None,
        };
        if let Some(item) = &new {
            Memory::check(item, &key)?;
        }
        self.memory.write(&key, new);
        Ok(true)
    }

    pub(super) fn transact(&mut self, actions: &[Action]) -> Transacted {
        actions.iter().for_each(|action| self.show(action.key()));
        let holds = |action: &Action| action.condition().holds(self.memory.get(action.key()));
        let failed: Vec<usize> = (0..actions.len()).filter(|&position| !holds(&actions[position])).collect();
        if !failed.is_empty() {
            return Transacted::Failed(failed);
        }
        for action in actions {
            let outcome = action.outcome(self.memory.get(action.key()), bare(action.key()));
            self.memory.write(action.key(), outcome);
        }
        Transacted::Done
    }

    /// Carries out a part of a call, or all or none of it.
    pub(super) fn leave_half_done(&mut self, call: &Call) {
        match &call.ask {
            Ask::Write(writes) => {
                for write in &writes[call.done..] {
                    if self.rng.random_bool(0.5) {
                        self.apply(write);
                    }
                }
            }
            Ask::Together(actions) => {
                for action in &actions[call.done..] {
                    if self.rng.random_bool(0.5) {
                        _ = self.of_together(action);
                    }
                }
            }
            Ask::Get(_) | Ask::Query(_) | Ask::Scan(_) => {}
            Ask::Transact(actions) => {
                if call.done == 0 && self.rng.random_bool(0.5) {
                    self.transact(actions);
                }
            }
            ask => {
                if self.rng.random_bool(0.5) {
                    let _ = self.conditional(ask);
                }
            }
        }
    }
}

/// Returns an item that has only its key attributes.
fn bare(key: &ItemKey) -> Item {
    Item::from([("PK".to_owned(), text(&key.pk)), ("SK".to_owned(), text(&key.sk))])
}
