//! What both HTTP functions share.
