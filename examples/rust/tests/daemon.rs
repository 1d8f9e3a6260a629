mod fake;

use std::path::PathBuf;
use std::time::Duration;
use std::{env, fs, process, thread};

use fake::Fake;
use serde_json::{json, Value};

/// A folder of a test's own, gone with this.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The daemon under test, in this process, and a client that has found it.
fn meet(name: &str, pace: u64) -> (Fake, Folder) {
    let folder: PathBuf = env::temp_dir().join(format!("daemon-{}-{name}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    let socket = folder.join("s");
    let place = socket.clone();
    thread::spawn(move || daemon::serve(&place, Duration::from_millis(pace)));
    let client = Fake::start(&["agency-client", "--socket", socket.to_str().unwrap()]);
    (client, Folder(folder))
}

fn start(client: &mut Fake, run: &str, prompt: &str) {
    let input = json!({"prompt": prompt, "provider": "claude"});
    client.ask(
        "start",
        json!({"run": run, "input": input, "permission": "plan"}),
    );
    client.ask("follow", json!({ "run": run }));
}

/// What a run has said when it has ended, and how.
fn all_of(client: &mut Fake, run: &str) -> (String, Value) {
    let ended = client.ask("wait", json!({"run": run, "timeout_ms": 20_000}));
    let mut text = String::new();
    for seq in 1.. {
        let event = client.until(json!({"event": "run", "run": run, "seq": seq}));
        match event["type"].as_str().unwrap() {
            "TextProduced" => text += event["text"].as_str().unwrap(),
            "RunFinished" => break,
            _ => {}
        }
    }
    (text, ended["state"].clone())
}

#[test]
fn a_run_says_its_words_and_succeeds() {
    let (mut client, _folder) = meet("words", 1);
    start(&mut client, "run-1", "one two three");
    assert_eq!(
        all_of(&mut client, "run-1"),
        ("one two three".into(), json!("succeeded"))
    );
}

#[test]
fn a_run_that_is_cancelled_ends_so() {
    let (mut client, _folder) = meet("cancel", 60_000);
    start(&mut client, "run-1", "one");
    client.ask("cancel", json!({"run": "run-1"}));
    assert_eq!(all_of(&mut client, "run-1").1, "canceled");
}

#[test]
fn two_runs_do_not_mix() {
    let (mut client, _folder) = meet("two", 1);
    start(&mut client, "run-1", "a b c");
    start(&mut client, "run-2", "x y z");
    assert_eq!(all_of(&mut client, "run-2").0, "x y z");
    assert_eq!(all_of(&mut client, "run-1").0, "a b c");
}

/// The client's links are cut after a few frames, again and again. It attaches from the last event
/// that it has, so a daemon that replays too much, or too little, shows here.
#[test]
fn a_client_that_comes_back_misses_nothing() {
    let (mut client, _folder) = meet("back", 1);
    let prompt = (0..25).map(|n| n.to_string()).collect::<Vec<_>>().join(" ");
    client.ask("fault", json!({"drop_after": 15}));
    start(&mut client, "run-1", &prompt);
    client.until(json!({"event": "link", "state": "down"}));
    assert_eq!(all_of(&mut client, "run-1"), (prompt, json!("succeeded")));
}
