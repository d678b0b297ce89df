//! The reads of the HTTP API, and their cursors.
