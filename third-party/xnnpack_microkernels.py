# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Stands in for XNNPACK's script of this name in an archive of sources that lacks it.

XNNPACK's CMakeLists.txt calls it with ``--output <folder>`` for a file that includes the lists of microkernels. It is
in the sources already.
"""

import argparse
import shutil
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--output", type=Path, required=True)
options = parser.parse_args()

lists = Path("cmake/gen/microkernels.cmake")
target = options.output / lists
target.parent.mkdir(parents=True, exist_ok=True)
shutil.copyfile(Path(__file__).absolute().parents[1] / lists, target)
