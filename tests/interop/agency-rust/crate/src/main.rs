//! Two ways to meet the genuine AgencyProxy crates from a test, one JSON line at a time:
//! `oracle` reads and writes frames with their types, `client` drives their client.

mod client;
mod oracle;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("oracle") => oracle::run(),
        Some("client") => client::run(),
        _ => {
            eprintln!("usage: fleetgate-interop-agency oracle | client");
            std::process::exit(2);
        }
    }
}
