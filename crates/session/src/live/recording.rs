//! Records what happens, then shows it: never the other way round.

use rejoin_transcript::{Entry, EntryNumber, Fact, Step, StepKind, UpdateKind, live};

use super::Live;
use crate::Error;
use crate::choices::in_step;
use crate::client::Client;

impl Live {
    /// Records steps that clients are not shown.
    pub(crate) async fn record(&mut self, steps: Vec<Step>) -> Result<(), Error> {
        if !steps.is_empty() {
            self.recorder()?.record(steps, Vec::new()).await?;
        }
        Ok(())
    }

    /// Records `steps` with `facts`, then shows those that are for clients to whoever is meant.
    pub(crate) async fn record_and_show(
        &mut self,
        steps: Vec<Step>,
        facts: Vec<Fact>,
        is_meant: impl Fn(&StepKind, &Client) -> bool,
    ) -> Result<(), Error> {
        let (mut shown, mut kept) = (Vec::with_capacity(steps.len()), Vec::with_capacity(steps.len()));
        for step in steps {
            let entry = Entry { number: EntryNumber::START, step };
            shown.push((entry.step.kind, live(&entry)));
            kept.push(entry.step);
        }
        let mut number = self.recorder()?.record(kept, facts).await?;
        for (kind, params) in shown {
            self.subscribers.show_entry(&self.id, number, &params, |client| is_meant(&kind, client));
            number = number.next();
        }
        Ok(())
    }

    /// Records what the agent sent, with `facts`, and shows it.
    pub(super) async fn record_updates(&mut self, steps: Vec<Step>, facts: Vec<Fact>) -> Result<(), Error> {
        let is = |kinds: &[UpdateKind]| {
            steps.iter().any(|step| matches!(step.kind, StepKind::Update(kind) if kinds.contains(&kind)))
        };
        let may_need_step = is(&[UpdateKind::CurrentMode, UpdateKind::ConfigOption]);
        let may_have_title = is(&[UpdateKind::SessionInfo]);
        let before =
            may_need_step.then(|| self.session().map(|session| session.settings.in_force.clone())).transpose()?;
        for step in &steps {
            self.open_work.observe(step);
            self.terminals.observe(step);
        }
        self.record_and_show(steps, facts, |_, _| true).await?;
        if let Some(before) = before
            && let Some(set) = in_step(&before, &self.session()?.settings)
        {
            self.put_in_force(set, None, |_, _| true).await?;
        }
        // A person's title wins, so whoever was shown the agent's is shown that again.
        if may_have_title && let Some(title) = self.session()?.facts.titles.manual.clone() {
            self.show_title(&title);
        }
        Ok(())
    }

    /// Makes everything recorded so far survive the loss of power.
    pub(crate) async fn flush(&mut self) -> Result<(), Error> {
        Ok(self.recorder()?.flush().await?)
    }
}
