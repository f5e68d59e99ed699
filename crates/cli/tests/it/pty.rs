//! A terminal, of 80 columns if nothing else is said, in which the program is run as a person runs it.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Command;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Runs `command` in a terminal in which `typed` was typed before; gives its exit code and what could be seen, without
/// carriage returns.
pub(crate) fn run_at_terminal(command: Command, typed: &str) -> (Option<i32>, String) {
    run_at_terminal_of(80, command, typed)
}

/// The same in a terminal of `width` columns.
pub(crate) fn run_at_terminal_of(width: u16, mut command: Command, typed: &str) -> (Option<i32>, String) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    tcsetwinsize(&ours, Winsize { ws_row: 24, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = || File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let mut ours = File::from(ours);
    ours.write_all(typed.as_bytes()).unwrap();
    let mut child = command.stdin(theirs()).stdout(theirs()).stderr(theirs()).spawn().unwrap();
    // Else the terminal stays open here.
    drop(command);

    let (mut seen, mut bytes) = (Vec::new(), [0; 4096]);
    // The end of a terminal is an error.
    while let Ok(n_bytes @ 1..) = ours.read(&mut bytes) {
        seen.extend_from_slice(&bytes[..n_bytes]);
    }
    let seen = String::from_utf8(seen).unwrap().replace('\r', "");
    (child.wait().unwrap().code(), seen)
}
