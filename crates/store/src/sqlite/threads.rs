//! Threads for what may take its time: reading, syncing.
//!
//! The one that rested last works first, since what it needs is still near its processor. Tokio's own threads take turns
//! instead, and wake a runtime of one thread twice for each task wherever some crate has asked for Tokio's `test-util`.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use tokio::sync::oneshot;

use crate::StoreError;

/// As many threads rest at most; others end when they have nothing to do.
const MOST_RESTING: usize = 4;

/// Does its work, and gives what is left to do: to tell whoever waits.
type Job = Box<dyn FnOnce() -> Tell + Send>;
type Tell = Box<dyn FnOnce() + Send>;

/// A job, and the way to whoever does it, to be left with those that rest: with the last of them gone, a thread ends.
struct Order {
    job: Job,
    thread: Sender<Order>,
}

/// The threads. They end when this is dropped, after what they are doing.
#[derive(Default)]
pub(super) struct Threads {
    resting: Arc<Resting>,
}

#[derive(Default)]
struct Resting(Mutex<Vec<Sender<Order>>>);

impl Threads {
    /// Runs `work` on one of the threads, also if nobody waits for it any more.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, done) = oneshot::channel();
        self.give(Box::new(move || {
            let result = work();
            Box::new(move || drop(reply.send(result)))
        }));
        // The work panicked, or there was no thread for it.
        done.await.map_err(|_| StoreError::Closed)
    }

    fn give(&self, job: Job) {
        let rested = self.resting.lock().pop();
        let thread = rested.unwrap_or_else(|| self.start());
        // A thread that was started or rests waits for this; if none could be started, the job goes, and its reply with it.
        let _ = thread.clone().send(Order { job, thread });
    }

    fn start(&self) -> Sender<Order> {
        let (thread, orders) = mpsc::channel::<Order>();
        let resting = Arc::downgrade(&self.resting);
        let work = move || {
            while let Ok(Order { job, thread }) = orders.recv() {
                let tell = job();
                rest(&resting, thread);
                // Only now, so that who asks again at once finds this thread resting.
                tell();
            }
        };
        if let Err(error) = thread::Builder::new().name("rejoin-store".to_owned()).spawn(work) {
            tracing::error!(%error, "no thread could be started to read the store");
        }
        thread
    }
}

/// Puts `thread` among those that rest, if there is room.
fn rest(resting: &Weak<Resting>, thread: Sender<Order>) {
    if let Some(resting) = resting.upgrade() {
        let mut resting = resting.lock();
        if resting.len() < MOST_RESTING {
            resting.push(thread);
        }
    }
}

impl Resting {
    fn lock(&self) -> MutexGuard<'_, Vec<Sender<Order>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[tokio::test]
    async fn one_after_the_other_is_done_by_one_thread() {
        let threads = Threads::default();
        let first = threads.run(|| thread::current().id()).await.unwrap();
        for _ in 0..100 {
            assert_eq!(threads.run(|| thread::current().id()).await.unwrap(), first);
        }
    }

    #[tokio::test]
    async fn what_waits_for_another_has_a_thread_of_its_own() {
        let threads = Threads::default();
        let (go, wait) = mpsc::channel();
        let (waited, went) = tokio::join!(threads.run(move || wait.recv()), threads.run(move || go.send(())));
        assert!(waited.unwrap().is_ok());
        assert!(went.unwrap().is_ok());
    }

    #[tokio::test]
    async fn work_that_panics_fails_alone() {
        let threads = Threads::default();
        let failed = threads.run(|| panic!("on purpose")).await;
        assert!(matches!(failed, Err(StoreError::Closed)), "{failed:?}");
        assert_eq!(threads.run(|| 1).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn threads_end_with_their_owner() {
        struct Farewell(Sender<()>);
        impl Drop for Farewell {
            fn drop(&mut self) {
                let _ = self.0.send(());
            }
        }
        thread_local!(static FAREWELL: RefCell<Option<Farewell>> = const { RefCell::new(None) });

        let threads = Threads::default();
        let (said, ended) = mpsc::channel();
        threads.run(move || FAREWELL.set(Some(Farewell(said)))).await.unwrap();
        drop(threads);
        assert!(ended.recv().is_ok());
    }
}
