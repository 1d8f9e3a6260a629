"""A console over the genuine client, for `gateway tck agency client`: it dials, dials again when
its link has ended, and does what its lines say, as the GUI does it.

    console.py CRATE SOCKET

Lines in: `run NAME PROMPT`, `send RUN TEXT`, `approve RUN APPROVAL`, `cancel RUN`.
"""

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from typing import Any

RETRY = 0.05
POLL = 0.6
"""Seconds without a word, after which it asks for the runs: what has no request under way does
not hear of its link's end from the genuine client. The kit's `--quiet` is shorter."""
LAST = 2**64 - 1
REQUEST = {
    "provider": "claude",
    "model": "",
    "permission": "plan",
    "approvals": True,
    "interactive": True,
    "workspaceRoots": [],
}


class Console:
    """What a person sees, and asks for."""

    def __init__(self, crate: str, socket: str) -> None:
        pipe = subprocess.PIPE
        self._client = subprocess.Popen([crate, "client"], stdin=pipe, stdout=pipe, text=True)
        self._socket = socket
        self._said: queue.Queue[tuple[str, str] | None] = queue.Queue()
        self._runs: dict[str, int] = {}
        """The last event of each run that has not ended."""
        self._link = 0

    def serve(self) -> None:
        """Until standard input ends."""
        assert self._client.stdout is not None
        self._read("client", self._client.stdout)
        self._read("person", sys.stdin)
        self._connect()
        while (said := self._next()) is not None:
            who, line = said
            if who == "nobody":
                self._ask("list_runs", f"poll {self._link}")
            elif who == "person":
                self._do(*line.split(" ", 2))
            else:
                self._take(json.loads(line))
        self._client.kill()
        self._client.wait()

    def _next(self) -> tuple[str, str] | None:
        try:
            return self._said.get(timeout=POLL)
        except queue.Empty:
            return "nobody", ""

    def _read(self, who: str, lines: Iterable[str]) -> None:
        def read() -> None:
            for line in lines:
                self._said.put((who, line.rstrip("\n")))
            self._said.put(None)

        threading.Thread(target=read, daemon=True).start()

    def _tell(self, op: str, id: str = "", **members: Any) -> None:
        assert self._client.stdin is not None
        line = {"op": op, "id": id, "as": str(self._link), **members}
        self._client.stdin.write(json.dumps(line) + "\n")
        self._client.stdin.flush()

    def _ask(self, type: str, id: str = "", **members: Any) -> None:
        self._tell("request", id, message={"type": type, **members})

    def _connect(self) -> None:
        self._tell("drop")
        self._link += 1
        self._tell("connect", "connect", socket=self._socket)

    def _do(self, what: str, run: str, text: str = "") -> None:
        key = {"run_id": run, "idempotency_key": f"{run}:{what}"}
        match what:
            case "run":
                self._ask("start_run", f"start {run}", request={**REQUEST, "prompt": text}, **key)
            case "send":
                self._ask("inject_message", body=text, **key)
            case "approve":
                self._ask("decide_approval", approval_id=text, decision="allow_once", **key)
            case "cancel":
                self._ask("cancel_run", **key)

    def _take(self, said: dict[str, Any]) -> None:
        what, _, run = said.get("id", "").partition(" ")
        if what == "poll":
            if "error" in said and run == str(self._link):
                self._connect()
        elif "frame" in said:
            self._see(said["frame"])
        elif what == "connect" and "error" in said:
            time.sleep(RETRY)
            self._connect()
        elif what == "connect":
            for each in self._runs:
                self._attach(each)
        elif what == "attach" and said.get("ok", {}).get("code") == "not_found":
            self._runs.pop(run, None)
        elif what == "start" and said.get("ok", {}).get("code", "conflict") == "conflict":
            self._runs[run] = 0
            self._attach(run)

    def _attach(self, run: str) -> None:
        self._ask("attach_run", f"attach {run}", run_id=run, after_sequence=self._runs[run])

    def _see(self, frame: dict[str, Any]) -> None:
        run, last = frame["run_id"], frame["sequence"]
        if last <= self._runs.get(run, LAST):
            return
        self._runs[run] = last
        if frame["event"]["type"] in ("finished", "failed"):
            del self._runs[run]
            self._ask("ack_events", run_id=run, through_sequence=LAST)


if __name__ == "__main__":
    Console(*sys.argv[1:]).serve()
