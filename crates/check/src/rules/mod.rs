//! The rules, by what they are about.

mod cancel;
mod close;
mod config;
mod delete;
mod fork;
mod initialize;
mod list;
mod load;
mod mcp;
mod mode;
mod new;
mod prompt;
mod resume;
mod tool_calls;
mod unstable;
mod wire;

use crate::rule::Rule;

const FAMILIES: [&[Rule]; 16] = [
    wire::RULES,
    initialize::RULES,
    new::RULES,
    mcp::RULES,
    prompt::RULES,
    tool_calls::RULES,
    cancel::RULES,
    mode::RULES,
    config::RULES,
    list::RULES,
    load::RULES,
    resume::RULES,
    fork::RULES,
    close::RULES,
    delete::RULES,
    unstable::RULES,
];

/// Every rule.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    FAMILIES.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_rule_has_an_id_of_its_own_and_says_what_an_agent_does() {
        let ids: BTreeSet<&str> = all().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), all().count());
        let is_sentence = |rule: &Rule| !rule.title.ends_with('.') && rule.title.contains(' ');
        assert!(all().all(is_sentence));
    }
}
