"""Worker processes that do not outlive the process that started them."""

from __future__ import annotations

import os
import threading
import time

_LOOK_S = 0.5


def end_with(parent: int) -> None:
    """End this process when the one that started it is gone, killed too: nobody would take what it finds.

    A pool's own shutdown covers exceptions and Ctrl-C only; SIGTERM and SIGKILL leave its workers running.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
