//! An MCP server on stdio, for tests: `scripted-mcp [FAULT]`.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is how the server speaks")]

use std::io::{BufRead, stdin};
use std::process::{Command, ExitCode};

use serde_json::Value;

mod script;

fn main() -> ExitCode {
    let fault = std::env::args().nth(1).unwrap_or_default();
    match fault.as_str() {
        "exit" => {
            eprintln!("scripted: the licence {} has expired", std::env::var("KEY").unwrap());
            return ExitCode::from(3);
        }
        "garbage" => println!("Starting…\n{{{{{{ not json\n42\n[]\n\u{1b}[32mready\u{1b}[0m\n"),
        _ => {}
    }
    let mut script = script::Script::default();
    script.fault.clone_from(&fault);
    for line in stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        for answer in script.hear(&message) {
            if fault == "garbage" {
                println!("about to answer {}", answer["id"]);
            }
            println!("{answer}");
        }
        if script.is_dead {
            eprintln!("scripted: out of memory");
            return ExitCode::from(9);
        }
    }
    if fault == "stubborn" {
        // It has started something, and neither ends with its input.
        Command::new("sleep").arg("1000").spawn().unwrap().wait().unwrap();
    }
    ExitCode::SUCCESS
}
