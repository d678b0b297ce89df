//! Which requests a local port accepts. A browser lets any page send requests to it, so foreign pages are told apart.
//!
//! - `Host` names this machine by an address and the port, or by a name that is allowed. A container's port may have
//!   any number outside. A page that has its own name lead to this machine (DNS rebinding) counts as of the same
//!   origin, but sends its own name.
//! - `Origin`, which browsers send with every request that another origin's page makes and that could change something,
//!   names this machine or an origin that is allowed. Other clients send none.
//! - `Sec-Fetch-Site` tells the requests that browsers send without an `Origin`, such as those for an image or a
//!   script: they come of this origin, or of the user. A link that leads here from another page is followed.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use thiserror::Error;

/// The headers in which browsers tell about the page ([Fetch Metadata](https://www.w3.org/TR/fetch-metadata/)).
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Says whom a port of this machine answers.
#[derive(Clone, Debug)]
pub struct Guard {
    address: SocketAddr,
    hosts: Vec<String>,
    origins: Vec<String>,
    is_mapped: bool,
}

/// Why a request isn't answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The request names another machine.
    #[error("the request's Host isn't this machine: use 127.0.0.1 and the port, or allow the name with --allow-host")]
    Host,
    /// A page of another origin sends the request.
    #[error("pages of this Origin may not use this port; the HTTP API takes those of --parameter CorsOrigins=…")]
    Origin,
}

impl Guard {
    /// Makes the guard of a port. `hosts` are further names of the port; `origins` are allowed pages, `*` for all.
    #[must_use]
    pub fn new(address: SocketAddr, hosts: Vec<String>, origins: Vec<String>) -> Self {
        Self { address, hosts, origins, is_mapped: false }
    }

    /// The same for a port with another number outside, as a container's: a request may name any port.
    #[must_use]
    pub fn mapped(self, is_mapped: bool) -> Self {
        Self { is_mapped, ..self }
    }

    /// Says whether a request of this method, with these headers, is answered.
    pub fn check(&self, method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok()).filter(|_| hosts.next().is_none());
        // A Host names no user: what comes before an `@` would hide the name.
        let host = host.filter(|host| !host.contains('@')).and_then(|host| host.parse::<Authority>().ok());
        let host = host.ok_or(Refusal::Host)?;
        if !self.is_this_machine(&host) {
            return Err(Refusal::Host);
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        let is_allowed = |origin: &str| {
            let is_named = self.origins.iter().any(|allowed| allowed == "*" || allowed == origin);
            let uri = origin.parse::<Uri>().ok().filter(|uri| uri.scheme_str() == Some("http"));
            is_named || uri.is_some_and(|uri| uri.authority() == Some(&host))
        };
        let has_origin = headers.contains_key(ORIGIN);
        match origins.all(|origin| origin.to_str().is_ok_and(is_allowed))
            && (has_origin || self.is_of_no_other_page(method, headers))
        {
            true => Ok(()),
            false => Err(Refusal::Origin),
        }
    }

    /// True if a request without an `Origin` isn't another page's.
    fn is_of_no_other_page(&self, method: &Method, headers: &HeaderMap) -> bool {
        let is = |name: HeaderName, value: &str| headers.get(name).map(HeaderValue::as_bytes) == Some(value.as_bytes());
        // A form of another page navigates, too, and changes something.
        let follows_link = || method.is_safe() && is(SEC_FETCH_MODE, "navigate") && is(SEC_FETCH_DEST, "document");
        let sites = headers.get_all(SEC_FETCH_SITE).iter();
        sites.map(HeaderValue::as_bytes).all(|site| site == b"same-origin" || site == b"none")
            || follows_link()
            || self.origins.iter().any(|allowed| allowed == "*")
    }

    fn is_this_machine(&self, host: &Authority) -> bool {
        let name = host.host();
        if self.hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(name)) {
            return true;
        }
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        // An address can't be made to lead elsewhere, as a name can.
        let is_ours = address.is_ok_and(|address| address.is_loopback() || !self.address.ip().is_loopback());
        let is_port = self.is_mapped || host.port_u16().unwrap_or(80) == self.address.port();
        (is_ours || name.eq_ignore_ascii_case("localhost")) && is_port
    }
}
