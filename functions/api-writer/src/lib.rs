//! The HTTP function that writes base records.
