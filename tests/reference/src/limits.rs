//! The limits, of the constants that hold them.

use sapwood_api::body::BODY_BYTES_MAX;
use sapwood_api::contract::OPERATIONS_MAX;
use sapwood_api::headers::WAIT_SECONDS_MAX;
use sapwood_core::keys::{DEPTH_MAX, ID_BYTES_MAX, Version};
use sapwood_core::plan::conditions::COMPARED_ATTRIBUTES_MAX;

use super::{row, thousands};

pub(crate) fn page() -> String {
    let mut page = String::from("| what | limit |\n|---|---|\n");
    let limits = [
        ("an id, a segment", format!("1 to {} bytes", thousands(ID_BYTES_MAX))),
        ("levels with rows", format!("{DEPTH_MAX}; a deeper node has the rows of its nearest {DEPTH_MAX} ancestors")),
        ("a version", format!("1 to {}", thousands(Version::MAX as usize))),
        ("attributes that one condition compares", format!("about {COMPARED_ATTRIBUTES_MAX}")),
        ("operations of a batch request", OPERATIONS_MAX.to_string()),
        ("the body of a request", format!("{} MiB", BODY_BYTES_MAX >> 20)),
        ("`Prefer: wait`", format!("{WAIT_SECONDS_MAX} s")),
    ];
    for (what, limit) in limits {
        page.push_str(&row(&[what.to_owned(), limit]));
    }
    page
}
