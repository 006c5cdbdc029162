# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from ._onnx import prepare

__all__ = ["TITLE", "load", "prepare"]
TITLE = "OpenVINO"


def load(folder, threads):
    import openvino

    options = {
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",  # the others compute in float32 too
        "PERFORMANCE_HINT": "LATENCY",
    }
    compiled = openvino.Core().compile_model(str(folder / "model.onnx"), "CPU", options)
    request = compiled.create_infer_request()

    def call(inputs):
        result = request.infer([t.numpy() for t in inputs], share_inputs=True, share_outputs=True)
        return [result[i] for i in range(len(result))]

    return call
