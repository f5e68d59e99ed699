//! The store: whether it can be opened and written, and is whole.

use std::path::Path;
use std::time::Duration;

use rejoin_store::{SessionStore, SqliteStore, StoreError};
use tokio::time::timeout;

use super::check::Check;
use crate::commands::count;
use crate::error::Error;
use crate::report;
use crate::sizes;
use crate::times;

const NAME: &str = "store";

/// So long the bytes are checked; a big store has more than can be checked then.
const LIMIT: Duration = Duration::from_secs(5);

/// Looks at the store at `path`.
pub(super) async fn check(path: &Path) -> Check {
    let failed = |error: StoreError| {
        let hint = error.hint();
        Check::bad(NAME, report::one_line(&Error::from(error)), hint)
    };
    look_at(path).await.unwrap_or_else(failed)
}

async fn look_at(path: &Path) -> Result<Check, StoreError> {
    let shown = path.display();
    let Some(store) = SqliteStore::open_existing(path)? else {
        return Ok(Check::good(NAME, format!("{shown} is not there yet; it is made with the first session")));
    };
    let (stats, schema) = (store.stats(times::day).await?, store.schema().await?);
    let sessions = count(stats.all.sessions, "session", "sessions");
    let about = format!("{shown}: {sessions}, {}, schema {schema}", sizes::show(stats.bytes));
    if let Err(error) = store.try_to_write().await {
        let hint = error.hint();
        return Ok(Check::bad(NAME, format!("{about}; {}", report::one_line(&Error::from(error))), hint));
    }
    let everything = "check every byte with `rejoin verify`";
    Ok(match timeout(LIMIT, store.verify()).await {
        Ok(report) => match report?.damages.len() as u64 {
            0 => Check::good(NAME, format!("{about}, nothing is damaged")),
            found => {
                let damages = count(found, "damage", "damages");
                Check::bad(NAME, format!("{about}, {damages} found"), Some("see them with `rejoin verify`".to_owned()))
            }
        },
        Err(_) => Check::note(NAME, format!("{about}, too big to be checked here"), everything),
    })
}
