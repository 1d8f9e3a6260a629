"""A command-line agent for the genuine daemon: prints stream-json as Claude Code does.

The prompt says what it does. It comes as the last of `-p PROMPT`, or, with `--input-format
stream-json`, as the first line of stdin, and what is injected as the lines after it.
"""

import json
import os
import signal
import sys
import time
from typing import Any


def say(type: str, **members: Any) -> None:
    sys.stdout.write(json.dumps({"type": type, "session_id": "s-1", **members}) + "\n")
    sys.stdout.flush()


def delta(kind: str, text: str) -> None:
    event = {"type": "content_block_delta", "delta": {"type": f"{kind}_delta", kind: text}}
    say("stream_event", event=event)


def block(role: str, **members: Any) -> None:
    say(role, message={"content": [members]})


def heard() -> str | None:
    """The next message, or None once there is none; a decision is its word."""
    for line in sys.stdin:
        said = json.loads(line)
        if said["type"] == "user":
            return str(said["message"]["content"][0]["text"])
        if said["type"] == "control_response":
            return str(said["response"]["response"]["behavior"])
    return None


def result(text: str, **members: Any) -> None:
    usage = {"input_tokens": 3, "output_tokens": 5}
    say("result", result=text, stop_reason="end_turn", usage=usage, **members)


def talk() -> None:
    """One of everything that Claude says."""
    delta("thinking", "hmm")
    usage = {"input_tokens": 3, "cache_read_input_tokens": 10}
    say("assistant", message={"id": "m-1", "usage": usage, "content": []})
    delta("text", "well — 😀\n")
    block("assistant", type="tool_use", id="t1", name="Bash", input={"b": 1, "a": [1.5, None]})
    block("user", type="tool_result", tool_use_id="t1", is_error=False, content="ok")
    limit = {"status": "allowed", "rateLimitType": "five_hour", "resetsAt": 1785260400}
    say("rate_limit_event", rate_limit_info=limit)
    say("system", subtype="status", status="compacting")
    say("system", subtype="status", status=None, compact_result="success")
    result("all done")


def ask() -> None:
    """May I? The answer becomes a tool's result."""
    block("assistant", type="tool_use", id="t1", name="Bash", input={"command": "touch x"})
    request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "touch x"}}
    say("control_request", request_id="req-7", request=request)
    block("user", type="tool_result", tool_use_id="t1", content=f"behavior={heard()}")
    result("asked")


def listen() -> None:
    """Says what it hears, until it hears `stop`."""
    delta("text", "listening")
    while (said := heard()) not in (None, "stop"):
        delta("text", f"heard: {said}")
    result("listened")


def two() -> None:
    """Takes two messages."""
    for _ in range(2):
        delta("text", f"heard: {heard()}")
    result("both")


def main() -> None:
    words = sys.argv[1:]
    prompt = heard() if "stream-json" in words[words.index("-p") + 1 : 4] else words[1]
    names = ["compact", "verify"]
    say("system", subtype="init", model="m-1", slash_commands=names, skills=["verify"])
    match (prompt or "").split():
        case ["talk"]:
            talk()
        case ["ask"]:
            ask()
        case ["listen"]:
            listen()
        case ["two"]:
            two()
        case ["count", number]:
            for at in range(int(number)):
                delta("text", f"{at}\n")
            result("counted")
        case ["break"]:
            sys.stderr.write("boom\n")
            sys.exit(3)
        case ["hold"]:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            parent = os.getppid()  # who hears the next word may kill the daemon at once
            delta("text", "holding")
            while os.getppid() == parent:  # a daemon that is killed leaves nobody behind
                time.sleep(0.1)
        case ["poison"]:
            sys.stderr.write("\n" * 1_000_000)  # escaped, more than a frame holds
            delta("text", "before")
            result("poisoned")
        case _:
            result(prompt or "")


if __name__ == "__main__":
    main()
