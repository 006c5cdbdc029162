# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import tempfile
from pathlib import Path

from . import _onnx
from ._onnx import prepare

__all__ = ["SCHEMES", "TITLE", "convert", "load", "prepare"]
TITLE = "ONNX Runtime"
SCHEMES = ("static", "dynamic")


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


def convert(module, inputs, folder, scheme, calibration):
    """With the types that ONNX Runtime recommends for x86: unsigned activations, signed weights per channel."""
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    unsigned, signed = quantization.QuantType.QUInt8, quantization.QuantType.QInt8
    with tempfile.TemporaryDirectory() as temporary:
        exported, merged = (Path(temporary, name) for name in ("exported.onnx", "merged.onnx"))
        _onnx.export(module, inputs, exported, external_data=False)
        quant_pre_process(exported, merged, skip_symbolic_shape=True)  # sizes are known
        if scheme == "static":
            quantization.quantize_static(
                merged,
                folder / "model.onnx",
                _calibration_reader(merged, calibration),
                quant_format=quantization.QuantFormat.QDQ,
                per_channel=True,
                activation_type=unsigned,
                weight_type=signed,
            )
        else:
            _quantize_dynamic(merged, folder / "model.onnx")
    return {}


def _calibration_reader(path, calibration):
    import onnx
    from onnxruntime.quantization import CalibrationDataReader

    names = [i.name for i in onnx.load(path, load_external_data=False).graph.input]

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.rest = iter(calibration)

        def get_next(self):
            tensors = next(self.rest, None)
            return tensors and dict(zip(names, (t.numpy() for t in tensors), strict=True))

    return Reader()


def _quantize_dynamic(source, target) -> None:
    """Convolutions with unsigned weights of one scale, which are many times faster than others; where there are matrix
    products too, as in a transformer, these alone."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    nodes = onnx.load(source, load_external_data=False).graph.node
    if any(node.op_type == "MatMul" for node in nodes):
        others = [node.name for node in nodes if node.op_type == "Conv"]
        quantize_dynamic(source, target, per_channel=True, weight_type=QuantType.QInt8, nodes_to_exclude=others)
    else:
        quantize_dynamic(source, target, weight_type=QuantType.QUInt8)
