# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import tempfile
from pathlib import Path

from . import _onnx
from ._onnx import prepare

__all__ = ["SCHEMES", "TITLE", "convert", "load", "prepare"]
TITLE = "OpenVINO"
SCHEMES = ("static", "static_bf16", "force_bf16")
_PRECISION = "precision"  # the file that names another than float32


def load(folder, threads):
    import openvino

    # The others compute in float32, too, where nothing else is asked for. OpenVINO would choose bfloat16 by itself.
    precision = folder / _PRECISION
    options = {
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": precision.read_text() if precision.exists() else "f32",
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


def convert(module, inputs, folder, scheme, calibration):
    assert scheme in SCHEMES, scheme
    if scheme != "static":
        (folder / _PRECISION).write_text("bf16")
    if scheme == "force_bf16":
        return prepare(module, inputs, folder)
    return _quantize(module, inputs, folder, calibration)


def _quantize(module, inputs, folder, calibration):
    """Post-training quantization of NNCF, which has settings of its own for transformers."""
    import nncf
    import openvino

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
