import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { run } from "./console.mjs";
import { startFake } from "./fake.mjs";

const script = join(import.meta.dirname, "script.toml");

async function startDaemon(t, ...words) {
  const folder = await mkdtemp(join(tmpdir(), "console-"));
  const socket = join(folder, "run", "agent.sock");
  const daemon = await startFake(
    t, "agency-daemon", "--socket", socket, "--script", script, ...words,
  );
  t.after(() => rm(folder, { recursive: true }));
  return { daemon, socket };
}

const never = () => false;

test("a run is watched to its end", async (t) => {
  const { socket } = await startDaemon(t);
  const { text, state } = await run(socket, "run-1", "count", never);
  assert.equal(text, "x".repeat(30));
  assert.equal(state, "finished");
});

test("a failure is one", async (t) => {
  const { socket } = await startDaemon(t);
  assert.equal((await run(socket, "run-1", "break", never)).state, "failed");
});

test("whoever may decide is asked", async (t) => {
  const { daemon, socket } = await startDaemon(t, "--frames");
  const asked = [];
  await run(socket, "run-1", "deploy", (title) => asked.push(title));
  assert.deepEqual(asked, ["Really deploy?"]);
  const decided = await daemon.until({ event: "frame", dir: "in", name: "decide_approval" });
  assert.equal(decided.message.decision, "allow_once");
});

// Each link is cut after twelve frames, so the run takes several; nothing may be missing in the
// end, and nothing may be there twice.
test("links that break lose nothing", async (t) => {
  const { socket } = await startDaemon(t, "--fault", "drop_after=12");
  const { text, links } = await run(socket, "run-1", "count", never);
  assert.equal(text, "x".repeat(30));
  assert.ok(links >= 3, `${links} links`);
});
