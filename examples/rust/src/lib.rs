//! A small AgencyProxy daemon: each run says its prompt's words, one event a word. It is what the
//! tests beside it test.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use serde_json::{json, Value};

const LONGEST: usize = 1 << 20; // bytes of a frame's JSON
const CANCELED: &str = "the run was canceled";

/// The runs, and a bell that rings when one has a new event.
#[derive(Default)]
struct Runs {
    by_id: Mutex<HashMap<String, Run>>,
    bell: Condvar,
}

struct Run {
    request: Value,
    state: &'static str,
    events: Vec<Value>, // the first is number 1
}

/// Serves at a socket until the process ends. `pace` is how long a word takes.
pub fn serve(path: &Path, pace: Duration) -> io::Result<()> {
    let listener = UnixListener::bind(path)?;
    let runs = Arc::new(Runs::default());
    for link in listener.incoming() {
        let (runs, link) = (runs.clone(), link?);
        thread::spawn(move || {
            // A link that ends, or says what nobody understands, concerns itself alone.
            let _ = talk(&runs, &link, pace);
            let _ = link.shutdown(std::net::Shutdown::Both);
        });
    }
    Ok(())
}

/// One link: its requests, one after the other. Attached runs write between the answers.
fn talk(runs: &Arc<Runs>, link: &UnixStream, pace: Duration) -> io::Result<()> {
    let out = Arc::new(Mutex::new(link.try_clone()?));
    let mut greeted = false;
    while let Some(frame) = read(link)? {
        let id = &frame["requestId"];
        let kind = frame["type"].as_str().unwrap_or("");
        let (answer, attached) = match (kind, greeted) {
            ("hello", false) => (hello(&frame), None),
            (_, false) => (
                error("protocol_violation", "the first frame must be hello"),
                None,
            ),
            ("attach_run", _) => attach(runs, &frame),
            _ => (serve_one(runs, kind, &frame, pace), None),
        };
        let refused = answer["type"] == "error";
        send(&out, response(id, answer))?;
        if !greeted && refused {
            return Ok(());
        }
        greeted = true;
        if let Some((run, after)) = attached {
            let (runs, out) = (runs.clone(), out.clone());
            thread::spawn(move || follow(&runs, &run, after, &out));
        }
    }
    Ok(())
}

fn hello(frame: &Value) -> Value {
    if frame["version"]["major"] != 0 {
        return error(
            "incompatible_version",
            "the protocol major version is incompatible",
        );
    }
    let minor = frame["version"]["minor"].as_u64().unwrap_or(0).min(3);
    json!({"type": "hello", "server_name": "example", "version": {"major": 0, "minor": minor},
           "capabilities": ["event_replay", "cancellation"]})
}

fn serve_one(runs: &Arc<Runs>, kind: &str, frame: &Value, pace: Duration) -> Value {
    let id = frame["run_id"].as_str().unwrap_or("").to_owned();
    let mut by_id = lock(runs);
    match kind {
        "hello" => error("protocol_violation", "hello may only be sent once"),
        "list_runs" => {
            let mut all: Vec<Value> = by_id.iter().map(|(id, run)| snapshot(id, run)).collect();
            all.sort_by_key(|each| each["runId"].to_string());
            json!({"type": "runs", "runs": all})
        }
        "probe_providers" => json!({"type": "providers", "providers": []}),
        "start_run" if by_id.contains_key(&id) => error("conflict", "run already exists"),
        "start_run" => {
            let run = Run {
                request: frame["request"].clone(),
                state: "starting",
                events: vec![],
            };
            by_id.insert(id.clone(), run);
            let runs = runs.clone();
            thread::spawn(move || work(&runs, &id, pace));
            accepted()
        }
        "detach_run" => accepted(),
        "cancel_run" | "ack_events" if !by_id.contains_key(&id) => not_found(),
        "ack_events" => accepted(),
        "cancel_run" => {
            drop(by_id);
            end(
                runs,
                &id,
                "canceled",
                json!({"type": "failed", "payload": CANCELED}),
            );
            accepted()
        }
        _ => error("internal", "this daemon does not do that"),
    }
}

fn attach(runs: &Runs, frame: &Value) -> (Value, Option<(String, usize)>) {
    let id = frame["run_id"].as_str().unwrap_or("");
    match lock(runs).get(id) {
        None => (not_found(), None),
        Some(run) => {
            let after = frame["after_sequence"].as_u64().unwrap_or(0) as usize;
            (
                json!({"type": "run", "run": snapshot(id, run)}),
                Some((id.to_owned(), after)),
            )
        }
    }
}

// --- runs

fn work(runs: &Runs, id: &str, pace: Duration) {
    let prompt = lock(runs)[id].request["prompt"]
        .as_str()
        .unwrap_or("")
        .to_owned();
    for word in prompt.split_inclusive(' ') {
        thread::sleep(pace);
        if !happen(
            runs,
            id,
            "running",
            json!({"type": "text", "payload": word}),
        ) {
            return;
        }
    }
    let outcome = json!({"agent": "claude", "exit_code": 0, "stop": "completed", "text": prompt});
    end(
        runs,
        id,
        "completed",
        json!({"type": "finished", "payload": outcome}),
    );
}

fn end(runs: &Runs, id: &str, state: &'static str, event: Value) {
    happen(runs, id, state, event);
}

/// Adds an event; false where the run has ended, and there can be none.
fn happen(runs: &Runs, id: &str, state: &'static str, event: Value) -> bool {
    let mut by_id = lock(runs);
    let run = by_id.get_mut(id).expect("runs are never removed");
    let open = !ended(run);
    if open {
        run.state = state;
        run.events.push(event);
        runs.bell.notify_all();
    }
    open
}

fn ended(run: &Run) -> bool {
    matches!(run.state, "completed" | "failed" | "canceled")
}

/// Writes a run's events above `after`, and those to come, until there can be no more.
fn follow(runs: &Runs, id: &str, mut after: usize, out: &Mutex<UnixStream>) -> io::Result<()> {
    loop {
        let mut by_id = lock(runs);
        while by_id[id].events.len() <= after {
            if ended(&by_id[id]) {
                return Ok(());
            }
            by_id = runs.bell.wait(by_id).unwrap();
        }
        let event = by_id[id].events[after].clone();
        drop(by_id); // whoever does not read must not hold up the others
        after += 1;
        send(
            out,
            json!({"kind": "event", "run_id": id, "sequence": after, "event": event}),
        )?;
    }
}

fn snapshot(id: &str, run: &Run) -> Value {
    json!({"runId": id, "state": run.state, "provider": run.request["provider"],
           "model": run.request["model"], "providerSessionId": null,
           "latestSequence": run.events.len(), "acknowledgedSequence": 0,
           "workspaceRoots": run.request["workspaceRoots"], "metadata": {}})
}

fn lock(runs: &Runs) -> MutexGuard<'_, HashMap<String, Run>> {
    runs.by_id.lock().unwrap()
}

// --- the wire: u32 length, a kind of 0, one JSON text

fn accepted() -> Value {
    json!({"type": "accepted"})
}

fn not_found() -> Value {
    error("not_found", "run does not exist")
}

fn error(code: &str, message: &str) -> Value {
    json!({"type": "error", "code": code, "message": message})
}

fn response(id: &Value, mut answer: Value) -> Value {
    answer["kind"] = json!("response");
    answer["request_id"] = id.clone();
    answer
}

fn send(out: &Mutex<UnixStream>, frame: Value) -> io::Result<()> {
    let text = frame.to_string();
    let mut bytes = (text.len() as u32 + 1).to_be_bytes().to_vec();
    bytes.push(0);
    bytes.extend(text.as_bytes());
    out.lock().unwrap().write_all(&bytes)
}

/// The next frame; none where the link has ended.
fn read(mut link: &UnixStream) -> io::Result<Option<Value>> {
    let mut head = [0; 4];
    match link.read_exact(&mut head) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let size = u32::from_be_bytes(head) as usize;
    if !(2..=LONGEST + 1).contains(&size) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "a frame of a wrong size",
        ));
    }
    let mut body = vec![0; size];
    link.read_exact(&mut body)?;
    Ok(Some(serde_json::from_slice(&body[1..])?))
}
