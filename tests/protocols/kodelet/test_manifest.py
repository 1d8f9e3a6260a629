"""The digest's vectors (case 41), and every fault of a manifest (W 10.2)."""

import base64
import json
from typing import Any

import attrs
import pytest

from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet import go_json
from fleetgate.protocols.kodelet import manifest as m
from fleetgate.protocols.kodelet.structs import write
from fleetgate.protocols.kodelet.testing import MANIFEST

V1 = '{"protocolVersion":1,"workingDirectory":"/w"%s}'
V5 = (
    ',"tools":[{"name":"t","description":"a<b>&c \\u2028 \\u007f \\u0001 \\b\\f \\u00e9",'
    '"inputSchema":{"z":1.0,"a":{"y":1e21,"x":1e-7,"w":0.1,"v":9007199254740993,"u":-0,'
    '"t":1e20,"s":123456789.5,"r":1E2,"q":0.000001},"\\u00e9":null,"&":[true,"\\ud800",{}]},'
    '"placement":"environment"}]'
)
V7 = (
    ',"contextFiles":[{"path":"AGENTS.md","content":"rules","digest":"sha256:0"}],'
    '"skills":[{"name":"s","description":"d","source":"/s","digest":"sha256:1"}],'
    '"commands":[{"name":"review","description":"d","hint":"h","placeholder":"p",'
    '"digest":"sha256:2"},{"name":"b","description":""}],'
    '"config":{"allowedCommands":["go test *"],"toolMode":"full","enableFSSearchTools":true,'
    '"systemPromptPath":"/p","systemPromptContent":"c","systemPromptArgs":{"b":"2","a":"1"}},'
    '"capabilities":{"toolUpdates":true,"interactiveUI":true,"persistentSurfaces":true,'
    '"commands":true}'
)
PLAIN = "37f390f845b235cecbb3cbb83fbc221495dce0c255120b9ae512053d46297697"
VECTORS = {
    "V1": ("", PLAIN),
    "V2": (
        ',"runnerId":"runner_x","runId":"run_x","generation":7,"digest":"sha256:old",'
        '"extensionGeneration":9',
        PLAIN,
    ),
    "V3": (
        ',"contextFiles":[],"tools":[],"skills":[],"commands":[]',
        "13fc32fcbf4f241d8cd4476bd03eee3a14cdac8282448c3a41a971d79bfe536d",
    ),
    "V4": (
        ',"config":{"systemInformation":{"isGitRepo":true,"platform":"linux",'
        '"osVersion":"Linux 6.1","date":"2026-08-12"}}',
        PLAIN,
    ),
    "V5": (V5, "fa2930ba1360904b4dd4cfd6e821207607f13e36c97a0f836cdf9ae64fdf0a3c"),
    "V6": (
        ',"tools":[{"name":"t","description":"d","inputSchema":null,"placement":"environment",'
        '"future":1}],"future":{"x":1}',
        "0b1094935eb7dda8f4808812b22af7551964bda3af4f8e6f2f15349c8ab0f219",
    ),
    "V7": (V7, "9fcbd494b0208d58695bfe345f44414a7aa3b2bf88f42115937b23c266fb2a51"),
}
OPENED = m.Opened("R", "r1", 1)


def parsed(more: str) -> m.Manifest:
    return m.read_manifest(go_json.load((V1 % more).encode()))


@pytest.mark.parametrize("name", VECTORS)
def test_case_41_digest_vectors(name: str) -> None:
    more, digest = VECTORS[name]
    assert m.digest_of(parsed(more)) == f"sha256:{digest}"


def test_the_canonical_text_of_v1_and_v5() -> None:
    assert len(m.canonical_text(parsed(""))) == 299
    text = m.canonical_text(parsed(V5)).encode()
    assert len(text) == 578
    assert base64.b64encode(text).startswith(b"eyJwcm90b2NvbFZlcnNpb24iOjEsInJ1bm5lcklk")


def test_the_manifest_of_the_cases_is_right() -> None:
    assert m.check(m.read_manifest(MANIFEST), OPENED, ()) is None


def test_a_manifest_goes_out_and_comes_in() -> None:
    for more, _ in VECTORS.values():
        made = parsed(more)
        assert m.read_manifest(json.loads(json.dumps(write(made)))) == made


SYSTEM: Any = {"isGitRepo": False, "platform": "linux", "osVersion": "6", "date": "2026-08-12"}


def tool(**members: Any) -> Any:
    return {"name": "t", "description": "", "placement": "environment", **members}


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"protocolVersion": 2}, "uses protocol version 2"),
        ({"runnerId": "other"}, "identity does not match"),
        ({"runId": "other"}, "identity does not match"),
        ({"generation": 2}, "identity does not match"),
        ({"tools": [tool(name=" ")]}, "a tool without a name"),
        ({"tools": [tool(name="get_goal")]}, "get_goal collides with a reserved"),
        ({"tools": [tool(placement="server")]}, 'tool t has invalid placement "server"'),
        ({"tools": [tool(), tool()]}, "duplicate tool t"),
        ({"config": {"systemInformation": {**SYSTEM, "platform": ""}}}, "missing its platform"),
        ({"config": {"systemInformation": {**SYSTEM, "osVersion": ""}}}, "missing its OS version"),
        ({"config": {"systemInformation": {**SYSTEM, "date": "12.8.2026"}}}, "an invalid date"),
        ({"config": {"systemInformation": {**SYSTEM, "date": "2026-02-30"}}}, "an invalid date"),
    ],
)
def test_faults_of_a_manifest(members: Any, text: str) -> None:
    made = m.sealed(m.read_manifest({**MANIFEST, **members}))
    assert text in (m.check(made, OPENED, ["get_goal"]) or "")


def test_a_digest_that_is_missing_or_wrong() -> None:
    made = m.read_manifest(MANIFEST)
    empty, wrong = attrs.evolve(made, digest=""), attrs.evolve(made, working_directory="/x")
    assert m.check(empty, OPENED, ()) == "runner manifest digest is required"
    assert m.check(wrong, OPENED, ()) == "runner manifest digest does not match its contents"


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {"tools": [{"inputSchema": 1}]},
        {"tools": [{"inputSchema": {"a": [1, float("inf")]}}]},  # 1e400, which Go refuses
        {"generation": 1.0},
    ],
)
def test_what_is_no_manifest(value: Any) -> None:
    with pytest.raises(Malformed):
        m.read_manifest(value)


def context(path: str, digest: str | None = None) -> m.ContextFile:
    return m.ContextFile(path, "x", m.content_digest("x") if digest is None else digest)


@pytest.mark.parametrize(
    ("files", "text"),
    [
        ((context("a"), context("b")), None),
        ((context(" "),), "without a path"),
        ((context("a"), context("a")), "duplicate context file a"),
        ((context("a", "sha256:wrong"),), "a does not match its digest"),
    ],
)
def test_context_files(files: tuple[m.ContextFile, ...], text: str | None) -> None:
    said = m.check_contexts(m.Manifest(context_files=files))
    assert said is None if text is None else text in (said or "")


def test_the_digest_of_the_case_59_manifest() -> None:
    files = [{"path": "AGENTS.md", "content": "runner instructions", "digest": "sha256:wrong"}]
    made = m.read_manifest({**MANIFEST, "contextFiles": files})
    assert m.digest_of(made) == (
        "sha256:5b6b11ec88cd89f852736f36eecdebb3aaa2914c6be244fb2c15f406d9cd0e0d"
    )


def test_the_digests_of_the_transcript() -> None:
    content = "Use <tabs> & be brief.\n"
    assert m.content_digest(content) == (
        "sha256:08962d3ffa691de23ec5f6cc7df3770e0947df02c160a8172843b015cc536bab"
    )
    schema = {
        "properties": {"command": {"type": "string"}, "timeout": {"type": "integer"}},
        "required": ["command"],
        "type": "object",
    }
    made = m.Manifest(
        protocol_version=1,
        working_directory="/srv/demo",
        context_files=(m.ContextFile("/srv/demo/AGENTS.md", content, m.content_digest(content)),),
        tools=(m.Tool("bash", "Run a shell command", schema, "environment"),),
        skills=(),
        commands=(),
        config=m.Config(tool_mode="full"),
        capabilities=m.Capabilities(True, False, False, True),
    )
    assert m.digest_of(made) == (
        "sha256:39fe1a71715a3c4bc4bfd1e0d9b89639de443fbfbdf1fde637e157fa63325120"
    )
