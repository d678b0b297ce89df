//! How many rows a list reads at a time, if it leaves out many of them.
//!
//! A Query that begins at a node reads it, and then the rows below it. Where it ends among rows that the list leaves
//! out, the next Query begins after them. A short Query wastes little and jumps often; a long one reads through. So a
//! list begins with a short one, and reads more at a time for as long as it shows enough of what it reads.

const ROWS_MIN: usize = 32;

const ROWS_MAX: usize = 1_000;

/// By how much the rows grow from one Query to the next.
const GROWTH: usize = 4;

/// A list that shows one row in this many reads on: a jump costs a round trip and the read units of some rows.
const SHARE: usize = 32;

/// The same by the read units for an entry: twice what a jump takes.
const ENTRY_UNITS: f64 = 1.0;

/// So many Query requests that jump take the place of one that doesn't, if they read no more together.
const JUMPS: usize = 10;

/// The read units of a page of 1 MB, where reads aren't strong.
const PAGE_UNITS: f64 = 128.0;

/// The read units that a Query takes at least, where reads aren't strong.
const UNITS_MIN: f64 = 0.5;

#[derive(Debug)]
pub(super) struct PageSize {
    rows: usize,
    /// True once jumping has shown to be better than reading on.
    jumps: bool,
    /// The rows that were read, and how many of them were shown.
    read: usize,
    shown: usize,
    queries_left: usize,
    units_left: f64,
}

impl PageSize {
    /// The page size of a list that may read `pages_max` pages of DynamoDB's.
    pub(super) fn new(pages_max: usize) -> Self {
        Self {
            rows: ROWS_MIN,
            jumps: false,
            read: 0,
            shown: 0,
            queries_left: pages_max.saturating_mul(JUMPS),
            units_left: pages_max as f64 * PAGE_UNITS,
        }
    }

    pub(super) fn rows(&self, missing: usize) -> usize {
        let rows_an_entry = self.read.div_ceil(self.shown.max(1)).max(1);
        self.rows.min(missing.saturating_mul(rows_an_entry))
    }

    /// Takes a Query's rows, those shown, and its eventual read units. Returns true if the list may read on.
    pub(super) fn took(&mut self, read: usize, shown: usize, units: f64) -> bool {
        self.read += read;
        self.shown += shown;
        let is_dense = shown * 4 >= read * 3;
        // After a jump a node is read, and then what is below it: that tells nothing.
        let is_worth_it = !self.jumps && shown * SHARE >= read && units <= shown as f64 * ENTRY_UNITS;
        if is_dense || is_worth_it {
            self.rows = self.rows.saturating_mul(GROWTH).min(ROWS_MAX);
        } else {
            self.jumps = true;
            self.rows = rows_for_least(read, units);
        }
        self.queries_left = self.queries_left.saturating_sub(1);
        self.units_left -= units;
        self.queries_left > 0 && self.units_left > 0.0
    }
}

/// The rows of this size in the least units of a Query; at least two: the next node's own row and one below it.
fn rows_for_least(read: usize, units: f64) -> usize {
    let rows = read as f64 * UNITS_MIN / units.max(UNITS_MIN);
    (rows as usize).clamp(2, ROWS_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cost of a list: its queries, the rows that were read, their units, and how many of them were shown.
    #[derive(Clone, Copy, Debug, Default)]
    struct Took {
        queries: usize,
        rows: usize,
        units: f64,
        shown: usize,
    }

    /// Reads `entries` entries of a list of nodes, with `below` rows of `bytes` each below a node, which the list
    /// leaves out.
    fn read(nodes: usize, below: usize, bytes: usize, entries: usize) -> Took {
        let (mut pace, mut at, mut took) = (PageSize::new(20), 0, Took::default());
        let (family, end) = (below + 1, nodes * (below + 1));
        while took.shown < entries && at < end {
            // A page of DynamoDB's ends with the item that passes 1 MB.
            let rows = pace.rows(entries - took.shown).min(end - at).min(1_048_576 / bytes + 1);
            let shown = (at..at + rows).filter(|row| row % family == 0).count();
            let units = ((rows * bytes) as f64 / 4_096.0).ceil() / 2.0;
            at += rows;
            // The last row is below a node: what is left there is jumped over.
            if at % family > 1 {
                at = at.next_multiple_of(family);
            }
            let Took { queries, rows: before, units: units_before, shown: shown_before } = took;
            took = Took {
                queries: queries + 1,
                rows: before + rows,
                units: units_before + units,
                shown: shown_before + shown,
            };
            if !pace.took(rows, shown, units) {
                break;
            }
        }
        took
    }

    #[test]
    fn where_all_rows_are_shown_no_other_is_read() {
        for (entries, queries) in [(1, 1), (32, 1), (101, 2), (1_001, 4)] {
            let took = read(20_000, 0, 250, entries);
            assert_eq!((took.shown, took.rows, took.queries), (entries, entries, queries));
        }
    }

    #[test]
    fn where_little_is_below_each_node_it_is_read_through() {
        let took = read(20_000, 9, 250, 101);
        assert!(took.shown >= 101 && took.queries <= 6, "{took:?}");
        assert!(took.rows <= 101 * 10 + 200, "{took:?}");
    }

    #[test]
    fn where_much_is_below_each_node_a_query_takes_little_more_than_the_least() {
        for below in [97, 1_000, 100_000] {
            let took = read(20_000, below, 250, 101);
            assert!(took.shown == 101 && took.queries <= 102, "{took:?}");
            assert!(took.units <= 101.0 * UNITS_MIN + 10.0, "{took:?}");
        }
    }

    #[test]
    fn of_large_rows_two_are_read_for_a_node() {
        for bytes in [4_096, 40_000] {
            let took = read(20_000, 1_000, bytes, 20);
            assert_eq!(took.shown, 20);
            assert!(took.rows <= 32 + 20 * 2, "{took:?}");
        }
    }

    #[test]
    fn a_list_ends_after_as_many_units_as_its_pages_have_or_ten_queries_for_each() {
        let large = read(20_000, 1_000, 400_000, 1_000);
        assert!((20.0 * PAGE_UNITS..22.0 * PAGE_UNITS).contains(&large.units), "{large:?}");
        let small = read(20_000, 1_000, 250, 1_000);
        assert_eq!((small.queries, small.shown < 1_000), (200, true), "{small:?}");
    }
}
