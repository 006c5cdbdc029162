# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""examples/llm.py as its users run it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import transformers
from harness import needs_runtime
from tokenizer import ascii_tokenizer
from transformers_models import VOCABULARY, language_model

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "llm.py"


def run(folder: Path, *options: str) -> subprocess.CompletedProcess:
    output = ("--output", str(folder / "model.pte"))
    command = [sys.executable, "-W", "ignore", str(EXAMPLE), *map(str, options), *output]
    return subprocess.run(command, capture_output=True, text=True)


def run_small(folder: Path, *options: str) -> str:
    done = run(folder, *options, "--context", 32, "--tokens", 6, "--repeat", 4, "--threads", 1)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^ *et_xnnpack +1 +0 ", done.stdout, re.MULTILINE), done.stdout
    assert "Nothing stays outside the delegate." in done.stdout
    assert "ours / official" in done.stdout and (folder / "model.pte").exists()
    return done.stdout


@needs_runtime
@pytest.mark.large
def test_a_folder(tmp_path):
    folder, model = tmp_path / "model", language_model("llama")
    model.model.layers, model.config.num_hidden_layers = model.model.layers[:1], 1
    model.save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(tokenizer_object=ascii_tokenizer(VOCABULARY)).save_pretrained(folder)
    printed = run_small(tmp_path, folder, "--format", "fp32", "--prompt", "the hen")
    assert "the hen" in printed


@needs_runtime
@pytest.mark.large
def test_random_weights_of_4_bits(tmp_path):
    run_small(tmp_path, "--width", 64, "--layers", 1)


@pytest.mark.parametrize(
    "options,message",
    [
        (["nowhere"], "nowhere has no config.json: give a folder with a model for transformers, or none at all."),
        (["--context", "4"], "--context: at least 16 tokens."),
    ],
)
def test_says_what_is_wrong(tmp_path, options, message):
    done = run(tmp_path, *options)
    assert done.returncode == 1 and done.stderr.strip() == message
    assert list(tmp_path.iterdir()) == []
