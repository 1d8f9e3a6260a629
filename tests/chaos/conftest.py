"""What lies beside these tests can be imported by them: the oracle, the judge, the worlds."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
