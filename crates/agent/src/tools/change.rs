//! A change of a text file: shown before it is made, and made only if that is still what it does.

use rejoin::schema::{Diff, ToolCallContent};

use super::files::{Files, blocking};
use super::roots::Place;
use super::{ToolError, autorun};
use crate::calls::Call;

/// What a file is to become.
pub(super) struct Change {
    pub(super) place: Place,
    /// What is there now; nothing if that is no text, or nothing.
    pub(super) old: Option<String>,
    pub(super) new: String,
}

impl Change {
    /// As people are shown it.
    pub(super) fn shown(&self) -> ToolCallContent {
        Diff::new(self.place.path(), self.new.clone()).old_text(self.old.clone()).into()
    }

    /// Why the user is asked for it in every mode, if that is so.
    pub(super) async fn caution(&self) -> Result<Option<String>, ToolError> {
        let path = self.place.real_path();
        blocking(move || Ok(autorun::reason(&path))).await
    }

    /// Makes it, unless the file was changed since the user was shown it.
    pub(super) async fn make(&self, files: &Files<'_>, call: &Call<'_>) -> Result<(), ToolError> {
        if !call.planned.contains(&self.shown()) {
            let text = format!("{} was changed meanwhile, so it was left alone; read it again", self.place.shown());
            return Err(ToolError::Failed(text));
        }
        files.write(&self.place, self.old.as_deref(), &self.new).await
    }
}
