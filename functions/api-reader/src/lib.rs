//! The HTTP function that reads: nodes, trees, paths, histories.
