//! The files of settings.

use super::check::Check;
use crate::error::Error;
use crate::output::short_path;
use crate::report;
use crate::settings::{Settings, Trust};

const NAME: &str = "configuration";

/// Looks at the files that were read.
pub(super) fn check(settings: &Settings) -> Vec<Check> {
    let files = &settings.files;
    let short = |path: &std::path::Path| short_path(&path.display().to_string(), settings.home.as_deref());
    let trust = match files.trust {
        Some(Trust::Trusted) => " (trusted)",
        Some(Trust::Changed | Trust::NotTrusted) => " (not trusted)",
        None => "",
    };
    let project = files.project.as_deref().filter(|path| path.is_file()).map(|path| format!("{}{trust}", short(path)));
    let user = files.user.as_deref().filter(|path| path.exists()).map(short);
    let found: Vec<String> = project.into_iter().chain(user).collect();
    let detail = if found.is_empty() { "no file, which is fine".to_owned() } else { found.join(", ") };
    let warnings = settings.warnings.iter().map(|warning| Check::note(NAME, warning.to_string(), warning.hint()));
    std::iter::once(Check::good(NAME, detail)).chain(warnings).collect()
}

/// The files, of which one can't be used.
pub(super) fn broken(error: &Error) -> Check {
    let hint = error.hint().unwrap_or_else(|| "mend it; the rest is looked at then".to_owned());
    Check::bad(NAME, report::one_line(error), Some(hint))
}
