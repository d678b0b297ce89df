//! What the two functions do that nobody calls: the [stream handler](stream), which a table's stream invokes, and the
//! [auditor](audit), which a schedule does. The functions in `functions/` and `sapwood dev` run them.

pub mod audit;
pub mod stream;
