"""Sessions: a conversation that outlives a run, and the worker it lives at."""

from __future__ import annotations

from typing import Final

import attrs

from fleetgate.core.ids import SessionId, WorkerId


@attrs.frozen(slots=True)
class Owner:
    """Who began something: a northbound entry, and the name that its controller had proven; both
    are empty where nobody was asked for one."""

    link: str = ""
    controller: str = ""


NOBODY: Final = Owner()


@attrs.frozen(slots=True)
class Session:
    """A session. `native_session` is the worker's own id for it, to resume by;
    `generation` rises whenever the session moves to another worker, whose native id
    starts anew. `owner` began it."""

    id: SessionId
    worker: WorkerId
    native_session: str | None = None
    generation: int = 1
    owner: Owner = NOBODY


def bind(
    session: Session | None, id: SessionId, worker: WorkerId, owner: Owner = NOBODY
) -> Session:
    """The session as it is once a run of it was given to `worker`; one that begins is `owner`'s."""
    if session is None:
        return Session(id, worker, owner=owner)
    if session.worker == worker:
        return session
    return Session(id, worker, None, session.generation + 1, session.owner)


def opened(session: Session, native_session: str) -> Session:
    """The session once its worker named it."""
    return attrs.evolve(session, native_session=native_session)
