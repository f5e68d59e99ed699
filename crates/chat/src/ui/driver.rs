//! The chat's input and output: keys, messages and time go into the state machine, frames come out.
//!
//! Frames are written beside everything else, one at a time, so a terminal that does not read holds up nothing but what
//! it shows.

use std::io;
use std::time::{Duration, Instant};

use crossterm::event::{Event as TerminalEvent, EventStream};
use futures::{FutureExt, StreamExt};
use rejoin_wire::{Connection, Incoming, Options, Received};
use rustix::process::{Signal, getpid, kill_process};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, ReadHalf};
use tokio::task::JoinHandle;

use super::chat::Chat;
use super::{Effect, End, Event, Tag};
use crate::error::ChatError;
use crate::options::ChatOptions;
use crate::render::screen::Screen;
use crate::terminal::{self, Terminal};

/// The least time between two frames.
const FRAME: Duration = Duration::from_millis(25);

/// So long a terminal may take to show the last frame.
const LAST_FRAME: Duration = Duration::from_secs(1);

/// So long messages are taken before keys are looked at again.
const BATCH: Duration = Duration::from_millis(10);

/// How a chat ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatOutcome {
    /// The user quit.
    Quit {
        /// The session that can be rejoined, if there is anything in it.
        session_id: Option<String>,
    },
    /// The user has chosen a session that another agent goes on with.
    Elsewhere {
        /// The session.
        session_id: String,
    },
}

/// Talks with the layer at the other end of `stream`, on the terminal that is standard input and output, until the user
/// quits or `stop` comes.
///
/// Must be called inside a Tokio runtime.
pub async fn run_chat<S>(
    stream: S,
    options: ChatOptions,
    stop: impl Future<Output = ()>,
) -> Result<ChatOutcome, ChatError>
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let (reader, writer) = tokio::io::split(stream);
    let (connection, incoming) = Connection::open(reader, writer, Options::default());
    let terminal = Terminal::enter().map_err(ChatError::Terminal)?;
    let size = Terminal::size().map_err(ChatError::Terminal)?;
    let screen = Screen::new(size, options.colours);
    let (chat, first) = Chat::new(options, size, Instant::now());
    let mut driver = Driver {
        chat,
        screen,
        connection,
        incoming,
        keys: EventStream::new(),
        terminal: Some(terminal),
        is_dirty: true,
        is_resized: false,
        drawn_at: Instant::now().checked_sub(FRAME).unwrap_or_else(Instant::now),
        drawing: None,
    };
    driver.run_effects(first).await?;
    let ended = driver.run(stop).await;
    driver.leave().await;
    ended?;
    match driver.chat.end() {
        Some(End::Failed(failure)) => Err(failure.clone().into()),
        Some(End::LayerGone) => Err(ChatError::LayerGone),
        Some(End::Elsewhere(session_id)) => {
            if driver.chat.session_to_rejoin().is_some() {
                // What comes next stands apart.
                terminal::write("\n").map_err(ChatError::Terminal)?;
            }
            Ok(ChatOutcome::Elsewhere { session_id: session_id.clone() })
        }
        Some(End::Quit) | None => Ok(ChatOutcome::Quit { session_id: driver.chat.session_to_rejoin() }),
    }
}

struct Driver<S> {
    chat: Chat,
    screen: Screen,
    connection: Connection<Tag>,
    incoming: Incoming<ReadHalf<S>, Tag>,
    keys: EventStream,
    terminal: Option<Terminal>,
    /// Whether there is something new to see.
    is_dirty: bool,
    /// Whether the terminal has to be written anew.
    is_resized: bool,
    drawn_at: Instant,
    /// The frame that is being written.
    drawing: Option<JoinHandle<io::Result<()>>>,
}

impl<S: AsyncRead + AsyncWrite + Send + 'static> Driver<S> {
    async fn run(&mut self, stop: impl Future<Output = ()>) -> Result<(), ChatError> {
        tokio::pin!(stop);
        let mut tick_at: Option<Instant> = None;
        while self.chat.end().is_none() {
            if Terminal::is_lost() {
                return Err(ChatError::Panicked);
            }
            tick_at = self.chat.next_tick().map(|tick| tick_at.unwrap_or_else(|| Instant::now() + tick));
            let draw_at = (self.is_dirty && self.drawing.is_none()).then(|| self.drawn_at + FRAME);
            tokio::select! {
                event = self.keys.next() => match event {
                    Some(Ok(event)) => self.take(event).await?,
                    Some(Err(error)) => return Err(ChatError::Terminal(error)),
                    None => return Ok(()),
                },
                received = self.incoming.next() => self.receive(received).await?,
                drawn = written(&mut self.drawing) => {
                    self.drawing = None;
                    drawn.map_err(ChatError::Terminal)?;
                }
                () = until(draw_at) => self.draw(),
                () = until(tick_at) => {
                    tick_at = None;
                    self.handle(Event::Tick).await?;
                }
                () = &mut stop => return Ok(()),
            }
        }
        Ok(())
    }

    async fn take(&mut self, event: TerminalEvent) -> Result<(), ChatError> {
        match event {
            TerminalEvent::Key(key) => self.handle(Event::Key(key)).await,
            TerminalEvent::Paste(text) => self.handle(Event::Paste(text)).await,
            TerminalEvent::Resize(width, height) => {
                self.is_resized = true;
                self.handle(Event::Resized(terminal::sized(width, height))).await
            }
            TerminalEvent::FocusGained | TerminalEvent::FocusLost | TerminalEvent::Mouse(_) => Ok(()),
        }
    }

    /// Takes a message, and those that are there already, but not for long.
    async fn receive(&mut self, received: Option<Received<Tag>>) -> Result<(), ChatError> {
        let begun = Instant::now();
        let mut next = Some(received);
        while let Some(received) = next {
            let Some(received) = received else { return self.handle(Event::LayerGone).await };
            self.handle(Event::Received(received)).await?;
            next = if begun.elapsed() < BATCH { self.incoming.next().now_or_never() } else { None };
        }
        Ok(())
    }

    async fn handle(&mut self, event: Event) -> Result<(), ChatError> {
        let effects = self.chat.handle(event, Instant::now());
        self.is_dirty = true;
        self.run_effects(effects).await
    }

    async fn run_effects(&mut self, effects: Vec<Effect>) -> Result<(), ChatError> {
        for effect in effects {
            let sent = match effect {
                Effect::Request { method, params, tag } => {
                    self.connection.request(method, &params.to_string(), tag).await.map(|_| ())
                }
                Effect::Notify { method, params } => self.connection.notify(method, &params.to_string()).await,
                Effect::Respond { id, outcome } => {
                    let outcome = outcome.as_ref().map(Value::to_string);
                    self.connection.respond(&id, outcome.as_deref().map_err(|error| *error)).await
                }
                Effect::BeginBelow => {
                    self.screen.begin_below();
                    Ok(())
                }
                Effect::Redraw => {
                    self.is_resized = true;
                    Ok(())
                }
                Effect::Suspend => {
                    self.suspend().await?;
                    Ok(())
                }
            };
            sent.map_err(|_| ChatError::LayerGone)?;
        }
        Ok(())
    }

    fn draw(&mut self) {
        let full = self.chat.full_screen();
        let is_full = full.is_some();
        let wanted = self.is_resized.then(|| self.screen.resize(self.chat.size()));
        let bytes = match (full, wanted) {
            (Some(lines), _) => self.screen.draw_full(lines),
            (None, Some(n_rows)) => {
                self.is_resized = false;
                self.screen.repaint(self.chat.whole_frame(n_rows))
            }
            (None, None) => self.screen.draw(self.chat.frame()),
        };
        Terminal::set_full(is_full);
        (self.is_dirty, self.drawn_at) = (false, Instant::now());
        if !bytes.is_empty() {
            self.drawing = Some(tokio::task::spawn_blocking(move || terminal::write(&bytes)));
        }
    }

    /// Gives the terminal back, with nothing of the live part left on it.
    async fn leave(&mut self) {
        let is_stuck = match self.drawing.take() {
            Some(drawing) => tokio::time::timeout(LAST_FRAME, drawing).await.is_err(),
            None => false,
        };
        if let (true, Some(terminal)) = (is_stuck, &mut self.terminal) {
            terminal.abandon();
        } else if !Terminal::is_lost() {
            // What was finished at last is still to be seen.
            self.chat.close_details();
            let last = self.screen.draw(self.chat.frame());
            let _ = terminal::write(&(last + &self.screen.leave()));
        }
        Terminal::set_full(false);
        self.terminal = None;
    }

    /// Stops the program, as the shell's users are used to.
    async fn suspend(&mut self) -> Result<(), ChatError> {
        self.leave().await;
        kill_process(getpid(), Signal::TSTP).map_err(|error| ChatError::Terminal(error.into()))?;
        self.terminal = Some(Terminal::enter().map_err(ChatError::Terminal)?);
        let size = Terminal::size().map_err(ChatError::Terminal)?;
        self.screen = Screen::new(size, self.screen.colours());
        self.chat.begin_below();
        self.chat.handle(Event::Resized(size), Instant::now());
        Ok(())
    }
}

/// Waits until the frame is written, if there is one.
async fn written(drawing: &mut Option<JoinHandle<io::Result<()>>>) -> io::Result<()> {
    match drawing {
        Some(drawing) => drawing.await.unwrap_or_else(|error| Err(io::Error::other(error))),
        None => std::future::pending().await,
    }
}

/// Waits until `at`, or for ever.
async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
