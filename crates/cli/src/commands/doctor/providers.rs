//! Who provides models to the built-in agent: whether there is a key, and whether they answer; and the model it begins with.

use std::collections::BTreeMap;

use futures::future::join_all;
use rejoin_agent::{KeySource, ModelId, ProviderConfig, ask_for_models};

use super::check::Check;
use crate::settings::{Settings, keys};

/// What is known of a provider's models; nothing, if it does not answer.
type Models = Option<Vec<ModelId>>;

/// Asks all providers that the user has set up, or has named as that of the model.
pub(super) async fn check(settings: &Settings) -> Vec<Check> {
    let asked = settings.providers.iter().filter(|provider| is_wanted(provider, settings));
    let answers = join_all(asked.map(|provider| async {
        let (check, models) = ask(provider).await;
        (check, (provider.name.as_str(), models))
    }));
    let (mut checks, models): (Vec<Check>, BTreeMap<&str, Models>) = answers.await.into_iter().unzip();
    checks.extend(check_model(settings, &models));
    checks
}

fn is_wanted(provider: &ProviderConfig, settings: &Settings) -> bool {
    let key = format!("{}.{}", keys::PROVIDERS, provider.name);
    has_enough(provider)
        || settings.sources.contains_key(&key)
        || settings.model.as_ref().is_some_and(|model| model.provider == provider.name)
}

/// Whether enough is said for it to be asked.
fn has_enough(provider: &ProviderConfig) -> bool {
    provider.key != KeySource::None || provider.base_url.is_some()
}

async fn ask(provider: &ProviderConfig) -> (Check, Models) {
    let name = format!("provider {}", provider.name);
    if !has_enough(provider) {
        let hint = format!("set {}", provider.key_name);
        return (Check::bad(name, "there is no key", Some(hint)), None);
    }
    match ask_for_models(provider.clone()).await {
        Ok(models) => {
            let detail =
                format!("answers, and lists {}", crate::commands::count(models.len() as u64, "model", "models"));
            (Check::good(name, detail), Some(models))
        }
        Err(problem) => {
            let hint = format!("check {}, and where the provider is", provider.key_name);
            (Check::bad(name, format!("does not list its models: {problem}"), Some(hint)), None)
        }
    }
}

/// Looks at the model that sessions of the built-in agent begin with.
fn check_model(settings: &Settings, listed: &BTreeMap<&str, Models>) -> Option<Check> {
    const NAME: &str = "model";
    let Some(model) = &settings.model else {
        return Some(Check::good(NAME, "none is set: the built-in agent repeats what it hears"));
    };
    if model.provider == ModelId::offline().provider {
        return Some(Check::good(NAME, format!("{model} repeats what it hears")));
    }
    match listed.get(model.provider.as_str()) {
        Some(Some(models)) if models.contains(model) => Some(Check::good(NAME, model.to_string())),
        Some(Some(_)) => {
            let hint = "see those that it lists in your client, or set another as `model`";
            Some(Check::note(NAME, format!("{model} is not among those that its provider lists"), hint))
        }
        // Why is said of the provider.
        Some(None) => None,
        None => {
            let known: Vec<&str> = settings.providers.iter().map(|provider| provider.name.as_str()).collect();
            let hint = format!("name one of {}, or add a table [providers.{}]", known.join(", "), model.provider);
            Some(Check::bad(NAME, format!("there is no provider for {model}"), Some(hint)))
        }
    }
}
