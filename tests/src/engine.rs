//! The engine of a running stack.

use std::net::SocketAddr;

use sapwood_local::engine::{Data, Engine as Embedded};

use crate::dynamodb_local::DynamoDbLocal;

/// An engine with an empty store of its own: the embedded one, or DynamoDB Local where `SAPWOOD_ENGINE=dynamodb-local`.
#[derive(Debug)]
pub enum Engine {
    /// The engine that `sapwood dev` runs on.
    Embedded(Embedded),
    /// Amazon's own.
    DynamoDbLocal(DynamoDbLocal),
}

impl Engine {
    /// Starts the engine that the environment asks for, in memory.
    #[must_use]
    pub fn start() -> Self {
        if std::env::var("SAPWOOD_ENGINE").is_ok_and(|engine| engine == "dynamodb-local") {
            Self::DynamoDbLocal(DynamoDbLocal::start())
        } else {
            Self::Embedded(Embedded::start("127.0.0.1:0".parse().unwrap(), &Data::Memory).unwrap())
        }
    }

    /// The address at which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        match self {
            Self::Embedded(engine) => engine.address,
            Self::DynamoDbLocal(local) => local.address(),
        }
    }

    /// The address as a URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Ends it.
    pub async fn stop(self) {
        match self {
            Self::Embedded(engine) => engine.stop().await.unwrap(),
            Self::DynamoDbLocal(local) => drop(local),
        }
    }
}
