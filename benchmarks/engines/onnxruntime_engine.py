# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from ._onnx import prepare

__all__ = ["TITLE", "load", "prepare"]
TITLE = "ONNX Runtime"


def load(folder, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]

    def call(inputs):
        return session.run(None, dict(zip(names, (t.numpy() for t in inputs), strict=True)))

    return call
