//! Finds nodes that are below themselves, and nodes that are too deep.

use rusqlite::{Connection, OptionalExtension};
use sapwood_core::keys::DEPTH_MAX;

use super::faults::{self, FAULTS_KEPT_MAX};
use crate::fault::quoted;
use crate::{Fault, FaultKind};

/// The nodes of a cycle that a message names.
const NAMED_MAX: usize = 5;

/// Finds the cycles among the nodes that no root leads to. Each of these nodes is on a cycle, or below one.
pub(super) fn find(connection: &Connection) -> rusqlite::Result<()> {
    let counts = "SELECT (SELECT count(*) FROM record WHERE sk = '') = (SELECT count(*) FROM place)";
    if connection.query_row(counts, [], |row| row.get(0))? {
        return Ok(());
    }
    connection.execute_batch(
        "CREATE TEMP TABLE unplaced (seq INTEGER PRIMARY KEY);
         INSERT INTO unplaced SELECT seq FROM record WHERE sk = '' EXCEPT SELECT seq FROM place;
         CREATE TEMP TABLE reached (seq INTEGER PRIMARY KEY);
         CREATE TEMP TABLE next (seq INTEGER PRIMARY KEY);",
    )?;
    let mut first = connection.prepare("SELECT min(seq) FROM unplaced")?;
    for found in 0.. {
        let Some(seq) = first.query_row([], |row| row.get::<_, Option<i64>>(0))? else { break };
        if found == FAULTS_KEPT_MAX {
            // Each of the nodes that are left has the same fault: no root leads to it.
            let left: i64 = connection.query_row("SELECT count(*) FROM unplaced", [], |row| row.get(0))?;
            faults::count(connection, FaultKind::Cycle, left.unsigned_abs())?;
            break;
        }
        let on_cycle = node_on_cycle(connection, seq)?;
        report(connection, on_cycle)?;
        forget_below(connection, on_cycle)?;
    }
    connection.execute_batch("DROP TABLE unplaced; DROP TABLE reached; DROP TABLE next")
}

/// Returns a node of the cycle above a node, with two walkers and no memory (Floyd's algorithm).
fn node_on_cycle(connection: &Connection, start: i64) -> rusqlite::Result<i64> {
    let (mut slow, mut fast) = (start, start);
    loop {
        slow = parent(connection, slow)?;
        fast = parent(connection, parent(connection, fast)?)?;
        if slow == fast {
            return Ok(slow);
        }
    }
}

/// Returns the parent of a node. A node without one stays where it is.
fn parent(connection: &Connection, seq: i64) -> rusqlite::Result<i64> {
    let mut parent = connection.prepare_cached(
        "SELECT p.seq FROM record c JOIN record p INDEXED BY by_key ON p.pk = c.parent AND p.sk = '' WHERE c.seq = ?",
    )?;
    Ok(parent.query_row([seq], |row| row.get(0)).optional()?.unwrap_or(seq))
}

/// Reports a cycle at its node that comes first in the source.
fn report(connection: &Connection, on_cycle: i64) -> rusqlite::Result<()> {
    let (mut first, mut length, mut seq) = (None, 0_u64, on_cycle);
    loop {
        // A node that is only in the table has no line.
        first = first.into_iter().chain((seq > 0).then_some(seq)).min();
        length += 1;
        seq = parent(connection, seq)?;
        if seq == on_cycle {
            break;
        }
    }
    let Some(first) = first else { return Ok(()) };
    let mut names = Vec::new();
    let mut seq = first;
    while names.len() < NAMED_MAX.min(usize::try_from(length).unwrap_or(NAMED_MAX)) {
        let pk: String = connection.query_row("SELECT pk FROM record WHERE seq = ?", [seq], |row| row.get(0))?;
        names.push(quoted(&pk));
        seq = parent(connection, seq)?;
    }
    let above = names.iter().skip(1).cloned().chain((length > NAMED_MAX as u64).then(|| "…".to_owned()));
    let way: Vec<String> = above.chain([names[0].clone()]).collect();
    let message = format!(
        "{} is below itself: its parents are {} ({length} nodes); give one of them another parent, or none",
        names[0],
        way.join(", ")
    );
    let at = connection.query_row("SELECT file, line FROM record WHERE seq = ?", [first], faults::location)?;
    faults::add(connection, at, &Fault { kind: FaultKind::Cycle, message })
}

/// Takes the nodes of a cycle, and all that are below them, out of those that are looked at.
fn forget_below(connection: &Connection, on_cycle: i64) -> rusqlite::Result<()> {
    connection.execute("INSERT INTO reached VALUES (?)", [on_cycle])?;
    loop {
        let taken =
            connection.prepare_cached("DELETE FROM unplaced WHERE seq IN (SELECT seq FROM reached)")?.execute([])?;
        if taken == 0 {
            break;
        }
        connection
            .prepare_cached(
                "INSERT INTO next SELECT child FROM reached
                 CROSS JOIN edge ON parent = reached.seq CROSS JOIN unplaced ON unplaced.seq = child",
            )?
            .execute([])?;
        connection.prepare_cached("DELETE FROM reached")?.execute([])?;
        connection.prepare_cached("INSERT INTO reached SELECT seq FROM next")?.execute([])?;
        connection.prepare_cached("DELETE FROM next")?.execute([])?;
    }
    connection.execute("DELETE FROM reached", []).map(drop)
}

/// Reports the nodes with more ancestors than a tree may have levels.
pub(super) fn too_deep(connection: &Connection) -> rusqlite::Result<()> {
    let mut deep = connection.prepare(
        "SELECT file, line, pk, depth FROM place JOIN record USING (seq) WHERE depth > ? AND seq > 0 ORDER BY depth, seq",
    )?;
    let mut rows = deep.query([DEPTH_MAX as i64])?;
    while let Some(row) = rows.next()? {
        let (pk, depth): (String, i64) = (row.get(2)?, row.get(3)?);
        let message = format!("{} has {depth} ancestors, over the limit of {DEPTH_MAX}; move it up", quoted(&pk));
        faults::add(connection, faults::location(row)?, &Fault { kind: FaultKind::TooDeep, message })?;
    }
    Ok(())
}
