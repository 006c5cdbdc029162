# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Takes the pictures of pages in ``docs/command-line.md`` anew, with the browser that the tests use."""

import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test"))

from browser import start  # noqa: E402

SIZE = "1240,860"
SOURCE = """
import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.mix = nn.Sequential(nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size))

    def forward(self, x):
        return x + self.mix(self.norm(x))


class Encoder(nn.Module):
    def __init__(self, size=256):
        super().__init__()
        self.embed = nn.Linear(64, size)
        self.layers = nn.ModuleList(Layer(size) for _ in range(4))
        self.head = nn.Linear(size, 8)

    def forward(self, x, cluster):
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        y = self.head(x).softmax(-1)
        return torch.zeros(4, 8).scatter_reduce(0, cluster, y, "mean")


def make():
    torch.manual_seed(0)
    return Encoder().eval(), (torch.rand(128, 64), torch.randint(4, (128, 8)))
"""


#: Hovers over a node, by its label.
HOVER = """
const [name] = arguments;
const node = [...view.tree.nodes.values()].find((node) => node.label === name);
const { right, top } = node.element.getBoundingClientRect();
const place = { bubbles: true, clientX: right + 50, clientY: top - 16 };
node.element.querySelector(".box").dispatchEvent(new PointerEvent("pointerover", place));
"""
#: Shows everything, with all clusters closed but one.
OVERVIEW = """
view.setAll(false);
view.toggle(view.tree.clusters.find((cluster) => cluster.name === "layers.0"));
document.activeElement.blur();
view.fit();
"""


def lower(folder: Path) -> None:
    """A program of the model with the sum, which can be delegated, in the place of the mean."""
    names: dict = {}
    exec(SOURCE.replace('"mean"', '"sum"'), names)
    module, inputs = names["make"]()
    edge = to_edge_transform_and_lower(torch.export.export(module, inputs), partitioner=[EtXnnpackPartitioner()])
    (folder / "encoder.pte").write_bytes(edge.to_executorch().buffer)


def take(page: Path, picture: Path, script: str, name: str) -> None:
    with start(SIZE, "--hide-scrollbars") as browser:
        browser.get(page.as_uri())
        browser.execute_script(script + HOVER, name)
        picture.write_bytes(browser.get_screenshot_as_png())


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "encoder.py").write_text(SOURCE)
        lower(folder)
        for words in (["explain", "encoder.py:make"], ["inspect", "encoder.pte", "--profile"]):
            command = [sys.executable, "-m", "executorch.backends.et_xnnpack", *words, "--html", f"{words[0]}.html"]
            subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=True)
        take(folder / "explain.html", ROOT / "docs" / "explain.png", OVERVIEW, "scatter_reduce")
        take(folder / "inspect.html", ROOT / "docs" / "inspect.png", "", "LayerNorm")


if __name__ == "__main__":
    main()
