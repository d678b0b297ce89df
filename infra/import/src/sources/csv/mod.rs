//! CSV: a node a row. The first row names the columns.

mod columns;
mod levels;
mod rows;

pub(super) use columns::Columns;
pub(super) use levels::Levels;
