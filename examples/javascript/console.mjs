// Asks an AgencyProxy daemon for runs. It is what the tests beside it test.

import { createConnection } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const LONGEST = 1 << 20; // bytes of a frame's JSON
const ATTEMPTS = 5; // links in a row that bring nothing new
const PAUSE = 50; // milliseconds

/**
 * Starts a run and watches it to its end. Where the link ends before the run does, it goes on with
 * another one, from the last event that it has seen. `allow` is asked, with the title, about what
 * the run may do.
 *
 * Answers what it has said (`text`), how it ended (`state`), and how many `links` it took.
 */
export async function run(socket, id, prompt, allow) {
  const result = { text: "", state: "", links: 0 };
  let seen = 0;
  let failure;
  for (let tries = 0; tries < ATTEMPTS; tries++) {
    const before = seen;
    try {
      for await (const event of watch(socket, id, prompt, () => seen, result)) {
        if (event.sequence <= seen) continue;
        seen = event.sequence;
        if (await take(event, result, allow)) return result;
      }
    } catch (error) {
      if (error instanceof Refused) throw error;
      failure = error;
    }
    if (seen > before) tries = 0;
    await sleep(PAUSE);
  }
  throw failure ?? new Error(`${id}: its links bring nothing new`);
}

async function take({ type, payload, link, run }, result, allow) {
  if (type === "text") result.text += payload;
  if (type === "approval_requested") {
    const decision = (await allow(payload.title)) ? "allow_once" : "deny";
    const { approval_id } = payload;
    const idempotency_key = `${run}:${approval_id}`;
    await link.ask("decide_approval", { run_id: run, approval_id, decision, idempotency_key });
  }
  if (type !== "finished" && type !== "failed") return false;
  result.state = type;
  return true;
}

/** The run's events above those seen, over one link. */
async function* watch(socket, run, prompt, seen, result) {
  const link = await Link.open(socket);
  result.links++;
  try {
    await link.ask("hello", { client_name: "console", version: { major: 0, minor: 3 } });
    const request = {
      provider: "claude", model: "", prompt, permission: "plan",
      approvals: true, interactive: false, workspaceRoots: [],
    };
    try {
      await link.ask("start_run", { run_id: run, request, idempotency_key: `${run}:start` });
    } catch (error) {
      if (error.code !== "conflict") throw error; // else an earlier link has started it
    }
    await link.ask("attach_run", { run_id: run, after_sequence: seen() });
    for await (const { run_id, sequence, event } of link.events()) {
      if (run_id === run) yield { ...event, sequence, link, run };
    }
  } finally {
    link.close();
  }
}

class Refused extends Error {
  constructor({ code, message }) {
    super(`${code}: ${message}`);
    this.code = code;
  }
}

/** The wire: u32 length, a kind of 0, one JSON text. */
class Link {
  #socket;
  #buffer = Buffer.alloc(0);
  #asked = 0;
  #waiting = new Map(); // by request id
  #events = [];
  #wake = () => {};
  #ended;

  static open(path) {
    return new Promise((resolve, reject) => {
      const socket = createConnection(path);
      socket.once("error", reject);
      socket.once("connect", () => resolve(new Link(socket)));
    });
  }

  constructor(socket) {
    this.#socket = socket;
    socket.on("data", (bytes) => this.#read(bytes));
    socket.on("error", (error) => this.#end(error));
    socket.on("close", () => this.#end(new Error("the link has ended")));
  }

  ask(type, members) {
    if (this.#ended) return Promise.reject(this.#ended);
    const requestId = ++this.#asked;
    const text = Buffer.from(JSON.stringify({ requestId, type, ...members }));
    const head = Buffer.alloc(5);
    head.writeUInt32BE(text.length + 1);
    this.#socket.write(Buffer.concat([head, text]));
    return new Promise((resolve, reject) => this.#waiting.set(requestId, { resolve, reject }));
  }

  async *events() {
    for (;;) {
      while (this.#events.length > 0) yield this.#events.shift();
      if (this.#ended) throw this.#ended;
      await new Promise((resolve) => (this.#wake = resolve));
    }
  }

  close() {
    this.#socket.destroy();
  }

  #read(bytes) {
    this.#buffer = Buffer.concat([this.#buffer, bytes]);
    while (this.#buffer.length >= 4) {
      const size = this.#buffer.readUInt32BE();
      if (size < 1 || size > LONGEST + 1) return this.#end(new Error(`a frame of ${size} bytes`));
      if (this.#buffer.length < 4 + size) return;
      const text = this.#buffer.toString("utf8", 5, 4 + size);
      this.#buffer = this.#buffer.subarray(4 + size);
      try {
        this.#take(JSON.parse(text));
      } catch (error) {
        return this.#end(error);
      }
    }
  }

  #take(frame) {
    if (frame.kind === "event") {
      this.#events.push(frame);
      this.#wake();
      return;
    }
    const waiting = this.#waiting.get(frame.request_id);
    this.#waiting.delete(frame.request_id);
    if (frame.type === "error") waiting?.reject(new Refused(frame));
    else waiting?.resolve(frame);
  }

  #end(error) {
    this.#ended ??= error;
    this.#socket.destroy();
    for (const { reject } of this.#waiting.values()) reject(this.#ended);
    this.#waiting.clear();
    this.#wake();
  }
}
