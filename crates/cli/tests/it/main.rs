//! The program, run as people run it: each test has its own home, folder and store.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

#[cfg(target_os = "linux")]
mod acp;
mod pty;
mod terminal;
#[cfg(target_os = "linux")]
mod test_acp;
mod test_agents;
mod test_archive;
mod test_built_in;
mod test_chat;
mod test_check;
mod test_completions;
mod test_config;
mod test_delete;
#[cfg(target_os = "linux")]
mod test_disk;
mod test_doctor;
#[cfg(target_os = "linux")]
mod test_environment;
mod test_export;
mod test_fork;
mod test_gc;
mod test_global;
mod test_histories;
mod test_import;
mod test_in_use;
#[cfg(target_os = "linux")]
mod test_kill;
mod test_list;
mod test_man;
#[cfg(target_os = "linux")]
mod test_model_server;
#[cfg(target_os = "linux")]
mod test_peers;
mod test_rename;
mod test_search;
mod test_setup;
mod test_show;
mod test_stats;
mod test_verify;
mod world;
