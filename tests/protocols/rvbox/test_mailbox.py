from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.mailbox import Mailboxes


def close(n: int) -> w.CloseStdin:
    return w.CloseStdin("u", n)


def test_messages_wait_in_order_and_apart_by_command() -> None:
    boxes = Mailboxes(10, 1000)
    boxes.ask("u")
    boxes.ask("v")
    for n in (1, 2):
        boxes.put("u", close(n), 10)
    boxes.put("v", close(3), 10)
    boxes.answered("u")
    assert not boxes.asked("u")
    assert boxes.asked("v")
    assert [boxes.take("u"), boxes.take("u"), boxes.take("u")] == [close(1), close(2), None]
    assert boxes.take("v") == close(3)


def test_items_questions_and_bytes_are_bounded_together() -> None:
    boxes = Mailboxes(3, 100)
    boxes.ask("u")
    boxes.put("u", close(1), 1)
    assert not boxes.full
    boxes.put("u", close(2), 1)
    assert boxes.full
    boxes.take("u")
    assert not boxes.full
    boxes.put("u", close(3), 100)
    boxes.take("u")
    boxes.answered("u")
    assert boxes.full
    boxes.take("u")
    assert not boxes.full
