//! An ACP agent on standard input and output that does what it is told: see [`rejoin_testing::agent`].

use rejoin_testing::agent;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    agent::run(agent::Args::read(std::env::args().skip(1))).await;
}
