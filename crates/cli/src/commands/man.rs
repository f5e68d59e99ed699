//! `rejoin man`: the manual, as one page or as one for each command.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use super::Outcome;
use crate::args::Args;
use crate::error::Error;
use crate::output::Output;

/// Write the manual
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin man | man -l -                   read it
  rejoin man --dir ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write one page for each command into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

pub(crate) fn run(args: &ManArgs, out: &mut Output) -> Result<Outcome, Error> {
    let mut command = Args::command();
    // Gives each command its whole name.
    command.build();
    match &args.dir {
        Some(folder) => {
            let failed = |path: &Path, source| Error::CannotWrite { path: path.to_owned(), source };
            fs::create_dir_all(folder).map_err(|source| failed(folder, source))?;
            for (name, page) in pages(&command)? {
                let path = folder.join(format!("{name}.1"));
                fs::write(&path, page).map_err(|source| failed(&path, source))?;
                writeln!(out, "{}", path.display())?;
            }
        }
        None => out.write_all(&one_page(&command)?)?,
    }
    Ok(Outcome::Done)
}

/// The heading of what stands behind a command's options.
const NOTES: &str = "\n.SH NOTES\n";

/// The page of the program, with that of each command as a section.
fn one_page(command: &Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    let man = page_of(command);
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    for command in all_below(command) {
        writeln!(page, ".SH \"{}\"", name_of(command).to_uppercase())?;
        let mut section = Vec::new();
        // What all commands have is told once.
        let man = page_of(&command.clone().mut_args(|arg| if arg.is_global_set() { arg.hide(true) } else { arg }));
        man.render_description_section(&mut section)?;
        man.render_synopsis_section(&mut section)?;
        man.render_options_section(&mut section)?;
        man.render_extra_section(&mut section)?;
        page.extend(
            String::from_utf8_lossy(&section).replace("\n.SH EXTRA\n", NOTES).replace("\n.SH ", "\n.SS ").bytes(),
        );
    }
    Ok(ascii(&String::from_utf8_lossy(&page)).into_bytes())
}

/// The page of each command, with its name.
fn pages(command: &Command) -> io::Result<Vec<(String, String)>> {
    let page = |command: &Command| {
        let mut page = Vec::new();
        page_of(command).render(&mut page)?;
        let page = String::from_utf8_lossy(&page).replace("\n.SH EXTRA\n", NOTES);
        Ok((name_of(command).replace(' ', "-"), ascii(&page)))
    };
    std::iter::once(command).chain(all_below(command)).map(page).collect()
}

/// `page` with other characters as every `troff` takes them.
fn ascii(page: &str) -> String {
    let escape = |c: char| if c.is_ascii() { c.to_string() } else { format!("\\[u{:04X}]", u32::from(c)) };
    page.chars().map(escape).collect()
}

fn page_of(command: &Command) -> Man {
    let name = name_of(command).replace(' ', "-");
    Man::new(command.clone()).title(name).source(concat!("rejoin ", env!("CARGO_PKG_VERSION"))).manual("Rejoin")
}

/// The whole name of a command, such as `rejoin config show`.
fn name_of(command: &Command) -> String {
    command.get_bin_name().unwrap_or(command.get_name()).to_owned()
}

/// All commands below `command`, but those that only give help.
fn all_below(command: &Command) -> Vec<&Command> {
    let direct = command.get_subcommands().filter(|command| command.get_name() != "help" && !command.is_hide_set());
    direct.flat_map(|command| std::iter::once(command).chain(all_below(command))).collect()
}
