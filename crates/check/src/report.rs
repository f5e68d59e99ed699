//! What the rules say of an agent.

use std::fmt::Write;

use serde::Serialize;

use crate::rule::{Evidence, Level, Rule, Verdict};
use crate::run::Run;

/// What the rules say of an agent.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The agent.
    pub agent: Tested,
    /// What each rule says, in their order.
    pub rules: Vec<Finding>,
}

/// Who was checked, as it calls itself.
#[derive(Debug, Default, Serialize)]
pub struct Tested {
    /// Its name.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
}

/// What one rule says.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// The rule's id.
    pub rule: &'static str,
    /// How much it matters.
    pub level: Level,
    /// What an agent does that keeps it.
    pub title: &'static str,
    /// What came out.
    pub status: Status,
    /// Why, in a line.
    pub detail: String,
    /// The page that the rule comes from.
    pub spec: String,
    /// What was sent and what came, if it is broken.
    #[serde(flatten)]
    pub evidence: Option<Evidence>,
}

/// What came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The rule is kept.
    Pass,
    /// It is broken.
    Fail,
    /// It says nothing of this agent, or could not be tried.
    Skip,
    /// What the agent does is told.
    Report,
}

impl Report {
    pub(crate) fn of(run: &Run, rules: &[&'static Rule]) -> Self {
        let info = run.initialized().map(|result| result["agentInfo"].clone()).unwrap_or_default();
        let text = |name: &str| info[name].as_str().map(str::to_owned);
        let agent = Tested { name: text("name"), version: text("version") };
        Self { agent, rules: rules.iter().map(|rule| Finding::of(run, rule)).collect() }
    }

    /// Whether the agent keeps every rule that it must keep.
    pub fn is_good(&self) -> bool {
        !self.rules.iter().any(Finding::is_fatal)
    }

    /// How many rules came out so.
    pub fn count(&self, status: Status) -> usize {
        self.rules.iter().filter(|finding| finding.status == status).count()
    }
}

impl Finding {
    fn of(run: &Run, rule: &'static Rule) -> Self {
        let (status, detail, evidence) = match (rule.judge)(run) {
            Ok(Verdict::Pass) => (Status::Pass, String::new(), None),
            Ok(Verdict::Fail(evidence)) => (Status::Fail, format!("expected {}", evidence.expected), Some(evidence)),
            Ok(Verdict::Report(what)) => (Status::Report, what, None),
            Err(skipped) => (Status::Skip, skipped.0, None),
        };
        let Rule { id, level, title, .. } = *rule;
        Self { rule: id, level, title, status, detail, spec: rule.spec(), evidence }
    }

    /// Whether an agent has failed because of it.
    pub fn is_fatal(&self) -> bool {
        self.status == Status::Fail && self.level.is_binding()
    }
}

/// `report` as `JUnit` XML: a test case for each rule. One that is broken and need not be kept is no failure there.
pub fn junit(report: &Report) -> String {
    let fatal = report.rules.iter().filter(|finding| finding.is_fatal()).count();
    let skipped = report.count(Status::Skip);
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let name = report.agent.name.as_deref().unwrap_or("agent");
    let head = format!(
        "<testsuite name=\"rejoin check {}\" tests=\"{}\" failures=\"{fatal}\" skipped=\"{skipped}\">\n",
        escape(name),
        report.rules.len()
    );
    xml.push_str(&head);
    for finding in &report.rules {
        xml.push_str(&case(finding));
    }
    xml.push_str("</testsuite>\n");
    xml
}

fn case(finding: &Finding) -> String {
    let (family, _) = finding.rule.split_once('.').unwrap_or((finding.rule, ""));
    let mut xml = format!("  <testcase classname=\"{family}\" name=\"{}: {}\"", finding.rule, escape(finding.title));
    let detail = escape(&finding.detail);
    // Writing to a text can't fail.
    let _ = match (finding.status, &finding.evidence) {
        (Status::Fail, Some(evidence)) if finding.is_fatal() => {
            let text = format!("sent: {}\ncame: {}\n{}", evidence.sent, evidence.came, finding.spec);
            writeln!(xml, ">\n    <failure message=\"{detail}\">{}</failure>\n  </testcase>", escape(&text))
        }
        (Status::Skip, _) => writeln!(xml, ">\n    <skipped message=\"{detail}\"/>\n  </testcase>"),
        (Status::Report | Status::Fail, _) => {
            writeln!(xml, ">\n    <system-out>{detail}</system-out>\n  </testcase>")
        }
        (Status::Pass, _) => writeln!(xml, "/>"),
    };
    xml
}

/// `text` as it may stand in XML: what XML has no place for becomes U+FFFD.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_wrote_can_not_break_the_xml() {
        assert_eq!(escape("a<b>&\"\u{1b}\n"), "a&lt;b&gt;&amp;&quot;\u{fffd}\n");
    }
}
