//! `sapwood import` and `sapwood export`.

mod error;
mod export;
mod formats;
mod import;
mod lookup;
mod write;

pub(crate) use error::TransferError;
pub(crate) use export::{Arguments as ExportArguments, run as export};
pub(crate) use import::{Arguments as ImportArguments, run as import};
