// Starts `gateway fake …` for a test, and speaks its JSON lines.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";

// How long any one thing is waited for. Only what hangs takes that long.
const PATIENCE = 30_000;

/**
 * Starts `gateway fake WORDS…`, waits until it is ready, and ends it when the test `t` is over.
 * The program is the one that the variable GATEWAY names, else `gateway` on the path.
 */
export async function startFake(t, ...words) {
  const fake = new Fake(spawn(process.env.GATEWAY ?? "gateway", ["fake", ...words]));
  t.after(() => fake.end());
  fake.address = (await fake.until({ event: "ready" })).address;
  return fake;
}

class Fake {
  #child;
  #kept = []; // lines that nobody has taken
  #looking = []; // whoever waits for one
  #asked = 0;
  #said = "";
  #ended;

  constructor(child) {
    this.#child = child;
    child.stdin.on("error", () => {}); // it has ended; `until` says so
    child.stderr.on("data", (text) => (this.#said += text));
    createInterface({ input: child.stdout }).on("line", (line) => this.#take(JSON.parse(line)));
    this.#ended = new Promise((resolve) => {
      child.on("error", (error) => this.#over(resolve, error.message));
      child.on("close", (code) => this.#over(resolve, `it has ended with ${code}`));
    });
  }

  /** Has the fake do something, and answers what it says. Rejects where it refuses. */
  async ask(op, members = {}) {
    const id = String(++this.#asked);
    this.#child.stdin.write(`${JSON.stringify({ op, id, ...members })}\n`);
    const answer = await this.until({ id });
    if (!answer.ok) throw new Error(`${op}: ${answer.error.code}: ${answer.error.message}`);
    return answer;
  }

  /** Waits for a line with all these members. Lines before it are kept for later. */
  until(members) {
    const at = this.#kept.findIndex((line) => has(line, members));
    if (at >= 0) return Promise.resolve(this.#kept.splice(at, 1)[0]);
    return new Promise((resolve, reject) => {
      const fail = (why) => {
        clearTimeout(late);
        const wanted = JSON.stringify(members);
        reject(new Error(`${wanted} did not come: ${why}\n${this.#said}`));
      };
      const late = setTimeout(() => fail(`what came is ${JSON.stringify(this.#kept)}`), PATIENCE);
      const found = (line) => {
        clearTimeout(late);
        resolve(line);
      };
      if (this.over) fail(this.over);
      else this.#looking.push({ members, found, fail });
    });
  }

  /** Ends it: the end of its input is its end. */
  async end() {
    const kill = setTimeout(() => this.#child.kill("SIGKILL"), PATIENCE);
    this.#child.stdin.end();
    await this.#ended;
    clearTimeout(kill);
  }

  #take(line) {
    const at = this.#looking.findIndex(({ members }) => has(line, members));
    if (at < 0) this.#kept.push(line);
    else this.#looking.splice(at, 1)[0].found(line);
  }

  #over(resolve, why) {
    this.over = why;
    for (const { fail } of this.#looking.splice(0)) fail(why);
    resolve();
  }
}

function has(line, members) {
  return Object.entries(members).every(([name, value]) => isDeepStrictEqual(line[name], value));
}
