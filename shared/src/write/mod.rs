//! The writes of the HTTP API: base records only.
