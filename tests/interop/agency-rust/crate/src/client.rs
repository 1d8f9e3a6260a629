//! Several genuine clients, each under a name. Lines in: `{"id":…,"op":"connect","as":…,"socket":…}`,
//! `{"id":…,"op":"request","as":…,"message":{"type":…}}`, `{"id":…,"op":"drop","as":…}`. A line out
//! with `id` is an answer: the daemon's response or the client's version under `ok`, or the client's
//! own error. A line without is an event, or `lagged` where this program fell behind.

use agency_proxy_client::Client;
use agency_proxy_protocol::{ClientMessage, ServerFrame};
use serde_json::{Value, json};
use std::collections::HashMap;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::broadcast::{Receiver, error::RecvError};

#[tokio::main]
pub async fn run() {
    let mut clients: HashMap<String, Client> = HashMap::new();
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await.expect("stdin is UTF-8") {
        let asked: Value = serde_json::from_str(&line).expect("a line is JSON");
        let name = asked["as"].as_str().expect("who is asked").to_owned();
        let id = asked["id"].clone();
        match asked["op"].as_str() {
            Some("connect") => {
                let socket = asked["socket"].as_str().expect("a path");
                match Client::connect(socket).await {
                    Ok(client) => {
                        tokio::spawn(tell(name.clone(), client.subscribe()));
                        answer(id, json!({"ok": client.version()}));
                        clients.insert(name, client);
                    }
                    Err(error) => answer(id, json!({"error": error.to_string()})),
                }
            }
            Some("request") => match clients.get(&name) {
                Some(client) => {
                    let message = serde_json::from_value(asked["message"].clone());
                    ask(id, client.clone(), message.expect("a message of the protocol"));
                }
                None => answer(id, json!({"error": "not connected"})),
            },
            Some("drop") => {
                clients.remove(&name);
                answer(id, json!({"ok": null}));
            }
            op => panic!("no such op: {op:?}"),
        }
    }
}

fn ask(id: Value, client: Client, message: ClientMessage) {
    tokio::spawn(async move {
        match client.request(message).await {
            Ok(response) => answer(id, json!({"ok": response})),
            Err(error) => answer(id, json!({"error": error.to_string()})),
        }
    });
}

async fn tell(name: String, mut events: Receiver<ServerFrame>) {
    loop {
        match events.recv().await {
            Ok(frame) => println!("{}", json!({"as": name, "frame": frame})),
            Err(RecvError::Lagged(by)) => println!("{}", json!({"as": name, "lagged": by})),
            Err(RecvError::Closed) => break println!("{}", json!({"as": name, "end": true})),
        }
    }
}

fn answer(id: Value, mut said: Value) {
    said["id"] = id;
    println!("{said}");
}
