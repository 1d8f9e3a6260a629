from fleetgate.protocols.rvbox import wire as w


def test_versions_order_by_major_then_minor() -> None:
    assert w.ProtocolVersion(1, 9) < w.ProtocolVersion(2, 0) < w.ProtocolVersion(2, 1)


def test_bytes_of_a_command_are_not_shown() -> None:
    secret = b"hunter2"
    shown = [
        w.StdinWrite(data=secret),
        w.OutputChunk(data=secret),
        w.ScriptChunk(data=secret),
        w.ExecutionSpec(env={"TOKEN": "hunter2"}),
    ]
    assert not [each for each in shown if "hunter2" in repr(each)]
