//! Standard input and output as asynchronous streams.
//!
//! Pipes and sockets, which is what clients give us, are read and written without a thread in between. Anything else
//! goes through one.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream as StdUnixStream;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// What a client sends is read here.
pub(crate) type Reader = Box<dyn AsyncRead + Send + Unpin>;

/// What a client gets is written here.
pub(crate) type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Opens standard input and output.
pub(crate) fn open() -> io::Result<(Reader, Writer)> {
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
    Ok((reader, writer))
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
