# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What runs in a process of its own, of which the parent imports no package."""

import resource
import signal
import time

from .registry import architectures


def work(name: str, part: str, seconds: float, gigabytes: float, pipe) -> None:
    """Sends what a part of the record of an architecture says; ends by SIGXCPU after ``seconds`` of processor time."""
    from . import measure

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    limit = int(gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
    try:
        found = measure.measure(next(a for a in architectures() if a.name == name), part)
    except MemoryError:
        found = {"error": f"it takes more than {gigabytes:g} GB"}
    except Exception as error:
        found = {"error": measure.first_line(error)}
    pipe.send({**found, "processor_seconds": round(time.process_time(), 1)})
