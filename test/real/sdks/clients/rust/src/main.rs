//! A program that uses the default credential chain of the AWS SDK for Rust, as programs of users do. The arguments are
//! `whoami STS_ENDPOINT`, `retrieve N` or `assume ROLE_ARN SESSION_NAME`. Prints JSON, or the error of the SDK on
//! standard error with exit code 1.
use std::error::Error;
use std::sync::{Arc, Mutex};

use aws_config::{BehaviorVersion, ConfigLoader, Region};
use aws_sdk_sts::Client;
use aws_sdk_sts::config::{Credentials, IdentityCache, ResolveCachedIdentity, RuntimeComponents, SharedHttpClient, SharedIdentityCache};
use aws_sdk_sts::error::DisplayErrorContext;
use aws_sdk_sts::primitives::{DateTime, DateTimeFormat};
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn};
use aws_smithy_runtime_api::client::identity::{IdentityFuture, SharedIdentityResolver};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::config_bag::ConfigBag;
use serde_json::{Value, json};

type Answer = Result<Value, Box<dyn Error>>;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let answer = runtime.block_on(async {
        match args[..] {
            ["whoami", sts_endpoint] => whoami(sts_endpoint).await,
            ["retrieve", times] => retrieve(times.parse()?).await,
            ["assume", role_arn, session_name] => assume(role_arn, session_name).await,
            _ => Err("usage: whoami STS_ENDPOINT | retrieve N | assume ROLE_ARN SESSION_NAME".into()),
        }
    });
    match answer {
        Ok(answer) => print!("{answer}"),
        Err(error) => {
            eprintln!("{}", DisplayErrorContext(&*error));
            std::process::exit(1);
        }
    }
}

async fn whoami(sts_endpoint: &str) -> Answer {
    let cache = WatchedCache::default();
    let client = Client::new(&defaults().identity_cache(cache.clone()).endpoint_url(sts_endpoint).load().await);
    let identity = client.get_caller_identity().send().await?;
    let credentials = cache.last();
    Ok(json!({
        "account": identity.account(), "arn": identity.arn(),
        "accessKeyID": credentials.access_key_id(), "expires": credentials.expiry().is_some(),
    }))
}

/// Retrieves credentials by calling a fake STS, because the SDK caches credentials in its clients and reads the cache
/// once for each call.
async fn retrieve(times: usize) -> Answer {
    let cache = WatchedCache::default();
    let config = defaults().identity_cache(cache.clone()).load().await;
    let config = aws_sdk_sts::config::Builder::from(&config).http_client(http_client_fn(|_, _| SharedHttpConnector::new(SilentSTS))).build();
    let client = Client::from_conf(config);
    let mut retrieved = Vec::new();
    for _ in 0..times {
        client.get_caller_identity().send().await?;
        let credentials = cache.last();
        retrieved.push(json!({
            "accessKeyID": credentials.access_key_id(),
            "accountID": credentials.account_id().map(|id| id.as_str()),
            "expiration": credentials.expiry().map(|at| written(&at.into())),
        }));
    }
    Ok(retrieved.into())
}

async fn assume(role_arn: &str, session_name: &str) -> Answer {
    let client = Client::new(&defaults().load().await);
    let identity = client.get_caller_identity().send().await?;
    let session = client.assume_role().role_arn(role_arn).role_session_name(session_name).duration_seconds(900).send().await?;
    let credentials = session.credentials();
    Ok(json!({
        "identity": {"account": identity.account(), "arn": identity.arn()},
        "assumed": {
            "arn": session.assumed_role_user().map(|user| user.arn()),
            "accessKeyID": credentials.map(|it| it.access_key_id()),
            "expiration": credentials.map(|it| written(it.expiration())),
        },
    }))
}

/// Returns the default config of the SDK, with an HTTP client that has no TLS.
fn defaults() -> ConfigLoader {
    let http: SharedHttpClient = aws_smithy_http_client::Builder::new().build_http();
    aws_config::defaults(BehaviorVersion::latest()).region(Region::from_static("eu-west-1")).http_client(http)
}

fn written(at: &DateTime) -> Option<String> {
    DateTime::from_secs(at.secs()).fmt(DateTimeFormat::DateTime).ok()
}

/// The cache of the SDK, which also records the last credentials. Otherwise, the SDK shows no expiration to its users.
#[derive(Clone, Debug)]
struct WatchedCache {
    cache: SharedIdentityCache,
    last: Arc<Mutex<Option<Credentials>>>,
}

impl Default for WatchedCache {
    fn default() -> Self {
        Self { cache: IdentityCache::lazy().build(), last: Arc::default() }
    }
}

impl WatchedCache {
    fn last(&self) -> Credentials {
        self.last.lock().expect("one thread").clone().expect("a call was signed")
    }
}

impl ResolveCachedIdentity for WatchedCache {
    fn resolve_cached_identity<'a>(
        &'a self, resolver: SharedIdentityResolver, components: &'a RuntimeComponents, config: &'a ConfigBag,
    ) -> IdentityFuture<'a> {
        IdentityFuture::new(async move {
            let identity = self.cache.resolve_cached_identity(resolver, components, config).await?;
            *self.last.lock().expect("one thread") = identity.data::<Credentials>().cloned();
            Ok(identity)
        })
    }
}

#[derive(Debug)]
struct SilentSTS;

impl HttpConnector for SilentSTS {
    fn call(&self, _: HttpRequest) -> HttpConnectorFuture {
        let body = "<GetCallerIdentityResponse><GetCallerIdentityResult/></GetCallerIdentityResponse>";
        HttpConnectorFuture::ready(Ok(HttpResponse::new(200.try_into().expect("a status"), SdkBody::from(body))))
    }
}
