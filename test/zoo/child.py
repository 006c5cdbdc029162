# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What runs in a process of its own, of which the parent imports no package."""

import resource
import signal
import time
from collections.abc import Sequence

from .registry import architectures


def work(name: str, seconds: float, gigabytes: float, left_out: Sequence[str], pipe) -> None:
    """Sends the record of an architecture; ends by SIGXCPU after ``seconds`` of processor time."""
    from . import measure

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    limit = int(gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
    try:
        record = measure.measure(next(a for a in architectures() if a.name == name), left_out)
    except MemoryError:
        record = {"error": f"takes more than {gigabytes:g} GB"}
    except Exception as error:
        record = {"error": measure.first_line(error)}
    pipe.send({**record, "processor_seconds": round(time.process_time(), 1)})
