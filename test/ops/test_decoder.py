# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""A language model as users export it: prefill and decode, one delegate call each, one copy of the weights."""

import copy
import re

import harness
import pytest
import torch
import transformers
from decoder import Config, Decoder
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.delegate import executorch_call_delegate
from executorch.runtime import Runtime
from torch.export import Dim, export
from transformers.integrations.executorch import TorchExportableModuleForDecoderOnlyLM

pytestmark = harness.needs_runtime

LENGTH = Config().length
#: Large enough for the weights to outweigh all else in the file.
LARGE = Config(vocabulary=500, width=128, heads=8, key_heads=2, hidden=300, length=32)


def exported(model, name):
    if name == "decode":
        return export(model, (torch.zeros(1, 1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)))
    tokens = Dim("tokens", min=1, max=model.layers[0].attention.config.length)
    example = (torch.zeros(1, 5, dtype=torch.int64), torch.arange(5))
    return export(model, example, dynamic_shapes=({1: tokens}, {0: tokens}))


def lower(model, *names):
    programs = {name: exported(model, name) for name in names}
    return to_edge_transform_and_lower(programs, partitioner=[EtXnnpackPartitioner()])


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return Decoder().eval()


@pytest.fixture(scope="module")
def manager(model):
    return lower(model, "prefill", "decode")


@pytest.fixture(scope="module")
def buffer(manager):
    return manager.to_executorch().buffer


@pytest.mark.parametrize("name", ("prefill", "decode"))
def test_is_one_delegate_call(manager, name):
    program = manager.exported_program(name)
    calls = [n for n in program.graph.nodes if n.op == "call_function" and "getitem" not in n.name]
    assert [n.target for n in calls] == [executorch_call_delegate]
    assert [n.name for n in program.graph.nodes if n.op == "placeholder"] == ["tokens", "positions"]


@pytest.mark.parametrize("name", ("prefill", "decode"))
def test_writes_its_cache_in_place(manager, name):
    text = et_xnnpack.inspect(harness.only_delegate(manager, name).processed_bytes)
    assert text.count("\nstate ") == 2 * Config().layers
    assert text.count("= IndexPut(") == 2 * Config().layers
    assert text.count("= Attention(") == Config().layers


def test_weights_are_stored_once():
    model = Decoder(LARGE).eval()
    weights = sum(p.numel() * 4 for p in model.parameters())
    sizes = [len(lower(model, *names).to_executorch().buffer) for names in (["decode"], ["prefill", "decode"])]
    assert sizes[0] < weights * 1.15  # the tied embedding once, all caches one block of zeros
    assert sizes[1] < sizes[0] + weights * 0.1


def test_decodes_token_by_token(model, manager, buffer):
    method = harness.load_method(buffer, "decode")
    eager = copy.deepcopy(model)
    token = torch.tensor([[1]])
    for position in range(LENGTH):
        inputs = (token, torch.tensor([position]))
        (scores,) = method.execute(inputs)
        with torch.no_grad():
            expected = eager(*inputs)
        torch.testing.assert_close(scores, expected, rtol=1e-4, atol=1e-4)
        token = expected[:, -1].argmax(-1, keepdim=True)


def load(buffer, group):
    et_xnnpack.set_option("state_group", group)
    try:
        program = Runtime.get().load_program(buffer)
        return program.load_method("prefill"), program.load_method("decode"), program
    finally:
        et_xnnpack.set_option("state_group", 0)


def test_prefill_and_decode_share_a_cache(model, buffer):
    conversations = []
    for group, prompt in (1, [3, 1, 4, 1, 5, 9]), (2, [2, 7]):
        tokens = torch.tensor([prompt])
        conversations.append((load(buffer, group), copy.deepcopy(model), tokens, torch.arange(len(prompt))))
    for _ in range(6):  # turn by turn
        for i, ((prefill, decode, program), eager, tokens, positions) in enumerate(conversations):
            method = prefill if tokens.shape[1] > 1 else decode
            (scores,) = method.execute((tokens, positions))
            with torch.no_grad():
                expected = eager(tokens, positions)
            torch.testing.assert_close(scores, expected, rtol=1e-4, atol=1e-4)
            token = expected[:, -1:].argmax(-1)
            conversations[i] = ((prefill, decode, program), eager, token, positions[-1:] + 1)


def test_without_a_group_each_method_has_a_cache(model, buffer):
    prefill, decode, _program = load(buffer, 0)
    tokens, positions = torch.tensor([[3, 1, 4]]), torch.arange(3)
    prefill.execute((tokens, positions))
    (scores,) = decode.execute((tokens[:, :1], torch.tensor([3])))
    with torch.no_grad():
        fresh = copy.deepcopy(model)(tokens[:, :1], torch.tensor([3]))
    torch.testing.assert_close(scores, fresh, rtol=1e-4, atol=1e-4)


def test_a_token_beyond_the_cache_fails_and_changes_nothing(model, buffer):
    _prefill, decode, _program = load(buffer, 0)
    eager = copy.deepcopy(model)
    for position in 0, LENGTH, 1, LENGTH + 1, 2:
        inputs = (torch.tensor([[position + 1]]), torch.tensor([position]))
        if position < LENGTH:
            with torch.no_grad():
                torch.testing.assert_close(decode.execute(inputs)[0], eager(*inputs), rtol=1e-4, atol=1e-4)
        else:
            with pytest.raises(RuntimeError):
                decode.execute(inputs)


@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.float16), ids=("bfloat16", "float16"))
def test_attention_reads_a_cache_of_16_bits(dtype):
    torch.manual_seed(0)
    model = Decoder().eval().to(dtype)
    manager = lower(model, "prefill", "decode")
    for name in "prefill", "decode":
        text = et_xnnpack.inspect(harness.only_delegate(manager, name).processed_bytes)
        nodes = re.findall(r"^ *%(\d+): .* = (\w+)\((.*?)\)", text, re.MULTILINE)
        makers = {result: i for i, (result, _, _) in enumerate(nodes)}
        read = [re.findall(r"%(\d+)", operands)[1:3] for _, op, operands in nodes if op == "Attention"]
        casts = [makers[operand] for pair in read for operand in pair]
        assert len(casts) == 2 * Config().layers and all(nodes[i][1] == "Cast" for i in casts), text
        assert not any(re.search(rf"^ *node {i} Cast: ", text, re.MULTILINE) for i in casts), text
    prefill, decode, _program = load(manager.to_executorch().buffer, 3)
    tokens, positions = torch.tensor([[3, 1, 4, 1, 5]]), torch.arange(5)
    for _ in range(6):
        (scores,) = (prefill if tokens.shape[1] > 1 else decode).execute((tokens, positions))
        with torch.no_grad():
            expected = model(tokens, positions)
        tolerance = 16 * torch.finfo(dtype).eps
        torch.testing.assert_close(scores, expected, rtol=tolerance, atol=tolerance)
        tokens, positions = expected[:, -1:].argmax(-1), positions[-1:] + 1


def test_each_method_alone_is_lowered_alike(model, manager):
    """What ExecuTorch compiles for several methods at once is what it compiles for each."""
    for name in "prefill", "decode":
        together = harness.only_delegate(manager, name)
        alone = harness.only_delegate(harness.lower_exported(exported(model, name)).manager)
        assert together.processed_bytes == alone.processed_bytes


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16), ids=("float32", "bfloat16"))
def test_static_cache_of_transformers(dtype):
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=67,
        hidden_size=32,
        intermediate_size=72,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
    )
    model = transformers.LlamaForCausalLM(config).eval().to(dtype)
    cache_config = {"batch_size": 1, "max_cache_len": 16}
    model.generation_config = transformers.GenerationConfig(
        use_cache=True, cache_implementation="static", max_length=16, cache_config=cache_config
    )
    exportable = TorchExportableModuleForDecoderOnlyLM(model, batch_size=1, max_cache_len=16)
    program = exportable.export(input_ids=torch.tensor([[1]]), cache_position=torch.tensor([0]))
    lowered = harness.lower_exported(program)
    assert lowered.outside == [] and len(lowered.delegates) == 1, str(lowered.report)
    method = harness.load_method(lowered.buffer)
    eager = program.module()
    for position in range(16):
        token, place = torch.tensor([[position * 3 % 67]]), torch.tensor([position])
        (scores,) = method.execute((token, place))
        expected = eager(input_ids=token, cache_position=place)
        tolerance = 1e-4 if dtype == torch.float32 else 8 * torch.finfo(dtype).eps
        torch.testing.assert_close(scores, expected, rtol=tolerance, atol=tolerance)
