"""What lies beside these tests can be imported by them: how a tool is loaded."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
