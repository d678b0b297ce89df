//! The patterns, a file each.

pub mod adjacency;
pub mod composite;
pub mod path;
pub mod replication;
pub mod sapwood;
pub(crate) mod versions;

pub use adjacency::Adjacency;
pub use composite::Composite;
pub use path::Path;
pub use replication::Replication;
pub use sapwood::Sapwood;
