//! A line in is a letter and a JSON string, the text of a frame: `c` what a client sends, `s` what
//! a daemon sends, `e` an event alone. A line out is `+` and what the genuine types write of it,
//! or `-` and why they do not read it.

use agency_proxy_protocol::{ClientFrame, RunEvent, ServerFrame};
use serde::{Serialize, de::DeserializeOwned};
use std::io::{self, BufRead, BufWriter, Write};

pub fn run() {
    let mut out = BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let line = line.expect("lines are UTF-8");
        let (kind, quoted) = line.split_at(1);
        let text: String = serde_json::from_str(quoted).expect("a JSON string follows the letter");
        let answer = match kind {
            "c" => again::<ClientFrame>(&text),
            "s" => again::<ServerFrame>(&text),
            "e" => again::<RunEvent>(&text),
            _ => panic!("no such kind: {kind}"),
        };
        match answer {
            Ok(text) => writeln!(out, "+{text}"),
            Err(error) => writeln!(out, "-{}", error.to_string().escape_default()),
        }
        .and_then(|()| out.flush())
        .expect("whoever asks also reads");
    }
}

fn again<T: DeserializeOwned + Serialize>(text: &str) -> serde_json::Result<String> {
    serde_json::to_string(&serde_json::from_str::<T>(text)?)
}
