//! Writing: one task, everything in the order it was given, and never more waiting than there is room for.
//!
//! Who gives a piece takes room for it first, and the room comes back only when the bytes were written. So a side that
//! does not read holds up those who send to it, and costs no memory.

use std::sync::Arc;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use crate::{Closed, Direction, Options, Tap};

/// As much is put together for one write: what a pipe holds.
const TOGETHER: usize = 64 * 1024;

/// The way to the task that writes.
#[derive(Clone)]
pub(crate) struct Writer {
    queue: mpsc::UnboundedSender<Job>,
    room: Arc<Semaphore>,
    whole_room: u32,
    /// Closed when the task has ended.
    ended: watch::Receiver<()>,
}

enum Job {
    Write(Piece),
    Finish,
}

/// Whole lines, and the room they take.
struct Piece {
    lines: String,
    room: OwnedSemaphorePermit,
}

/// Room for a piece, so that it can be written without waiting.
pub(crate) struct Room<'a> {
    writer: &'a Writer,
    permit: OwnedSemaphorePermit,
}

impl Writer {
    /// Starts the task, which writes to `output` until all writers are gone, or one finishes.
    pub(crate) fn start(output: impl AsyncWrite + Unpin + Send + 'static, options: &Options) -> Self {
        let (queue, jobs) = mpsc::unbounded_channel();
        let (running, ended) = watch::channel(());
        let whole_room = u32::try_from(options.room).unwrap_or(u32::MAX).max(1);
        let room = Arc::new(Semaphore::new(whole_room as usize));
        let task = Task { output, jobs, room: Arc::clone(&room), tap: options.tap.clone() };
        tokio::spawn(async move {
            task.run().await;
            drop(running);
        });
        Self { queue, room, whole_room, ended }
    }

    /// Waits for room for `n_bytes`; a piece with more bytes than there is room for at all takes all of it.
    pub(crate) async fn room(&self, n_bytes: usize) -> Result<Room<'_>, Closed> {
        let wanted = u32::try_from(n_bytes).unwrap_or(u32::MAX).min(self.whole_room);
        let permit = Arc::clone(&self.room).acquire_many_owned(wanted).await.map_err(|_| Closed)?;
        Ok(Room { writer: self, permit })
    }

    /// Waits until everything given so far is written and the output is closed; who waits for room gets none.
    pub(crate) async fn finish(&self) {
        self.room.close();
        // If it can't be sent, the task has ended already.
        let _ = self.queue.send(Job::Finish);
        let mut ended = self.ended.clone();
        while ended.changed().await.is_ok() {}
    }
}

impl Room<'_> {
    /// Gives `lines` to be written.
    pub(crate) fn write(self, lines: String) -> Result<(), Closed> {
        let piece = Piece { lines, room: self.permit };
        self.writer.queue.send(Job::Write(piece)).map_err(|_| Closed)
    }
}

struct Task<W> {
    output: W,
    jobs: mpsc::UnboundedReceiver<Job>,
    room: Arc<Semaphore>,
    tap: Option<Arc<dyn Tap>>,
}

impl<W: AsyncWrite + Unpin> Task<W> {
    async fn run(mut self) {
        while let Some(job) = self.jobs.recv().await {
            if let Err(error) = self.write_from(job).await {
                tracing::debug!(%error, "the other side does not read any more");
                break;
            }
        }
        // Before the queue goes, so that nobody waits for room that never comes back.
        self.room.close();
        if let Err(error) = self.output.shutdown().await {
            tracing::debug!(%error, "closing the output failed");
        }
    }

    /// Writes `job` and all that waits behind it, and flushes.
    async fn write_from(&mut self, job: Job) -> std::io::Result<()> {
        let mut next = Some(job);
        while let Some(job) = next {
            let Some(mut piece) = self.open(job) else {
                next = self.jobs.try_recv().ok();
                continue;
            };
            loop {
                next = self.jobs.try_recv().ok();
                match next.take() {
                    Some(Job::Write(more)) if piece.lines.len() + more.lines.len() <= TOGETHER => {
                        self.show(&more.lines);
                        piece.lines.push_str(&more.lines);
                        piece.room.merge(more.room);
                    }
                    job => {
                        next = job;
                        break;
                    }
                }
            }
            self.output.write_all(piece.lines.as_bytes()).await?;
        }
        self.output.flush().await
    }

    /// The piece to write, if there is one.
    fn open(&mut self, job: Job) -> Option<Piece> {
        match job {
            Job::Write(piece) => {
                self.show(&piece.lines);
                Some(piece)
            }
            Job::Finish => {
                // What was taken in until now is still written, and nothing is taken in any more.
                self.jobs.close();
                None
            }
        }
    }

    fn show(&self, lines: &str) {
        if let Some(tap) = &self.tap {
            lines.lines().for_each(|line| tap.line(Direction::Out, line));
        }
    }
}
