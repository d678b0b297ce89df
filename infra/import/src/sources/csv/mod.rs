//! CSV: a node a row. The first row names the columns.

mod columns;
mod levels;
mod quotes;
mod rows;

pub(super) use columns::Columns;
pub(super) use levels::Levels;
pub use quotes::CELL_LINES_MAX;
pub use rows::is_guarded;
pub(super) use rows::is_tsv;
