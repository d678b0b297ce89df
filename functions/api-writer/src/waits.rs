//! What a process knows of waiting for the fan-out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sapwood_core::keys::Tenant;

/// After a wait in vain no request of the same tenant waits for this many seconds: the fan-out is behind, and an
/// invocation that waits takes a place that the stream handler may need. Other tenants wait: one node that can't be
/// placed would hold up all of them.
const IN_VAIN_SECONDS: u64 = 10;

/// What a process knows of waiting for the fan-out. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// The time, in seconds since 1970, before which no request of a tenant waits. Times that have passed go as others
    /// come.
    in_vain_until: Arc<Mutex<HashMap<Option<Tenant>, u64>>>,
}

impl Waits {
    /// True if the tenant's last wait was in vain, a moment before this time.
    pub(crate) fn are_in_vain(&self, tenant: Option<&Tenant>, now: u64) -> bool {
        let until = self.in_vain_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.get(&tenant.cloned()).is_some_and(|until| now < *until)
    }

    pub(crate) fn ended_in_vain(&self, tenant: Option<&Tenant>, now: u64) {
        let mut until = self.in_vain_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.retain(|_, until| now < *until);
        until.insert(tenant.cloned(), now + IN_VAIN_SECONDS);
    }
}
