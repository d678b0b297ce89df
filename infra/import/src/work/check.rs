//! The checks over all records, a step at a time.

use rusqlite::{Connection, params};

use super::stage::{self, Stage};
use super::tables::Level;
use super::{Lookup, Work, WorkError, cycles, faults, links};
use crate::cost::{Above, NodeSizes, Sizes, units};
use crate::fault::quoted;
use crate::{Fault, FaultKind};

impl Work {
    /// Runs the next step of the checks, which takes minutes for ten million records. Returns false once all are done:
    /// then [`Work::faults`] has every fault. It fails with [`WorkError::NotChecked`] before all is taken in.
    pub fn check_some(&mut self, lookup: &mut dyn Lookup) -> Result<bool, WorkError> {
        let stage = self.stage()?;
        let (settings, merges_equal, as_is) = (self.settings.clone(), self.merges_equal, self.as_is);
        let transaction = self.connection.transaction()?;
        match stage {
            Stage::Loading => return Err(WorkError::NotChecked),
            Stage::Sorting => sort(&transaction)?,
            Stage::Duplicates => duplicates(&transaction, merges_equal)?,
            Stage::Parents => {
                let orphans = if as_is { links::Orphans::Nodes } else { links::Orphans::Faults };
                links::parents(&transaction, &settings.schema, lookup, orphans)?;
            }
            Stage::Linking => links::link(&transaction)?,
            Stage::Placing => links::place(&transaction)?,
            Stage::Cycles if as_is => _ = links::place_the_others(&transaction)?,
            Stage::Cycles => {
                cycles::find(&transaction)?;
                cycles::too_deep(&transaction)?;
            }
            Stage::Counting => {
                let sizes = Sizes::of(&settings).map_err(|error| WorkError::Damaged { reason: error.to_string() })?;
                count(&transaction, &sizes)?;
                transaction.execute_batch("DROP INDEX by_key")?;
            }
            Stage::Checked => return Ok(false),
        }
        let next = Stage::ALL[stage as usize + 1];
        stage::enter(&transaction, next)?;
        transaction.commit()?;
        Ok(next != Stage::Checked)
    }
}

/// Adds the nodes that paths imply and that have no record, and sorts all records by their keys.
fn sort(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("CREATE INDEX by_key ON record (pk, sk)")?;
    connection.execute_batch(
        "CREATE TEMP TABLE added AS
            SELECT number + (SELECT coalesce(max(seq), 0) FROM record) AS seq, number FROM implied
            WHERE NOT EXISTS (SELECT 1 FROM record WHERE record.pk = implied.pk AND sk = '');
         INSERT INTO body (seq, line) SELECT seq, body FROM added JOIN implied USING (number);
         INSERT INTO record
            SELECT seq, pk, '', parent, file, line, base, copied, tenant, id, above, segment, escaped, path_end, other_units
            FROM added JOIN implied USING (number);
         DROP TABLE added;
         DELETE FROM implied;",
    )
}

/// Finds records with the same key. The first of them stays. Equal ones are one where the format says so.
fn duplicates(connection: &Connection, merges_equal: bool) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TEMP TABLE later (seq INTEGER PRIMARY KEY, first INTEGER NOT NULL);
         INSERT INTO later SELECT r.seq, d.first
            FROM (SELECT pk, sk, min(seq) AS first FROM record GROUP BY pk, sk HAVING count(*) > 1) d
            JOIN record r ON r.pk = d.pk AND r.sk = d.sk AND r.seq > d.first;",
    )?;
    let mut pairs = connection.prepare(
        "SELECT r.file, r.line, r.pk, r.sk, f.line, f.file = r.file, name, a.line = b.line
         FROM later JOIN record r USING (seq) JOIN record f ON f.seq = first
         JOIN body a ON a.seq = r.seq JOIN body b ON b.seq = first JOIN file ON number = f.file ORDER BY r.seq",
    )?;
    let mut rows = pairs.query([])?;
    while let Some(row) = rows.next()? {
        let (pk, sk, first): (String, String, i64) = (row.get(2)?, row.get(3)?, row.get(4)?);
        if merges_equal && row.get(7)? {
            continue;
        }
        let file = if row.get(5)? { String::new() } else { format!(" of {}", row.get::<_, String>(6)?) };
        let what = if sk.is_empty() { quoted(&pk) } else { format!("the revision {} of {}", quoted(&sk), quoted(&pk)) };
        let message = format!("{what} is on line {first}{file} already; leave one of them out");
        faults::add(connection, faults::location(row)?, &Fault { kind: FaultKind::Duplicate, message })?;
    }
    drop(rows);
    drop(pairs);
    connection.execute_batch("DELETE FROM record WHERE seq IN (SELECT seq FROM later); DROP TABLE later")
}

/// Counts what each level has and costs, and has its records wait.
pub(crate) fn count(connection: &Connection, sizes: &Sizes) -> rusqlite::Result<()> {
    let mut nodes = connection.prepare(
        "SELECT place.depth, r.base, r.copied, r.tenant, r.id, r.above, r.segment, r.path_end, r.other_units,
                ids, longest_id, farthest_id, segments, path
         FROM place CROSS JOIN record r USING (seq) WHERE seq > 0 ORDER BY place.depth, place.seq",
    )?;
    let mut rows = nodes.query([])?;
    let mut level = LevelCounts::default();
    while let Some(row) = rows.next()? {
        let size = |column: usize| row.get::<_, i64>(column).map(|bytes| usize::try_from(bytes).unwrap_or_default());
        let depth = size(0)?;
        if depth != level.depth {
            level.insert(connection, Level::Nodes(level.depth))?;
            level = LevelCounts { depth, ..LevelCounts::default() };
        }
        let node = NodeSizes {
            base: size(1)?,
            copied: size(2)?,
            tenant: size(3)?,
            id: size(4)?,
            parent: size(5)?,
            segment: size(6)?,
            path_end: size(7)?,
            other_units: size(8)?,
        };
        let above = Above {
            depth,
            ids: size(9)?,
            longest_id: size(10)?,
            farthest_id: size(11)?,
            segments: size(12)?,
            path: size(13)?,
        };
        level.add(node.base, sizes.node_units(&node, &above));
    }
    level.insert(connection, Level::Nodes(level.depth))?;
    let mut revisions = connection.prepare("SELECT base, copied FROM record WHERE sk <> ''")?;
    let mut rows = revisions.query([])?;
    let mut level = LevelCounts::default();
    while let Some(row) = rows.next()? {
        let (base, copied): (i64, i64) = (row.get(0)?, row.get(1)?);
        let [base, copied] = [base, copied].map(|bytes| usize::try_from(bytes).unwrap_or_default());
        level.add(base, units(base) + units(copied));
    }
    level.insert(connection, Level::Revisions)?;
    connection.execute("INSERT INTO waiting SELECT depth, seq FROM place WHERE seq > 0 ORDER BY depth, seq", [])?;
    let revisions = "INSERT INTO waiting SELECT ?, seq FROM record WHERE sk <> '' ORDER BY seq";
    connection.execute(revisions, [Level::Revisions.number()])?;
    connection.execute_batch("DROP TABLE edge; DROP TABLE place; DROP TABLE orphan")
}

#[derive(Default)]
struct LevelCounts {
    depth: usize,
    records: u64,
    bytes: u64,
    units: u64,
}

impl LevelCounts {
    fn add(&mut self, bytes: usize, units: u64) {
        self.records += 1;
        self.bytes += bytes as u64;
        self.units += units;
    }

    fn insert(&self, connection: &Connection, level: Level) -> rusqlite::Result<()> {
        if self.records == 0 {
            return Ok(());
        }
        let insert = "INSERT INTO level (level, records, bytes, units, written, refused) VALUES (?, ?, ?, ?, 0, 0)";
        let counts = [self.records, self.bytes, self.units].map(|count| count as i64);
        connection.execute(insert, params![level.number(), counts[0], counts[1], counts[2]]).map(drop)
    }
}
