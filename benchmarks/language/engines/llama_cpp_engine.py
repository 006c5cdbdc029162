# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import time

from ._exporter import CHUNK

TITLE = "llama.cpp"


def check():
    try:
        import gguf  # noqa: F401
        import llama_cpp  # noqa: F401
    except (ImportError, OSError, RuntimeError) as error:
        raise RuntimeError(f"there is no llama-cpp-python: {error}") from error


def prepare(model, form, context, folder):
    from ..gguf_file import write_gguf

    started = time.perf_counter()
    write_gguf(model, form, folder.parent.parent / "model.pth", folder / "model.gguf")
    return {"export_s": time.perf_counter() - started}


def begin(threads):
    import llama_cpp

    global _threads
    _threads = threads
    llama_cpp.llama_backend_init()


class Session:
    def __init__(self, folder, form, context):
        import gguf
        import llama_cpp

        cache = gguf.GGMLQuantizationType.BF16 if form.cache_bits == 16 else gguf.GGMLQuantizationType.F32
        self._llama = llama_cpp.Llama(
            str(folder / "model.gguf"),
            n_ctx=context,
            n_batch=CHUNK,
            n_ubatch=CHUNK,
            n_threads=_threads,
            n_threads_batch=_threads,
            type_k=cache,
            type_v=cache,
            verbose=False,
        )

    def at(self, position):
        """Its attention looks at the tokens that are there, so they must have been computed."""
        while self._llama.n_tokens < position:
            self._llama.eval([1] * min(CHUNK, position - self._llama.n_tokens))
        self._llama.n_tokens = position  # `eval` removes from the cache what is behind

    def step(self, tokens):
        self._llama.eval(tokens)

    def scores(self):
        import llama_cpp
        import numpy as np

        last = llama_cpp.llama_get_logits_ith(self._llama.ctx, -1)
        return np.ctypeslib.as_array(last, (self._llama.n_vocab(),)).copy()


def load(folder, form, context):
    return Session(folder, form, context)
