"""How many random cases the laws on hostile input try: SEMCAST_CASES, which `make soak` sets high."""

from __future__ import annotations

import os

CASES = int(os.environ.get("SEMCAST_CASES", "400"))
