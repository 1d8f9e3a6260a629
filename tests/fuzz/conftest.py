"""What lies beside these tests can be imported by them: the engine, the mutations, the targets."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
