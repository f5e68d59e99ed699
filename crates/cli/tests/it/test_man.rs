//! `rejoin man`

use std::fs;

use crate::world::World;

#[test]
fn help() {
    insta::assert_snapshot!(World::new().help(&["man"]), @"
    Write the manual

    Usage: rejoin man [OPTIONS]

    Options:
          --dir <DIR>  Write one page for each command into this folder
      -h, --help       Print help

    Examples:
      rejoin man | man -l -                   read it
      rejoin man --dir ~/.local/share/man/man1
    --- exit 0
    ");
}

#[test]
fn one_page_holds_every_command() {
    let page = World::new().run(&["man"]).stdout;

    assert!(page.is_ascii(), "every troff can read it");
    assert_eq!(page.lines().filter(|line| line.starts_with(".TH")).count(), 1);
    let sections = page.lines().filter_map(|line| line.strip_prefix(".SH "));
    insta::assert_snapshot!(sections.collect::<Vec<_>>().join("\n"), @r#"
    NAME
    SYNOPSIS
    DESCRIPTION
    OPTIONS
    "GLOBAL OPTIONS"
    "REJOIN ACP"
    "REJOIN CHAT"
    "REJOIN LIST"
    "REJOIN SHOW"
    "REJOIN SEARCH"
    "REJOIN FORK"
    "REJOIN RENAME"
    "REJOIN ARCHIVE"
    "REJOIN UNARCHIVE"
    "REJOIN DELETE"
    "REJOIN EXPORT"
    "REJOIN IMPORT"
    "REJOIN ADOPT"
    "REJOIN STATS"
    "REJOIN GC"
    "REJOIN VERIFY"
    "REJOIN CHECK"
    "REJOIN AGENTS"
    "REJOIN SETUP"
    "REJOIN DOCTOR"
    "REJOIN CONFIG"
    "REJOIN CONFIG SHOW"
    "REJOIN CONFIG PATH"
    "REJOIN CONFIG TRUST"
    "REJOIN COMPLETIONS"
    "REJOIN MAN"
    "#);
    let archive = page.split(".SH ").find(|section| section.contains("REJOIN ARCHIVE")).unwrap();
    insta::assert_snapshot!(archive, @r#"
    "REJOIN ARCHIVE"
    .ie \n(.g .ds Aq \(aq
    .el .ds Aq '
    .SS DESCRIPTION
    Take sessions out of the list
    .ie \n(.g .ds Aq \(aq
    .el .ds Aq '
    .SS SYNOPSIS
    \fBrejoin archive\fR [\fB\-h\fR|\fB\-\-help\fR] <\fIID\fR> 
    .ie \n(.g .ds Aq \(aq
    .el .ds Aq '
    .SS OPTIONS
    .TP
    \fB\-h\fR, \fB\-\-help\fR
    Print help
    .TP
    <\fIID\fR>
    The sessions\*(Aq ids, or beginnings of them that no other ids have
    .ie \n(.g .ds Aq \(aq
    .el .ds Aq '
    .SS NOTES
    An archived session is kept, found by `rejoin search` and can be used as before.

    Examples:
      rejoin archive 0c5f2a91 5e7d0c41
      rejoin list \-\-archived              the archived ones
    "#);
}

#[test]
fn a_folder_gets_one_page_for_each_command() {
    let world = World::new();

    let done = world.run(&["man", "--dir", "man1"]);

    let written: Vec<&str> = done.stdout.lines().collect();
    assert!(written.contains(&"man1/rejoin.1") && written.contains(&"man1/rejoin-config-show.1"), "{done}");
    for file in written {
        assert!(fs::read_to_string(world.path(file)).unwrap().contains(".TH"), "{file}");
    }
    world.write("file", "");
    insta::assert_snapshot!(world.run(&["man", "--dir", "file"]), @"
    --- stderr
    error: file can't be written
    caused by: File exists (os error 17)
    --- exit 1
    ");
}
