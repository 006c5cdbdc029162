# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Pages as files: what is in them, and what the commands say where they cannot be written."""

import importlib.util
import json
import re
from pathlib import Path

import pytest
from executorch.backends.et_xnnpack.aot.cli.errors import ExitCode
from executorch.backends.et_xnnpack.aot.cli.picture import page
from harness import needs_runtime

ROOT = Path(__file__).resolve().parents[4]


def pictures(path: Path) -> list[dict]:
    return json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', path.read_text(), re.DOTALL)[1])


def by_label(picture: dict) -> dict[str, dict]:
    return {node["label"]: node for node in picture["nodes"]}


def check_edges(picture: dict) -> None:
    """What a node reads comes before it, and everything but inputs reads something."""
    seen = set()
    for node in picture["nodes"]:
        assert set(node["inputs"]) <= seen
        assert node["group"] in picture["groups"]
        seen.add(node["id"])
    assert len(seen) == len(picture["nodes"])


def test_explain(command, folder):
    command("explain", "model.py:mean", "--html", "mean.html")
    (picture,) = pictures(folder / "mean.html")
    check_edges(picture)
    nodes = by_label(picture)
    refused = dict(nodes["scatter_reduce"]["facts"])
    assert nodes["scatter_reduce"]["group"] == "outside" and refused["why"] == "the reduction mean is not supported"
    assert refused["mend"].startswith("use sum, prod") and "model.py:" in refused["line"]
    assert nodes["output 0"]["inputs"] == [nodes["scatter_reduce"]["id"]]
    assert nodes["x"]["border"] == "input" and nodes["x"]["detail"] == "float32[6, 16]"
    assert nodes["head · linear"]["path"] == [] and nodes["linear · linear"]["path"][0].startswith("blocks")
    assert sum(node["group"] == "call0" for node in picture["nodes"]) == 11


@needs_runtime
def test_inspect(command, folder):
    found = command("inspect", "outside.pte", "--html", "outside.html", "--profile", "--json").json
    (picture,) = pictures(folder / "outside.html")
    check_edges(picture)
    planned = [node for d in found["methods"]["forward"]["delegates"] for node in d["nodes"]]
    drawn = [node for node in picture["nodes"] if "." in node["id"]]
    assert [dict(node["facts"])["why"] for node in drawn] == [node["reason"] for node in planned]
    assert {node["path"][0] for node in drawn} == {"delegate 0: EtXnnpackBackend", "delegate 1: EtXnnpackBackend"}
    outside = by_label(picture)["native_layer_norm"]
    assert outside["group"] == "outside" and len(outside["inputs"]) == 1
    assert any(outside["id"] in node["inputs"] for node in drawn)
    timed = [node for node in picture["nodes"] if node["amounts"].get("ms", 0) > 0]
    assert len(timed) >= 1 + sum(node["by"] != "view" for node in planned)
    memory = picture["memory"]
    assert memory["nodes"] == [node["id"] for node in picture["nodes"] if not node["border"]]
    assert all(len(series) == len(memory["nodes"]) for series in memory["bytes"])


def test_another_delegate(command, folder):
    command("inspect", "official.pte", "--html", "official.html")
    (picture,) = pictures(folder / "official.html")
    check_edges(picture)
    delegates = [node for node in picture["nodes"] if node["group"] == "delegate"]
    assert {node["label"] for node in delegates} == {"XnnpackBackend"}
    assert all("another backend" in dict(node["facts"])["why"] and node["inputs"] for node in delegates)


def test_several_methods(command, folder):
    command("explain", "model.py:several", "--html", "several.html")
    assert sorted(picture["name"] for picture in pictures(folder / "several.html")) == ["decode", "encode"]


def test_the_table_has_what_the_picture_has(command, folder):
    command("explain", "model.py:mean", "--html", "mean.html")
    text = (folder / "mean.html").read_text()
    (table,) = re.findall("<table>.*?</table>", text, re.DOTALL)
    (picture,) = pictures(folder / "mean.html")
    assert table.count('<th scope="row">') == len(picture["nodes"])
    assert "<td>the reduction mean is not supported</td>" in table


def test_names_are_text():
    node = page.Picture("</script><b>", (), {}, {}, [])
    text = page.page("<i>", "explain", [node])
    assert "<title>&lt;i&gt;</title>" in text
    assert "</script><b>" not in text and "<i>" not in text.replace("&lt;i&gt;", "")


@pytest.mark.parametrize("path, message", [("none/x.html", "there is no folder none"), (".", "Is a directory")])
def test_where_no_page_can_be_written(command, path, message):
    for words in (["explain", "no.py:make"], ["inspect", "no.pte"]):
        assert message in command(*words, "--html", path, code=ExitCode.UNREADABLE).err  # before any work


def test_without_the_extra(command, folder, monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "netron" else find_spec(name, *a))
    error = command("explain", "model.py:mean", "--html", "none.html", code=ExitCode.UNREADABLE).err
    assert "pip install 'et_xnnpack[pictures]'" in error
    assert not (folder / "none.html").exists()


def test_with_a_library_of_another_version(command, folder, monkeypatch, tmp_path):
    (tmp_path / "netron").mkdir()
    (tmp_path / "netron" / "__init__.py").touch()
    (tmp_path / "netron" / "dagre.js").write_text("export default dagre;")
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: importlib.machinery.PathFinder.find_spec(name, [str(tmp_path)])
    )
    error = command("inspect", "full.pte", "--html", "none.html", code=ExitCode.UNREADABLE).err
    assert "another version" in error and not (folder / "none.html").exists()


def test_the_tests_have_the_version_of_the_extra():
    pin = re.search(r'^pictures = \["(netron==[\d.]+)"\]', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]
    assert f"\n{pin} " in (ROOT / "test" / "requirements.txt").read_text()
