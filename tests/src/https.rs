//! An HTTPS endpoint in front of an engine, with a certificate of an authority that nobody else knows.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::NamedTempFile;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// An endpoint that ends TLS and passes the bytes on. Dropping it stops it.
pub struct Https {
    port: u16,
    root: NamedTempFile,
    task: JoinHandle<()>,
}

impl Https {
    /// Starts an endpoint in front of the engine at this address.
    pub async fn start(engine: SocketAddr) -> Self {
        let (root, certificate, key) = authority();
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    // A client that doesn't trust the certificate closes the connection.
                    let Ok(mut client) = acceptor.accept(client).await else { return };
                    let mut engine = TcpStream::connect(engine).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut engine).await;
                });
            }
        });
        Self { port, root, task }
    }

    /// The URL of the endpoint.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://localhost:{}", self.port)
    }

    /// The file with the authority's certificate, which a client has to trust.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.root.path()
    }
}

impl Drop for Https {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Makes a new authority. Returns its root, and a certificate for `localhost` with its key.
fn authority() -> (NamedTempFile, CertificateDer<'static>, PrivateKeyDer<'static>) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = KeyPair::generate().unwrap();
    let mut root = NamedTempFile::new().unwrap();
    root.write_all(params.self_signed(&authority).unwrap().pem().as_bytes()).unwrap();
    let key = KeyPair::generate().unwrap();
    let issuer = Issuer::new(params, authority);
    let certificate = CertificateParams::new(["localhost".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    (root, certificate.der().clone(), PrivateKeyDer::Pkcs8(key.serialize_der().into()))
}
