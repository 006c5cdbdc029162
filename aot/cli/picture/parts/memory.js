// Memory over time: bytes in use while each node runs, stacked.

const CHART = { width: 1000, height: 120, left: 64, right: 8, top: 8, bottom: 18 };

function drawMemory(picture, view) {
  const { memory } = picture;
  document.getElementById("memory").hidden = memory === null;
  if (memory === null) return;
  const holder = document.getElementById("memory-chart");
  const width = Math.max(400, holder.getBoundingClientRect().width);
  const size = { ...CHART, width };
  const total = memory.nodes.map((_, at) => memory.bytes.reduce((sum, series) => sum + series[at], 0));
  const top = Math.max(...total, 1);
  const x = (at) => size.left + (at * (width - size.left - size.right)) / memory.nodes.length;
  const y = (bytes) => size.top + (1 - bytes / top) * (size.height - size.top - size.bottom);
  const most = total.indexOf(Math.max(...total));
  const name = (at) => view.tree.nodes.get(memory.nodes[at])?.label ?? memory.nodes[at];
  const label = `Memory over time: at most ${amountText(top, "B")}, in ${name(most)}`;
  const svg = element("svg", { viewBox: `0 0 ${width} ${size.height}`, role: "img", "aria-label": label });
  for (const part of [0, 0.5, 1]) {
    element("line", { x1: size.left, x2: width - size.right, y1: y(part * top), y2: y(part * top), class: "grid" }, svg);
    const text = element("text", { x: size.left - 8, y: y(part * top) + 4, "text-anchor": "end" }, svg);
    text.textContent = amountText(part * top, "B");
  }
  const below = total.map(() => 0);
  memory.bytes.forEach((series, k) => {
    const stairs = (heights) => heights.map((bytes, at) => `${x(at)} ${y(bytes)}L${x(at + 1)} ${y(bytes)}`);
    const base = stairs(below).join("L");
    series.forEach((bytes, at) => (below[at] += bytes));
    const back = base.split("L").reverse().join("L");
    element("path", { d: `M${stairs(below).join("L")}L${back}z`, class: `series${k}` }, svg);
  });
  element("text", { x: size.left, y: size.height - 4 }, svg).textContent = "first operator";
  element("text", { x: width - size.right, y: size.height - 4, "text-anchor": "end" }, svg).textContent = "last operator";
  const cursor = element("line", { y1: size.top, y2: size.height - size.bottom, class: "cursor", visibility: "hidden" }, svg);
  const momentAt = (event) => {
    const at = Math.floor(((event.offsetX - size.left) / (width - size.left - size.right)) * memory.nodes.length);
    return at >= 0 && at < memory.nodes.length ? at : undefined;
  };
  svg.addEventListener("pointermove", (event) => {
    const at = momentAt(event);
    cursor.setAttribute("visibility", at === undefined ? "hidden" : "visible");
    if (at === undefined) return view.hide();
    const middle = (x(at) + x(at + 1)) / 2;
    cursor.setAttribute("x1", middle);
    cursor.setAttribute("x2", middle);
    const list = html("dl");
    memory.labels.forEach((series, k) => {
      list.append(html("dt", series), html("dd", amountText(memory.bytes[k][at], "B")));
    });
    showTip([html("h3", name(at)), list], event.clientX, event.clientY);
  });
  svg.addEventListener("pointerleave", () => {
    cursor.setAttribute("visibility", "hidden");
    view.hide();
  });
  svg.addEventListener("click", (event) => {
    const node = view.tree.nodes.get(memory.nodes[momentAt(event)]);
    if (node !== undefined) view.goTo(node);
  });
  holder.replaceChildren(svg);
  const legend = memory.labels.flatMap((text, k) => [html("span", "", { class: `swatch series${k}` }), text]);
  const peak = `at most ${amountText(top, "B")} in ${name(most)}`;
  document.getElementById("memory-legend").replaceChildren(peak, ...legend);
}
