# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What a fuzzer of the runtime found on one machine can be read there, and tried on another."""

import shutil
import subprocess

import pytest

from fuzz import native

OUTPUT = """\
INFO: Running with entropic power schedule
==5210==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602 at pc 0x55
READ of size 4 at 0x602 thread T0
    #0 0x55 in multiply(float*) runtime/kernels/gemm/product.cpp:20:3
    #1 0x56 in run() runtime/execute/steps.cpp:9:3
    #2 0x57 in attempt_blob() test/fuzz/targets/targets.cpp:7:1
    #3 0x58 in fuzzer::Fuzzer::ExecuteCallback /libFuzzer/FuzzerLoop.cpp:614:13

0x602 is located 0 bytes after 16-byte region
allocated by thread T0 here:
    #0 0x59 in malloc

SUMMARY: AddressSanitizer: heap-buffer-overflow runtime/kernels/gemm/product.cpp:20:3 in multiply(float*)
Shadow bytes around the buggy address:
"""


def test_says_what_failed_and_where():
    assert native.what_failed(OUTPUT) == [
        "==5210==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602 at pc 0x55",
        "SUMMARY: AddressSanitizer: heap-buffer-overflow runtime/kernels/gemm/product.cpp:20:3 in multiply(float*)",
        "    #0 0x55 in multiply(float*) runtime/kernels/gemm/product.cpp:20:3",
        "    #1 0x56 in run() runtime/execute/steps.cpp:9:3",
    ]
    assert native.what_failed("BROKEN PROMISE: it wrote to an input\n") == ["BROKEN PROMISE: it wrote to an input"]
    assert native.what_failed("runtime/a.cpp:1:2: runtime error: shift of 40\n") != []


@pytest.mark.skipif(not shutil.which("cc") or not shutil.which("addr2line"), reason="there is no C compiler")
def test_names_what_the_sanitizer_gives_as_offsets(tmp_path):
    source, program = tmp_path / "a.c", tmp_path / "a.out"
    source.write_text("int add(int a, int b) {\n  return a + b;\n}\nint main(void) { return add(1, -1); }\n")
    subprocess.run(["cc", "-g", "-no-pie", source, "-o", program], check=True)
    symbols = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    offset = next(line.split()[0] for line in symbols.splitlines() if line.endswith(" add"))
    frame = native.named(f"    #3 0x55858a187770  ({program}+0x{offset}) (BuildId: 3027)")
    assert frame.startswith("    #3 add at ") and frame.endswith("a.c:1")


def test_an_input_goes_to_another_machine_as_text():
    data = bytes(range(256)) * 8
    text = native.as_text(data)
    assert native.restored(text) == data
    assert not set(text) & set("'\" \n\\$")
