# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Pages in a browser: they draw, answer the mouse and the keyboard, and ask no network for anything."""

import pytest
from executorch.backends.et_xnnpack.aot.cli.picture.model import Group, Measure, Memory, Node, Picture
from executorch.backends.et_xnnpack.aot.cli.picture.page import write
from harness import needs_runtime
from selenium.webdriver.common.keys import Keys

#: Whether each box is the one that is seen at its middle.
IN_PLACE = """
view.fit();
return [...document.querySelectorAll("#graph .box")].every((box) => {
  const { left, top, width, height } = box.getBoundingClientRect();
  const found = document.elementFromPoint(left + width / 2, top + height / 2);
  return width > 10 && height > 5 && found?.closest("g[tabindex]") === box.parentElement;
});
"""
LARGE = 2000
SOON_MS, AT_ONCE_MS = 3000, 1000  # of CPU time: some five times what it takes


@pytest.fixture(scope="module")
def pages(command, folder):
    command("explain", "model.py:mean", "--html", "mean.html")
    command("explain", "model.py:several", "--html", "several.html")
    command("inspect", "official.pte", "--html", "official.html")
    return folder


@pytest.fixture
def mean(browser, pages):
    browser.open(pages / "mean.html")
    browser.run("view.setAll(true); view.fit()")
    return browser


def test_it_draws(mean):
    assert mean.run(IN_PLACE)
    assert len(mean.all("#graph .node")) == 12 + 3
    assert len(mean.all("#graph .line")) >= 14
    assert mean.one("#graph svg").size["height"] > 300
    names = {text.text for text in mean.all("#graph .name")}
    assert {"x", "cluster", "scatter_reduce", "head · linear", "output 0"} <= names
    assert mean.complaints() == []


def test_inputs_are_at_the_top_and_outputs_at_the_bottom(mean):
    height = {name: mean.node(name).rect["y"] for name in ("x", "cluster", "scatter_reduce", "output 0")}
    others = [node.rect["y"] for node in mean.all("#graph .node:not(.border)")]
    assert max(height["x"], height["cluster"]) < min(others)
    assert height["output 0"] > max(others) == height["scatter_reduce"]


def test_hovering_shows_the_reason(mean):
    text = mean.hover(mean.node("scatter_reduce"))
    assert "the reduction mean is not supported" in text and "use sum, prod, amax or amin" in text
    assert "model.py:" in text
    assert len(mean.all("#graph .line.lit")) >= 4
    assert mean.hover(mean.one("h1")) == "" and mean.all("#graph .line.lit") == []


def test_clusters_open_and_close(mean):
    mean.one("#close").click()
    (closed,) = mean.all("#graph .closed")
    assert len(mean.all("#graph .node")) == 12 + 3 - 8
    assert "operators\n8" in mean.hover(closed)
    closed.click()
    assert len(mean.all("#graph .closed")) == 2 and len(mean.all("#graph .title")) == 1
    mean.run("document.activeElement.blur(); document.querySelector('#graph .closed').focus()")
    mean.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert len(mean.all("#graph .closed")) == 1 and mean.run(IN_PLACE)
    mean.one("#open").click()
    assert len(mean.all("#graph .node")) == 12 + 3


def test_search(mean):
    mean.one("#close").click()
    mean.one("#search").send_keys("layer_norm")
    assert mean.one("#found").text.startswith("2 found")
    assert len(mean.all("#graph .hit")) == 1  # the cluster that both are in
    mean.one("#search").send_keys(Keys.ENTER)
    assert "aten.layer_norm.default" in mean.one("#selected").text
    assert len(mean.all("#graph .chosen")) == 1
    mean.one("#search").send_keys(" of nothing")
    assert mean.one("#found").text == "0 found"


def test_colours(mean):
    light = mean.one("body").value_of_css_property("background-color")
    outside, inside = (mean.node(name).find_element("css selector", ".box") for name in ("scatter_reduce", "head"))
    assert outside.value_of_css_property("fill") != inside.value_of_css_property("fill")
    assert outside.value_of_css_property("stroke-dasharray") != inside.value_of_css_property("stroke-dasharray")
    assert [item.text.split("\n")[0] for item in mean.all("#legend li")] == [
        "delegate call 0", "outside", "input or output",
    ]  # fmt: skip
    mean.one('#colour option[value="flop"]').click()
    heat = mean.run("return [...document.querySelectorAll('.heat')].map((box) => box.style.getPropertyValue('--heat'))")
    assert len(heat) == 12 and "100.0%" in heat and len(set(heat)) > 3
    assert "more arithmetic" in mean.one("#legend").text
    mean.scheme("dark")
    assert mean.one("body").value_of_css_property("background-color") != light
    mean.scheme("light")


def test_several_methods(browser, pages):
    browser.open(pages / "several.html")
    shown = browser.one("#summary").text
    (other,) = browser.all("#method option:not(:checked)")
    other.click()
    assert browser.run(IN_PLACE) and shown and browser.complaints() == []


def test_the_table_says_the_same(mean):
    assert not mean.one("table").is_displayed()
    mean.one("summary").click()
    assert "the reduction mean is not supported" in mean.one("table").text


def test_no_network(browser, pages):
    for name in ("mean.html", "official.html"):
        browser.open(pages / name)
        assert len(browser.all("#graph .node")) > 2
        assert {url for url in browser.requests() if not url.startswith("data:")} == {(pages / name).as_uri()}


def test_another_delegate(browser, pages):
    browser.open(pages / "official.html")
    assert "a delegate of another backend" in browser.hover(browser.node("XnnpackBackend"))


@needs_runtime
def test_a_profile(browser, command, folder):
    command("inspect", "full.pte", "--html", "full.html", "--profile")
    browser.open(folder / "full.html")
    browser.run("view.setAll(true)")
    assert browser.one("#colour").get_attribute("value") == "ms"
    assert browser.run(IN_PLACE) and len(browser.all("#graph .heat")) > 8
    text = browser.hover(browser.node("LayerNorm"))
    assert "XNNPACK has no such operator." in text and " ms, " in text and "kernel, step " in text
    chart = browser.one("#memory-chart svg")
    assert chart.is_displayed() and chart.get_attribute("aria-label").startswith("Memory over time: at most ")
    assert "values inside of delegates" in browser.hover(chart)
    chart.click()
    assert "why" in browser.one("#selected").text
    assert browser.complaints() == []


def large_picture() -> Picture:
    """Layers of 20 nodes in modules of 5, with a skip around each module, and one input that all layers read."""
    nodes = [Node("x", "x", "float32[8]", "border", border="input"), Node("mask", "mask", "", "border", border="input")]
    for i in range(LARGE):
        reads = [nodes[-1].id if i else "x"]
        if i % 5 == 4:
            reads.append(str(i - 4))
        if i % 20 == 10:
            reads.append("mask")
        path = ("model", f"layers.{i // 20}", f"part{i // 5 % 4}")
        facts = (("why", f"reason {i}"),)
        nodes.append(Node(str(i), f"op{i}", "float32[8]", "call", facts, path, tuple(reads), {"flop": i}))
    groups = {"call": Group("call", 255), "border": Group("border", None)}
    memory = Memory(("planned",), tuple(str(i) for i in range(LARGE)), (tuple(range(LARGE)),))
    return Picture("forward", (), groups, {"flop": Measure("arithmetic", "FLOP")}, nodes, memory)


def test_a_model_of_2000_nodes_stays_usable(browser, tmp_path):
    write(str(tmp_path / "large.html"), "large", "explain", [large_picture()])
    browser.open(tmp_path / "large.html")

    assert browser.busy("show(pictures[0])") < SOON_MS
    assert 0 < len(browser.all("#graph .closed")) <= 100 and len(browser.all("#graph .node")) < 100
    browser.node("layers.3,").click()
    assert browser.run("return view.tree.clusters.filter((cluster) => cluster.isOpen).length") >= 2
    toggle = "view.toggle(view.tree.clusters.find((cluster) => cluster.name === 'layers.3'))"
    assert browser.busy(toggle) < AT_ONCE_MS
    assert browser.busy("view.setAll(true)") < SOON_MS
    assert browser.run("return document.querySelectorAll('#graph .node').length") == LARGE + 2
    assert browser.busy("view.zoom(0.5); view.zoom(3); view.search('op199')") < AT_ONCE_MS
    assert browser.busy("view.goToNextHit()") < AT_ONCE_MS
    assert "reason 199" in browser.hover(browser.one("#graph .chosen"))
    assert browser.complaints() == []
