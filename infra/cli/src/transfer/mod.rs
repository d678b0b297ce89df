//! `sapwood import` and `sapwood export`.

mod export;
mod formats;
mod import;
mod lookup;
mod write;

pub(crate) use export::{Arguments as ExportArguments, run as export};
pub(crate) use import::{Arguments as ImportArguments, run as import};
pub(crate) use lookup::InTheTable;
