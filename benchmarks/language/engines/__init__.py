# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What runs language models. Each module offers the same names::

    TITLE                                    what tables call it
    check()                                  raises RuntimeError with the reason if it is not here
    prepare(model, form, context, folder)    ahead of time; writes into ``folder``, returns facts for the table
    begin(threads)                           before anything is measured: imports, threads
    load(folder, form, context)              -> Session

A session has ``at(position)``, after which so many tokens are in the cache; ``step(tokens)``, which is timed and
computes the scores after the last of them; and ``scores()``, an array [vocabulary] of float32 of these.
``folder`` is in one that ``models.write_checkpoint`` wrote to.
"""

import importlib
from types import ModuleType

#: In the order of the columns.
NAMES = ("et_xnnpack", "official", "llama_cpp", "onnxruntime_genai")


def get(name: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{name}_engine")


#: Peers that are not measured, and why.
ABSENT = {
    "OpenVINO GenAI": "Optimum-Intel 2.2.0, which makes its models, wants a transformers older than 5.6, which this "
    "environment cannot have",
}
