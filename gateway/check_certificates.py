"""What an entry shows of itself over TLS: a certificate that ends soon, or is of another name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any, Final

from fleetgate.gateway.config import Config, Problem
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.config_files import irregular
from fleetgate.gateway.places import ANY_HOST, TcpPlace, is_loopback, place_of
from fleetgate.transports.tls import expiry, own_certificate, start_of, verified_names

DAY: Final = 86_400
SOON: Final = 14 * DAY
"""How long before its end a certificate is warned of, in seconds. Those of ACME are renewed a month
before, so one that is not was forgotten."""


def certificate_warnings(config: Config, now: float) -> Iterator[Problem]:
    """What peers would refuse us for, or will soon. `now`: Unix seconds. A file that cannot be read
    has been told as a problem."""
    for entry in config.entries:
        if entry.tls is None or entry.tls.certificate is None:
            continue
        if irregular(entry.tls.certificate):
            continue
        shown = own_certificate(entry.tls.certificate)
        if shown is None:
            continue
        key = f"{entry.facing}.{entry.name}.tls"
        for said in _wrong(entry, shown, now):
            yield Problem(config.line(key), key, f"the certificate {said}")


def _wrong(entry: Entry, shown: Mapping[str, Any], now: float) -> Iterator[str]:
    begins, ends = start_of(shown), expiry(shown)
    mend = "put a renewed one there: the next handshake meets it, without a restart"
    if begins is not None and now < begins:
        yield f"is not valid before {shown['notBefore']}: until then no peer trusts it"
    if ends is not None and now >= ends:
        yield f"has expired on {shown['notAfter']}: no peer trusts it any more; {mend}"
    elif ends is not None and ends - now < SOON:
        days = int((ends - now) // DAY)
        when = "within a day" if days < 1 else f"in {days} day{'s' * (days > 1)}"
        yield f"expires {when} ({shown['notAfter']}); {mend}"
    if entry.listens and (said := _misnamed(entry, verified_names(shown))):
        yield said


def _misnamed(entry: Entry, names: tuple[str, ...]) -> str | None:
    """What is wrong with the names for whoever dials the address that we listen at."""
    place = place_of(entry.address)
    if not isinstance(place, TcpPlace):
        return None
    if not names:
        return "holds no name (subjectAltName): no peer trusts it, whatever it dials"
    if place.host in ANY_HOST or any(_holds(name, place.host) for name in names):
        return None
    return (
        f"is for {', '.join(names)}: a peer that dials {place.host} does not trust it; let peers "
        "dial one of those names, or have a certificate made for this one"
    )


def _holds(name: str, host: str) -> bool:
    """Whether a peer that dials `host` takes a certificate of `name` for it (RFC 6125)."""
    name = name.lower().rstrip(".")
    if is_loopback(host) and is_loopback(name):
        return True  # `localhost` by whatever name
    try:
        return ip_address(name) == ip_address(host)
    except ValueError:
        pass
    first, _, rest = host.rstrip(".").partition(".")
    return name == host.rstrip(".") or (bool(first) and name == f"*.{rest}" and bool(rest))
