//! The playground: the API's calls, the explorer's, the stream handler and a table in memory, for a page that calls
//! them. There is one process, the page's, so nothing runs by itself: with each turn the page gives the time and the
//! requests that it has, and gets what there is of answers.

mod blog;
mod race;
mod source;
mod stream;
mod table;
mod world;

// The comparison's code names its modules from the root of its crate.
use blog::{client, meter, pattern, patterns, workload};

use std::cell::RefCell;

pub use world::World;

thread_local! {
    /// What the page passes in, and what it gets.
    static PASSED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

/// Makes room for what the page passes in, and returns where it is.
#[allow(unsafe_code, reason = "the name under which a page finds it")]
#[unsafe(no_mangle)]
pub extern "C" fn room(bytes: usize) -> *mut u8 {
    PASSED.with_borrow_mut(|passed| {
        *passed = vec![0; bytes];
        passed.as_mut_ptr()
    })
}

/// Runs a turn at this time, in milliseconds since 1970, with what the page has passed in ([`World::turn`]). Returns
/// how many bytes the page gets.
#[allow(unsafe_code, reason = "the name under which a page finds it")]
#[unsafe(no_mangle)]
pub extern "C" fn turn(now_ms: f64) -> usize {
    #[cfg(target_family = "wasm")]
    sapwood_store::clock::advance(now_ms as u64);
    let _ = now_ms;
    let gets = WORLD.with_borrow_mut(|world| World::turn(world, &PASSED.take()));
    PASSED.replace(gets.into_bytes());
    PASSED.with_borrow(Vec::len)
}

/// Returns where what the page gets is.
#[allow(unsafe_code, reason = "the name under which a page finds it")]
#[unsafe(no_mangle)]
pub extern "C" fn result() -> *const u8 {
    PASSED.with_borrow(|passed| passed.as_ptr())
}
