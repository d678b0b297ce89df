//! An invocation that is under way, and its copies.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::sim::calls::{Answer, Calls, Shared};

pub(super) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// An invocation that is under way, and comes to this.
pub(super) struct UnderWay<T> {
    /// What there was when it began.
    begun: Arc<Calls>,
    /// What it was answered: the number of the call, the answer, and the number of the next call at that time.
    pub(super) answers: Vec<(u64, Answer, u64)>,
    future: Boxed<T>,
}

impl<T> UnderWay<T> {
    /// It begins now.
    pub(super) fn new(calls: &Shared, future: Boxed<T>) -> Self {
        Self { begun: Arc::new(calls.lock().unwrap().clone()), answers: Vec::new(), future }
    }

    pub(super) fn poll(&mut self) -> Poll<T> {
        self.future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    }

    /// Begins it again, and brings it to where it is. What there is then is of no use.
    pub(super) fn copy(&self, calls: &Shared, begin: impl FnOnce() -> Boxed<T>) -> Self {
        (*self.begun).clone_into(&mut calls.lock().unwrap());
        let mut copy = Self { begun: Arc::clone(&self.begun), answers: self.answers.clone(), future: begin() };
        let mut is_over = copy.poll().is_ready();
        for (id, answer, next) in &self.answers {
            calls.lock().unwrap().answer_again(*id, answer.clone(), *next);
            is_over |= copy.poll().is_ready();
        }
        assert!(!is_over, "it does the same again");
        copy
    }
}
