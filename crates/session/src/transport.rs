//! The way to a client: any stream of bytes, standard input and output among them.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream as StdUnixStream;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// The way to a client: a message is a line.
pub struct Transport {
    pub(crate) reader: Reader,
    pub(crate) writer: Writer,
}

impl Transport {
    /// What the client sends comes from `reader`, what it gets goes to `writer`.
    pub fn new(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self { reader: Box::new(reader), writer: Box::new(writer) }
    }

    /// One stream for both directions, such as a socket or an end of [`tokio::io::duplex`].
    pub fn stream(stream: impl AsyncRead + AsyncWrite + Send + 'static) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self::new(reader, writer)
    }

    /// Standard input and output of this process.
    ///
    /// Pipes and sockets, which is what clients give us, are read and written without a thread in between. Anything else
    /// goes through one. Must be called inside a Tokio runtime.
    pub fn stdio() -> io::Result<Self> {
        let reader: Reader = match Stream::of(&io::stdin())? {
            Stream::Pipe(fd) => Box::new(pipe::Receiver::from_owned_fd(fd)?),
            Stream::Socket(fd) => Box::new(socket(fd)?),
            Stream::Other => Box::new(tokio::io::stdin()),
        };
        let writer: Writer = match Stream::of(&io::stdout())? {
            Stream::Pipe(fd) => Box::new(pipe::Sender::from_owned_fd(fd)?),
            Stream::Socket(fd) => Box::new(socket(fd)?),
            Stream::Other => Box::new(tokio::io::stdout()),
        };
        Ok(Self { reader, writer })
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport").finish_non_exhaustive()
    }
}

enum Stream {
    Pipe(OwnedFd),
    Socket(OwnedFd),
    Other,
}

impl Stream {
    fn of(stream: &impl AsFd) -> io::Result<Self> {
        let file = File::from(stream.as_fd().try_clone_to_owned()?);
        let kind = file.metadata()?.file_type();
        Ok(if kind.is_fifo() {
            Self::Pipe(file.into())
        } else if kind.is_socket() {
            Self::Socket(file.into())
        } else {
            Self::Other
        })
    }
}

fn socket(fd: OwnedFd) -> io::Result<UnixStream> {
    let stream = StdUnixStream::from(fd);
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}
