"""fleetgate: one process between agent fleets and the control planes that ask for work.

The five rooms (`core`, `schemas`, `protocols`, `transports`, `gateway`) lie at the
top of the repository. Here they are five relative links, which gives them one
import name: packages called `core` or `transports` would collide in
site-packages with other people's. See docs/adr/0001-one-import-name.md.
"""

from pathlib import Path

__version__ = "0.1.0"

# In a checkout, modules are loaded from where they lie and not by way of the links: a
# breakpoint set in core/run.py then fires, and a traceback names the file that one edits.
_core = Path(__file__).with_name("core")
if _core.is_symlink():
    __path__.insert(0, str(_core.resolve().parent))
