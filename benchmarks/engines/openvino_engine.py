# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import tempfile
from pathlib import Path

from . import _onnx
from ._onnx import prepare

__all__ = ["QUANTIZED", "TITLE", "load", "prepare", "quantize"]
TITLE = "OpenVINO"
QUANTIZED = ("static",)


def load(folder, threads):
    import openvino

    options = {
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",  # the others compute in float32 too, where they do not in integers
        "PERFORMANCE_HINT": "LATENCY",
    }
    quantized = folder / "model.xml"
    path = quantized if quantized.exists() else folder / "model.onnx"
    compiled = openvino.Core().compile_model(str(path), "CPU", options)
    request = compiled.create_infer_request()

    def call(inputs):
        result = request.infer([t.numpy() for t in inputs], share_inputs=True, share_outputs=True)
        return [result[i] for i in range(len(result))]

    return call


def quantize(module, inputs, folder, scheme, calibration):
    """Post-training quantization of NNCF, which has settings of its own for transformers."""
    import nncf
    import openvino

    assert scheme in QUANTIZED, scheme
    with tempfile.TemporaryDirectory() as temporary:
        exported = Path(temporary, "exported.onnx")
        _onnx.export(module, inputs, exported, external_data=False)
        model = openvino.Core().read_model(exported)
        attends = any(op.get_type_name() in ("Softmax", "ScaledDotProductAttention") for op in model.get_ops())
        quantized = nncf.quantize(
            model,
            nncf.Dataset(calibration, lambda tensors: [t.numpy() for t in tensors]),
            subset_size=len(calibration),
            model_type=nncf.ModelType.TRANSFORMER if attends else None,
        )
        openvino.save_model(quantized, folder / "model.xml", compress_to_fp16=False)
    return {}
