//! HTTPS to the table's endpoint, ready soon after a function starts.
//!
//! A system has some 140 root certificates. Reading them takes three times as long as the rest of a start
//! (docs/internals/performance.md). The endpoints of AWS are under Amazon's own five roots
//! ([AWS](https://www.amazontrust.com/repository/)), which the client tries first. For other certificates it reads the
//! system's roots and tries again, so it trusts all that the system trusts.
//!
//! It is a crate of its own, because TLS takes a sixth of the time in which `cargo run -- dev` compiles, and the local
//! stack has no use for it.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::shared::IntoShared;

const AMAZONS_ROOTS: &[u8] = include_bytes!("amazon-roots.pem");

/// Returns an HTTPS client that trusts Amazon's roots and the system's.
#[must_use]
pub fn https_client() -> SharedHttpClient {
    let https = || Builder::new().tls_provider(Provider::Rustls(CryptoMode::AwsLc));
    let system = https().build_https();
    let roots = TrustStore::empty().with_pem_certificate(AMAZONS_ROOTS);
    match TlsContext::builder().with_trust_store(roots).build() {
        Ok(context) => {
            let amazon = https().tls_context(context).build_https();
            Https { amazon, system, by_system: Arc::default() }.into_shared()
        }
        // The certificates are compiled in, so this doesn't happen. If it does, a slow start is better than none.
        Err(_) => system,
    }
}

#[derive(Debug)]
struct Https {
    amazon: SharedHttpClient,
    system: SharedHttpClient,
    /// True once the system's roots were needed. From then on they are used at once.
    by_system: Arc<AtomicBool>,
}

impl HttpClient for Https {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        if self.by_system.load(Ordering::Relaxed) {
            return self.system.http_connector(settings, components);
        }
        let connector = Connector {
            amazon: self.amazon.http_connector(settings, components),
            system: self.system.clone(),
            by_system: Arc::clone(&self.by_system),
            settings: settings.clone(),
            components: components.clone(),
        };
        SharedHttpConnector::new(connector)
    }
}

#[derive(Debug)]
struct Connector {
    amazon: SharedHttpConnector,
    // A connector reads the system's roots when it is made, so it is made only when it is needed.
    system: SharedHttpClient,
    by_system: Arc<AtomicBool>,
    settings: HttpConnectorSettings,
    components: RuntimeComponents,
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let Some(again) = request.try_clone() else { return self.amazon.call(request) };
        let first = self.amazon.call(request);
        let (system, by_system) = (self.system.clone(), Arc::clone(&self.by_system));
        let (settings, components) = (self.settings.clone(), self.components.clone());
        HttpConnectorFuture::new(async move {
            match first.await {
                // We refused the connection, so nothing of the request has been sent.
                Err(error) if is_about_the_certificate(&error) => {
                    by_system.store(true, Ordering::Relaxed);
                    system.http_connector(&settings, &components).call(again).await
                }
                outcome => outcome,
            }
        })
    }
}

fn is_about_the_certificate(error: &(dyn Error + 'static)) -> bool {
    if matches!(error.downcast_ref(), Some(rustls::Error::InvalidCertificate(_))) {
        return true;
    }
    // An `io::Error` made of another error names that error's source as its own, and skips the error itself.
    let within = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    let within = within.map(|within| within as &(dyn Error + 'static)).or_else(|| error.source());
    within.is_some_and(is_about_the_certificate)
}
