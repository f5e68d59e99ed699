//! What is known of models by their names: how much they take, whether they think, whether they have a temperature.
//!
//! A name that is not known gets what most models have. A provider that says more in its list is believed instead.

use super::ProviderKind;

/// The window of a model that nothing is known of, in tokens.
const USUAL_WINDOW: u64 = 128_000;

/// Windows by how a model's name begins; the first that fits.
const WINDOWS: [(&str, u64); 14] = [
    ("claude-2", 100_000),
    ("claude", 200_000),
    ("gpt-3.5", 16_385),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4", 8_192),
    ("gpt-5", 400_000),
    ("gpt-6", 400_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("gemini", 1_048_576),
    ("gemma", 128_000),
];

/// Models of chat completions that think, by how their names begin. They have no temperature either.
const THINKING_OPENAI: [&str; 6] = ["gpt-5", "gpt-6", "o1", "o3", "o4", "gpt-oss"];

/// Models of Anthropic that do not think, by how their names begin.
const THOUGHTLESS_CLAUDE: [&str; 3] = ["claude-2", "claude-instant", "claude-3-"];

/// Models of Gemini that think, by how their names begin.
const THINKING_GEMINI: [&str; 6] = ["gemini-2.5", "gemini-3", "gemini-4", "gemini-flash", "gemini-pro", "gemma-4"];

/// How many tokens the model `name` takes.
pub(crate) fn window(name: &str) -> u64 {
    let name = own_name(name);
    WINDOWS.iter().find(|(start, _)| name.starts_with(start)).map_or(USUAL_WINDOW, |(_, window)| *window)
}

/// Whether one can choose how much the model `name` thinks.
pub(crate) fn thinks(kind: ProviderKind, name: &str) -> bool {
    let name = own_name(name);
    let starts = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    match kind {
        ProviderKind::OpenAi => starts(&THINKING_OPENAI),
        ProviderKind::Anthropic => {
            name.starts_with("claude-3-7") || name.starts_with("claude") && !starts(&THOUGHTLESS_CLAUDE)
        }
        ProviderKind::Gemini => starts(&THINKING_GEMINI),
    }
}

/// Whether the model `name` may be told a temperature.
pub(crate) fn has_temperature(kind: ProviderKind, name: &str) -> bool {
    kind != ProviderKind::OpenAi || !THINKING_OPENAI[..5].iter().any(|start| own_name(name).starts_with(start))
}

/// Whether a model that a vendor lists under `name` can be talked with.
pub(crate) fn is_for_talk(name: &str) -> bool {
    const OTHERS: [&str; 14] = [
        "embedding",
        "whisper",
        "tts",
        "dall-e",
        "moderation",
        "image",
        "audio",
        "realtime",
        "transcribe",
        "sora",
        "davinci",
        "babbage",
        "imagen",
        "veo",
    ];
    !OTHERS.iter().any(|other| name.contains(other))
}

/// The name without whose model it is, as those who pass on models write it.
fn own_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_known_by_name_or_usual() {
        let names = ["claude-opus-4-5", "gpt-4o-mini", "gpt-4", "openai/gpt-5", "gemini-2.5-pro", "alpha"];
        let windows = names.map(window);
        assert_eq!(windows, [200_000, 128_000, 8_192, 400_000, 1_048_576, USUAL_WINDOW]);
    }

    #[test]
    fn some_models_think() {
        let check = |kind, name| (thinks(kind, name), has_temperature(kind, name));
        assert_eq!(check(ProviderKind::OpenAi, "gpt-5-mini"), (true, false));
        assert_eq!(check(ProviderKind::OpenAi, "gpt-oss-20b"), (true, true));
        assert_eq!(check(ProviderKind::OpenAi, "alpha"), (false, true));
        assert_eq!(check(ProviderKind::Anthropic, "claude-3-7-sonnet"), (true, true));
        assert_eq!(check(ProviderKind::Anthropic, "claude-3-haiku"), (false, true));
        assert_eq!(check(ProviderKind::Anthropic, "claude-sonnet-4-5"), (true, true));
        assert_eq!(check(ProviderKind::Gemini, "gemini-2.0-flash"), (false, true));
    }

    #[test]
    fn what_only_draws_or_listens_is_not_for_talk() {
        assert!(is_for_talk("gpt-5") && !is_for_talk("text-embedding-3-small") && !is_for_talk("gpt-4o-audio-preview"));
    }
}
