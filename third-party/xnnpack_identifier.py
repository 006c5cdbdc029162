# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Stands in for XNNPACK's script of this name in an archive of sources that lacks it.

XNNPACK's CMakeLists.txt calls it with ``--output <C file> --input_file_list <file>`` for functions that identify its
microkernels: the SHA-256 of all of their sources.
"""

import argparse
import hashlib
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--output", type=Path, required=True)
parser.add_argument("--input_file_list", type=Path, required=True)
options = parser.parse_args()

digest = hashlib.sha256()
for name in sorted(options.input_file_list.read_text().splitlines()):
    digest.update(Path(name).read_bytes())
options.output.write_text(
    f"""#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static const uint8_t identifier[] = {{{", ".join(str(byte) for byte in digest.digest())}}};

size_t xnn_experimental_get_build_identifier_size() {{
  return sizeof(identifier);
}}

const void* xnn_experimental_get_build_identifier_data() {{
  return identifier;
}}

bool xnn_experimental_check_build_identifier(const void* data, size_t size) {{
  return size == sizeof(identifier) && memcmp(data, identifier, size) == 0;
}}
"""
)
