//! Siblings in an order that the deployment doesn't keep. They are sorted as they are read: each page reads them all.

use std::cmp::Ordering;
use std::mem;

use super::page::{Listing, PageBuilder, entry_size};
use super::{Bounds, Descendant, ListOptions, Order, Page, ReadError, Reader};
use sapwood_core::keys::{Id, ItemKey, SiblingPlace};
use sapwood_core::model::{Item, Settings, SiblingOrder, key_of};
use sapwood_store::{RetryPolicy, Table};

/// The most siblings that are sorted: as many as a tree shows at once.
pub const SIBLINGS_MAX: usize = 5_000;

/// The attributes and the direction of a sorted list of siblings.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sorting {
    /// The attributes.
    pub by: SiblingOrder,
    /// The direction.
    pub order: Order,
}

impl Sorting {
    /// Sorts by these attributes: `name`, `kind,name:caseless`.
    ///
    /// # Errors
    /// [`ReadError::Parameter`] if these aren't 1 to 4 attributes of the user's own, or if rows don't carry them.
    pub fn new(by: &str, order: Order, settings: &Settings) -> Result<Self, ReadError> {
        let refuse = |reason| ReadError::Parameter { parameter: "order_by", reason };
        let by = SiblingOrder::read(by, &settings.schema).map_err(|_| {
            refuse("give 1 to 4 attributes of your own with commas between them, such as `kind,name:caseless`")
        })?;
        if !by.attributes().iter().all(|attribute| settings.is_copied(&attribute.name)) {
            return Err(refuse(
                "the rows of this deployment don't carry this attribute, so nothing can be sorted by it",
            ));
        }
        Ok(Self { by, order })
    }
}

type Rank = (SiblingPlace, Id);

/// The character that a position has between the place and the id. No place has a space.
const BETWEEN: char = ' ';

fn position((place, id): &Rank) -> String {
    format!("{place}{BETWEEN}{id}")
}

fn rank(position: &str) -> Result<Rank, ReadError> {
    let parts = position.split_once(BETWEEN);
    let rank = parts.and_then(|(place, id)| Some((SiblingPlace::parse(place)?, Id::new(id).ok()?)));
    rank.ok_or(ReadError::Position)
}

struct Sorted<R> {
    entries: Vec<(Rank, R, usize)>,
    order: Order,
    after: Option<Rank>,
    bounds: Bounds,
}

impl<R> Sorted<R> {
    fn compare(&self, one: &Rank, other: &Rank) -> Ordering {
        match self.order {
            Order::Ascending => one.cmp(other),
            Order::Descending => other.cmp(one),
        }
    }

    fn add(&mut self, rank: Rank, entry: R, bytes: usize) {
        if self.after.as_ref().is_none_or(|after| self.compare(&rank, after).is_gt()) {
            self.entries.push((rank, entry, bytes));
        }
    }

    /// Sorts the entries and drops those without room, but for the first: it shows that more follows.
    fn sort(&mut self) {
        let mut entries = mem::take(&mut self.entries);
        entries.sort_unstable_by(|(one, ..), (other, ..)| self.compare(one, other));
        let mut bytes = 0;
        let fits = entries.iter().take(self.bounds.items_max).take_while(|entry| {
            bytes += entry.2;
            bytes <= self.bounds.bytes_max
        });
        let fits = fits.count().max(1);
        entries.truncate(fits + 1);
        self.entries = entries;
    }

    fn page(self) -> Page<R> {
        let mut builder = PageBuilder::new(self.bounds);
        for (rank, entry, bytes) in self.entries {
            if !builder.add(entry, position(&rank), bytes) {
                return builder.followed();
            }
        }
        builder.last()
    }
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    pub(super) async fn sorted(
        &self,
        mut listing: Listing<'_>,
        sorting: &Sorting,
        options: &ListOptions,
        read: impl Fn(&ItemKey, &Item) -> Option<Descendant>,
    ) -> Result<Page<Descendant>, ReadError> {
        let schema = self.client.schema();
        listing.own.extend(sorting.by.attributes().iter().map(|attribute| attribute.name.as_str()));
        let after = options.after.as_deref().map(rank).transpose()?;
        let mut sorted = Sorted { entries: Vec::new(), order: sorting.order, after, bounds: options.bounds };
        let (mut after, mut rows) = (None, 0);
        for _ in 0..options.bounds.queries_max.max(1) {
            let page = self.client.query(&listing.query(after, SIBLINGS_MAX + 1 - rows, options, schema)).await?;
            rows += page.items.len();
            for item in page.items.iter().filter(|item| options.filter.holds(item)) {
                let Some(key) = key_of(item, schema) else { continue };
                let Some(entry) = read(&key, item) else { continue };
                let rank = (sorting.by.place(item, &entry.id), entry.id.clone());
                sorted.add(rank, entry, entry_size(&key, item));
            }
            sorted.sort();
            after = page.next;
            if rows > SIBLINGS_MAX || after.is_none() {
                break;
            }
        }
        match after {
            None if rows <= SIBLINGS_MAX => Ok(sorted.page()),
            _ => Err(ReadError::Parameter {
                parameter: "order_by",
                reason: "there are more than 5,000 siblings, or more than 20 MB of their rows; have the deployment keep this order (ORDER_ATTRIBUTE)",
            }),
        }
    }
}

#[cfg(test)]
#[allow(clippy::expect_used)]
mod tests {
    use super::*;

    fn sorted(order: Order, items_max: usize, bytes_max: usize) -> Sorted<usize> {
        let bounds = Bounds { items_max, bytes_max, queries_max: 1 };
        Sorted { entries: Vec::new(), order, after: None, bounds }
    }

    fn at(number: usize) -> Rank {
        rank(&format!("s{} n{}", number % 3, number % 7)).expect("a position")
    }

    /// The pages of a list whose rows come in any order, and in several pages of DynamoDB's.
    fn pages(order: Order, items_max: usize, bytes_max: usize, bytes: usize) -> Vec<Vec<usize>> {
        let (mut pages, mut after) = (Vec::new(), None);
        loop {
            let mut sorted = Sorted { after, ..sorted(order, items_max, bytes_max) };
            for number in [5, 20, 11, 2, 17, 8, 14, 0, 6, 3, 12, 9, 18, 15, 1, 4, 10, 7, 13, 16, 19] {
                sorted.add(at(number), number, bytes);
                if number % 4 == 0 {
                    sorted.sort();
                    assert!(sorted.entries.len() <= items_max.min(bytes_max / bytes).max(1) + 1);
                }
            }
            sorted.sort();
            let page = sorted.page();
            pages.push(page.items);
            match page.next {
                None => return pages,
                Some(next) => after = rank(&next).ok(),
            }
        }
    }

    #[test]
    fn pages_follow_each_other_in_both_orders() {
        let mut all: Vec<usize> = (0..21).collect();
        all.sort_by_key(|number| at(*number));
        let down: Vec<usize> = all.iter().rev().copied().collect();
        for (items_max, bytes_max, bytes, each) in
            [(100, 1_000, 1, 21), (5, 1_000, 1, 5), (100, 30, 10, 3), (5, 5, 10, 1)]
        {
            for (order, wanted) in [(Order::Ascending, &all), (Order::Descending, &down)] {
                let pages = pages(order, items_max, bytes_max, bytes);
                assert_eq!(pages.concat(), *wanted, "{items_max} {bytes_max}");
                assert!(pages.iter().rev().skip(1).all(|page| page.len() == each), "{pages:?}");
            }
        }
    }

    #[test]
    fn a_position_of_another_list_is_none() {
        for other in ["", "NODE#01#a", "n1", "x a", "n5 "] {
            assert!(rank(other).is_err(), "{other:?}");
        }
        let with_spaces = rank("s1 a b c").expect("a position");
        assert_eq!((position(&with_spaces).as_str(), with_spaces.1.as_str()), ("s1 a b c", "a b c"));
    }
}
