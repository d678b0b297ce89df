//! The reads of the HTTP API, on rows that the real fan-out has written: what each answers, how it is paged, and how
//! many requests it takes.

mod support;

mod histories;
mod inherit;
mod links;
mod lists;
mod pages;
mod paths;
mod siblings;
mod status;
mod trees;
