// Draws what is visible, as SVG.

const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes, parent) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent?.append(made);
  return made;
}

function amountOf(item, measure) {
  const nodes = item.leaves ?? [item];
  return nodes.reduce((sum, node) => sum + (node.amounts[measure] ?? 0), 0);
}

const UNITS = ["", "k", "M", "G", "T"];

function amountText(value, unit) {
  if (unit === "ms") return `${value < 1 ? value.toFixed(3) : value.toPrecision(3)} ms`;
  const power = value >= 1 ? Math.min(4, Math.floor(Math.log10(value) / 3)) : 0;
  return `${Number((value / 1000 ** power).toPrecision(3))} ${UNITS[power]}${unit}`;
}

function share(part, whole) {
  const percent = whole > 0 ? (100 * part) / whole : 0;
  return `${percent >= 10 || percent === 0 ? percent.toFixed(0) : percent.toPrecision(2)} %`;
}

// What a colour stands for: a group, or the amount of a measure relative to the largest one in sight.
function colouring(picture, tree, choice) {
  const measure = picture.measures[choice];
  if (measure === undefined) return { paint: paintGroup, text: () => undefined };
  const whole = amountOf(tree.root, choice);
  const largest = Math.max(...visibleItems(tree.root).map((item) => amountOf(item, choice)), Number.MIN_VALUE);
  return {
    paint: (box, item, groups) => {
      if (item.border) return paintGroup(box, item, groups);
      box.classList.add("heat");
      box.classList.toggle("outside", groups[item.group]?.stands_out ?? false);
      box.style.setProperty("--heat", `${(100 * Math.sqrt(amountOf(item, choice) / largest)).toFixed(1)}%`);
    },
    text: (item) => {
      const amount = amountOf(item, choice);
      return item.border ? undefined : `${amountText(amount, measure.unit)} · ${share(amount, whole)}`;
    },
  };
}

function paintGroup(box, item, groups) {
  if (item.leaves !== undefined) return;
  tint(box, groups[item.group]);
}

function tint(box, group) {
  if (group.hue === null) box.classList.add("grey");
  else box.style.setProperty("--hue", group.hue);
  if (group.stands_out) box.classList.add("outside");
}

function drawCluster(cluster, parent, view) {
  const shell = element("g", {}, parent);
  const lines = element("g", { class: "lines" }, shell);
  for (const child of cluster.children) {
    const x = child.x - child.width / 2;
    const y = child.y - child.height / 2;
    const group = element("g", { transform: `translate(${x} ${y})` }, shell);
    group.item = child;
    child.element = group;
    if (child.isOpen) drawOpen(child, group, view);
    else drawBox(child, group, view);
  }
  for (const link of cluster.links.values()) {
    const isArrow = link.to.way === undefined && !link.to.isOpen;
    link.element = element("path", { d: curve(link.points), class: "line" }, lines);
    if (isArrow) link.element.setAttribute("marker-end", "url(#arrow)");
    if (link.isStub) {
      const [{ x, y }] = link.points;
      element("text", { x: x + 5, y: y + 8, class: "stub" }, lines).textContent = cut(link.net.label, 18);
    }
  }
}

function drawOpen(cluster, group, view) {
  group.setAttribute("class", "cluster");
  const { width, height } = cluster;
  element("rect", { width, height, rx: 10, class: cluster.depth % 2 ? "frame" : "frame other" }, group);
  const bar = element("g", { class: "title", ...button(`${cluster.name}, open`) }, group);
  element("rect", { width, height: TITLE - 4, rx: 10, class: "handle" }, bar);
  element("text", { x: 12, y: 16 }, bar).textContent = `− ${cluster.name}`;
  drawCluster(cluster, group, view);
  bar.item = cluster;
}

function drawBox(item, group, view) {
  const isCluster = item.leaves !== undefined;
  const kind = isCluster ? "cluster closed" : "node";
  group.setAttribute("class", item.border ? "node border" : kind);
  const name = isCluster ? `${item.name}, ${item.leaves.length} operators, closed` : `${item.label}, ${item.detail}`;
  for (const [key, value] of Object.entries(button(name))) group.setAttribute(key, value);
  const { width, height } = item;
  const rx = item.border ? height / 2 : 7;
  if (isCluster) element("rect", { x: 4, y: 4, width, height, rx, class: "shadow" }, group);
  const box = element("rect", { width, height, rx, class: "box" }, group);
  view.colours.paint(box, item, view.picture.groups);
  const second = view.colours.text(item);
  const lines = second === undefined ? item.lines : [item.lines[0], second];
  const top = lines.length === 2 ? 18 : 19;
  element("text", { x: width / 2, y: top, class: "name" }, group).textContent = isCluster ? `+ ${lines[0]}` : lines[0];
  if (lines.length === 2) element("text", { x: width / 2, y: 34 }, group).textContent = lines[1];
  if (isCluster) drawParts(item, group, view.picture.groups);
}

const button = (label) => ({ tabindex: 0, role: "button", "aria-label": label });

// The groups of the nodes of a closed cluster, by number; what stands out is also named.
function drawParts(cluster, group, groups) {
  const counts = new Map();
  for (const node of cluster.leaves) counts.set(node.group, (counts.get(node.group) ?? 0) + 1);
  const scale = (cluster.width - 20) / cluster.leaves.length;
  let x = 10;
  for (const [key, known] of Object.entries(groups)) {
    const width = (counts.get(key) ?? 0) * scale;
    if (width === 0) continue;
    tint(element("rect", { x, y: cluster.height - 10, width, height: 5, class: "part" }, group), known);
    x += width;
    if (known.stands_out) {
      const badge = element("g", { class: "badge", transform: `translate(${cluster.width} 0)` }, group);
      element("circle", { r: 9 }, badge);
      element("text", { y: 4 }, badge).textContent = counts.get(key);
    }
  }
}

// A line through points, rounded between them; from one layer to the next one it begins and ends upright.
function curve(points) {
  const text = ({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  const [first, last] = [points[0], points.at(-1)];
  if (points.length === 2) return `M${text(first)}L${text(last)}`;
  if (points.length === 3) {
    const y = (first.y + last.y) / 2;
    return `M${text(first)}C${text({ x: first.x, y })} ${text({ x: last.x, y })} ${text(last)}`;
  }
  const middle = (a, b) => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });
  const bends = points.slice(1, -1);
  const ends = bends.map((bend, k) => (k === bends.length - 1 ? last : middle(bend, bends[k + 1])));
  return `M${text(first)}${bends.map((bend, k) => `Q${text(bend)} ${text(ends[k])}`).join("")}`;
}

function drawAll(view) {
  layOut(view.tree.root);
  view.scene.replaceChildren();
  drawCluster(view.tree.root, view.scene, view);
}
