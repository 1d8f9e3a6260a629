//! Starts `gateway fake …` for a test, and speaks its JSON lines.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{channel, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{json, Value};

/// How long any one thing is waited for. Only what hangs takes that long.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A fake that runs until this is dropped. What it says on stderr is shown where the test's is.
pub struct Fake {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    kept: Vec<Value>,
    asked: u32,
}

impl Fake {
    /// Starts `gateway fake WORDS…` and waits until it is ready. The program is the one that the
    /// variable GATEWAY names, else `gateway` on the path.
    pub fn start(words: &[&str]) -> Fake {
        let program = env::var("GATEWAY").unwrap_or("gateway".into());
        let mut child = Command::new(program)
            .arg("fake")
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("gateway is installed");
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (heard, lines) = channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let line = serde_json::from_str(&line).expect("a fake writes JSON");
                if heard.send(line).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        let mut fake = Fake {
            child,
            stdin,
            lines,
            kept: vec![],
            asked: 0,
        };
        fake.until(json!({"event": "ready"}));
        fake
    }

    /// Has the fake do something, and answers what it says. Panics where it refuses.
    pub fn ask(&mut self, op: &str, members: Value) -> Value {
        self.asked += 1;
        let id = self.asked.to_string();
        let mut line = members;
        line["op"] = json!(op);
        line["id"] = json!(id);
        writeln!(self.stdin.as_ref().unwrap(), "{line}").expect("the fake runs");
        let answer = self.until(json!({ "id": id }));
        assert_eq!(answer["ok"], true, "{op}: {answer}");
        answer
    }

    /// Waits for a line with all these members. Lines before it are kept for later.
    pub fn until(&mut self, members: Value) -> Value {
        if let Some(at) = self.kept.iter().position(|line| has(line, &members)) {
            return self.kept.remove(at);
        }
        let by = Instant::now() + PATIENCE;
        loop {
            let left = by.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if has(&line, &members) => return line,
                Ok(line) => self.kept.push(line),
                Err(why) => panic!(
                    "{members} did not come ({why}); what came is {:?}",
                    self.kept
                ),
            }
        }
    }
}

impl Drop for Fake {
    /// The end of its input is its end.
    fn drop(&mut self) {
        self.stdin = None;
        let by = Instant::now() + PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < by {
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn has(line: &Value, members: &Value) -> bool {
    members
        .as_object()
        .unwrap()
        .iter()
        .all(|(name, value)| line.get(name) == Some(value))
}
