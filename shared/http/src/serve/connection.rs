//! What a connection's bytes say that hyper doesn't hand on.
