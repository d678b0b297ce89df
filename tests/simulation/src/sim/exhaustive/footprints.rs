//! Who touches what, in all schedules of a scope.

use std::sync::{Arc, Mutex};

use super::Scope;
use crate::sim::footprint::Footprint;

/// What each client touches, and after them the handler.
#[derive(Clone)]
pub(super) struct Footprints {
    /// As far as is known from earlier passes. None where anything is to be expected.
    expected: Option<Arc<Vec<Footprint>>>,
    /// In this pass.
    met: Arc<Mutex<Vec<Footprint>>>,
}

impl Footprints {
    /// None are known.
    pub(super) fn none(scope: &Scope) -> Self {
        Self::new(vec![Footprint::default(); scope.clients.len() + 1])
    }

    /// All that can happen is to be expected.
    pub(super) fn any(scope: &Scope) -> Self {
        Self { expected: None, ..Self::none(scope) }
    }

    /// True if all that can happen is to be expected.
    pub(super) fn is_any(&self) -> bool {
        self.expected.is_none()
    }

    /// Somebody touches this in this pass.
    pub(super) fn met(&self, who: usize, footprint: Footprint) {
        self.met.lock().unwrap()[who].add(footprint);
    }

    /// The same, apart: what is met from here on isn't met in this pass.
    pub(super) fn apart(&self) -> Self {
        let met = self.met.lock().unwrap().clone();
        Self { expected: self.expected.clone(), met: Arc::new(Mutex::new(met)) }
    }

    fn new(expected: Vec<Footprint>) -> Self {
        Self { met: Arc::new(Mutex::new(expected.clone())), expected: Some(Arc::new(expected)) }
    }

    /// Those of the next pass, if this one has met some that were not to be expected.
    pub(super) fn next(&self) -> Option<Self> {
        let met = self.met.lock().unwrap();
        let is_new = self.expected.as_ref().is_some_and(|expected| **expected != *met);
        is_new.then(|| Self::new(met.clone()))
    }

    /// True if somebody else may touch what a call touches, or its order counts.
    pub(super) fn meet(&self, footprint: &Footprint, mut others: impl Iterator<Item = usize>) -> bool {
        let Some(expected) = &self.expected else { return true };
        footprint.is_in_order() || others.any(|other| expected[other].meets(footprint))
    }
}
