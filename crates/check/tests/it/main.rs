//! The rules, against an agent that keeps them all, and against one that breaks each of them.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod test_rules;
