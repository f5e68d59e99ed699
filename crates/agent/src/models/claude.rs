//! What is known of Claude's models by their names.
//!
//! Names are `claude-FAMILY-MAJOR-MINOR-DATE`, and `claude-MAJOR-MINOR-FAMILY-DATE` before version 4. Gateways put more in
//! front. A model that is not known is treated like those of version 4.

/// The most tokens that the model `name` may answer with. A request must say it.
pub(super) fn max_output_tokens(name: &str) -> u32 {
    let Model { family, version } = Model::of(name);
    match (family, version) {
        ("opus", Some((4, 0..=4))) => 32_000,
        ("opus", Some(version)) if version >= (4, 8) => 128_000,
        ("haiku", Some(version)) if version >= (5, 0) => 128_000,
        ("fable" | "mythos", _) => 128_000,
        (_, Some((3, 5))) => 8_192,
        ("opus" | "haiku", Some((3, _))) => 4_096,
        _ => 64_000,
    }
}

/// Whether the model `name` can be told an effort. Others have a budget of tokens to think with.
pub(super) fn has_effort(name: &str) -> bool {
    Model::of(name).is_opus_since((4, 5)) || thinks_adaptively(name)
}

/// Whether the model `name` decides by itself how long it thinks.
pub(super) fn thinks_adaptively(name: &str) -> bool {
    let model = Model::of(name);
    let since = |first| model.version.is_some_and(|version| version >= first);
    match model.family {
        "opus" | "sonnet" => since((4, 6)),
        "haiku" => since((5, 0)),
        "fable" | "mythos" => true,
        _ => false,
    }
}

struct Model<'a> {
    family: &'a str,
    version: Option<(u32, u32)>,
}

impl<'a> Model<'a> {
    fn of(name: &'a str) -> Self {
        const FAMILIES: [&str; 5] = ["opus", "sonnet", "haiku", "fable", "mythos"];
        let words = || name.find("claude-").map(|at| &name[at..]).into_iter().flat_map(|name| name.split('-').skip(1));
        let family = words().find(|word| FAMILIES.contains(word)).unwrap_or_default();
        // Dates are longer.
        let mut numbers = words()
            .skip_while(|word| FAMILIES.contains(word))
            .map_while(|word| word.parse().ok().filter(|_| word.len() <= 2));
        let version = numbers.next().map(|major| (major, numbers.next().unwrap_or_default()));
        Self { family, version }
    }

    fn is_opus_since(&self, first: (u32, u32)) -> bool {
        self.family == "opus" && self.version.is_some_and(|version| version >= first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_is_asked_in_its_way() {
        let expected = [
            ("claude-3-opus-20240229", 4_096, false, false),
            ("claude-3-haiku-20240307", 4_096, false, false),
            ("claude-3-5-sonnet-20241022", 8_192, false, false),
            ("claude-3-7-sonnet-latest", 64_000, false, false),
            ("claude-opus-4-20250514", 32_000, false, false),
            ("claude-opus-4-1-20250805", 32_000, false, false),
            ("claude-opus-4-5", 64_000, true, false),
            ("claude-opus-4-6", 64_000, true, true),
            ("claude-opus-4-8", 128_000, true, true),
            ("claude-opus-5", 128_000, true, true),
            ("claude-sonnet-4-5-20250929", 64_000, false, false),
            ("us.anthropic.claude-sonnet-4-6-v1:0", 64_000, true, true),
            ("anthropic/claude-sonnet-5", 64_000, true, true),
            ("claude-haiku-4-5", 64_000, false, false),
            ("claude-haiku-5", 128_000, true, true),
            ("claude-mythos-1", 128_000, true, true),
            ("claude", 64_000, false, false),
            ("alpha", 64_000, false, false),
        ];
        for expected in expected {
            let name = expected.0;
            assert_eq!((name, max_output_tokens(name), has_effort(name), thinks_adaptively(name)), expected);
        }
    }
}
