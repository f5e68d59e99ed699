//! The bodies of a provider's responses, read piece by piece: bounded in size, and in how long they may be silent.
//!
//! Nothing is decompressed. A small compressed body can become gigabytes, and no provider needs to send one: every request
//! asks for bytes as they are.

use std::time::Duration;

use reqwest::Response;
use reqwest::header::CONTENT_ENCODING;
use tokio::time::timeout;

use super::limits::MAX_ERROR_BYTES;

/// Read timeout. Generous, because reasoning models pause.
pub(super) const SILENCE_LIMIT: Duration = Duration::from_secs(600);

/// How long the body of an error may take. What has come until then is used.
const ERROR_LIMIT: Duration = Duration::from_secs(2);

/// Why a body can't be read on.
#[derive(Debug)]
pub(super) enum BodyError {
    Network(reqwest::Error),
    /// Nothing came for [`SILENCE_LIMIT`].
    Silent,
    /// It has more than this many bytes.
    TooLong(usize),
    /// It is compressed in this way.
    Compressed(String),
}

/// A body that arrives.
pub(super) struct Body {
    response: Response,
    /// How many more bytes it may have.
    left: usize,
    limit: usize,
}

impl Body {
    /// The body of `response`, of at most `limit` bytes.
    pub(super) fn new(response: Response, limit: usize) -> Result<Self, BodyError> {
        match encoding_of(&response) {
            Some(encoding) => Err(BodyError::Compressed(encoding)),
            None => Ok(Self { response, left: limit, limit }),
        }
    }

    /// The next piece; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, BodyError> {
        let piece = timeout(SILENCE_LIMIT, self.response.chunk()).await.map_err(|_| BodyError::Silent)?;
        let piece = piece.map_err(BodyError::Network)?;
        let n_bytes = piece.as_deref().map_or(0, <[u8]>::len);
        self.left = self.left.checked_sub(n_bytes).ok_or(BodyError::TooLong(self.limit))?;
        Ok(piece)
    }

    /// All of it.
    pub(super) async fn read_all(mut self) -> Result<Vec<u8>, BodyError> {
        let mut all = Vec::new();
        while let Some(piece) = self.next().await? {
            all.extend_from_slice(piece.as_ref());
        }
        Ok(all)
    }
}

/// The beginning of the body of an error, as text: as much as comes within a short time.
pub(super) async fn error_text(mut response: Response) -> String {
    let mut start = Vec::new();
    if encoding_of(&response).is_none() {
        let reading = async {
            while start.len() < MAX_ERROR_BYTES
                && let Ok(Some(piece)) = response.chunk().await
            {
                start.extend_from_slice(&piece);
            }
        };
        // The status alone says enough.
        let _ = timeout(ERROR_LIMIT, reading).await;
    }
    start.truncate(MAX_ERROR_BYTES);
    String::from_utf8_lossy(&start).into_owned()
}

fn encoding_of(response: &Response) -> Option<String> {
    let encodings = response.headers().get_all(CONTENT_ENCODING).iter();
    let mut names = encodings.map(|name| String::from_utf8_lossy(name.as_bytes()).trim().to_lowercase());
    names.find(|name| !name.is_empty() && name != "identity")
}
