// Sizes and places. Each cluster is laid out by itself, in coordinates of its own, as a layered graph from top to bottom;
// an open one is a large box to the cluster around it. So what is opened or closed costs little.

const PADDING = 14;
const TITLE = 26; // of an open cluster
const BETWEEN = { nodesep: 22, ranksep: 30, edgesep: 12 };
const PULL = 100; // holds inputs at the top and outputs at the bottom
const HUB = 4; // readers of a result in one cluster; to more of them it is a name beside each reader but the first
const STUB = 20;

const ruler = document.createElement("canvas").getContext("2d");

function textWidth(text, font) {
  ruler.font = `${font} ui-sans-serif, system-ui, sans-serif`;
  return ruler.measureText(text).width;
}

const cut = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

function measure(item) {
  const isCluster = item.children !== undefined;
  item.lines = isCluster
    ? [cut(item.name, 34), `${item.leaves.length} operators`]
    : [cut(item.label, 34), ...(item.detail ? [cut(item.detail, 34)] : [])];
  const widths = item.lines.map((line, k) => textWidth(line, k === 0 ? "600 13px" : "11px"));
  item.width = Math.ceil(Math.max(72, ...widths)) + (isCluster ? 40 : 24);
  item.height = (item.lines.length === 2 ? 42 : 28) + (isCluster ? 8 : 0);
}

function layOut(cluster) {
  if (!cluster.isStale) return;
  for (const child of cluster.children) {
    if (child.isOpen) layOut(child);
    else measure(child);
  }
  markStubs(cluster);
  const items = [...cluster.children, ...cluster.ports.values()];
  const points = place(cluster, items);
  const top = cluster.parent === null ? PADDING : TITLE;
  const boxes = cluster.children;
  const xs = [...points].flat().map((point) => point.x);
  const left = Math.min(...boxes.map((box) => box.x - box.width / 2), ...xs);
  const right = Math.max(...boxes.map((box) => box.x + box.width / 2), ...xs);
  const above = Math.min(...boxes.map((box) => box.y - box.height / 2));
  const below = Math.max(...boxes.map((box) => box.y + box.height / 2));
  const title = cluster.parent === null ? 0 : textWidth(cluster.name, "600 12px") + 110;
  const extra = Math.max(0, title - (right - left + 2 * PADDING)) / 2;
  for (const point of [...items, ...[...points].flat()]) {
    point.x += PADDING + extra - left;
    point.y += top - above;
  }
  cluster.width = right - left + 2 * (PADDING + extra);
  cluster.height = below - above + top + PADDING;
  const links = [...cluster.links.values()].filter((link) => !link.isStub);
  for (const child of cluster.children) if (child.isOpen) mirrorIfCrossed(child, links);
  for (const port of cluster.ports.values()) port.y = port.way === "in" ? 0 : cluster.height;
  for (const link of cluster.links.values()) {
    if (link.isStub) {
      link.points = placeStub(link);
      continue;
    }
    const last = link.points.length - 1;
    link.points[0] = end(link.from, link.net, "out") ?? link.points[0];
    link.points[last] = end(link.to, link.net, "in") ?? link.points[last];
  }
  cluster.isStale = false;
}

// Turns an open cluster round where the lines to its ports cross less then.
function mirrorIfCrossed(cluster, links) {
  const pairs = links.flatMap(({ from, to, net, points }) => {
    if (points === undefined) return [];
    if (to === cluster) return [[cluster.port("in", net).x, points.at(-2).x]];
    return from === cluster ? [[cluster.port("out", net).x, points[1].x]] : [];
  });
  const mean = (k) => pairs.reduce((sum, pair) => sum + pair[k], 0) / pairs.length;
  const [inside, outside] = [mean(0), mean(1)];
  if (pairs.reduce((sum, [a, b]) => sum + (a - inside) * (b - outside), 0) >= 0) return;
  const points = [...cluster.links.values()].flatMap((link) => link.points);
  for (const point of [...cluster.children, ...cluster.ports.values(), ...points]) point.x = cluster.width - point.x;
}

function markStubs(cluster) {
  const readers = Map.groupBy(cluster.links.values(), (link) => link.net);
  for (const links of readers.values()) {
    links.forEach((link, k) => (link.isStub = links.length > HUB && k > 0 && link.to.way === undefined));
  }
}

function placeStub({ to, net }) {
  const { x, y } = end(to, net, "in") ?? { x: to.x + 0.36 * to.width, y: to.y - to.height / 2 };
  return [{ x, y: y - STUB }, { x, y }];
}

// Sets x and y of the items, and the points of the links: one list for those with the same ends.
function place(cluster, items) {
  const nodes = items.map((item) => ({ v: item.key, width: item.width ?? 1, height: item.height ?? 1 }));
  const edges = new Map();
  const add = (v, w, weight) => {
    const key = `${v}|${w}`;
    if (!edges.has(key)) {
      edges.set(key, { v, w, weight, minlen: 1, width: 0, height: 0, labeloffset: 0, labelpos: "c" });
    }
    return key;
  };
  const keys = new Map();
  for (const link of cluster.links.values()) {
    if (!link.isStub) keys.set(link, add(link.from.key, link.to.key, 1));
  }
  for (const [name, ends] of [["in", isBegin], ["out", isEnd]]) {
    const held = items.filter(ends);
    if (held.length === 0) continue;
    nodes.push({ v: name, width: 0, height: 0 });
    for (const item of held) add(...(name === "in" ? [name, item.key] : [item.key, name]), PULL);
  }
  dagre.layout(nodes, [...edges.values()], { ...BETWEEN }, {});
  const placed = new Map(nodes.map((node) => [node.v, node]));
  for (const item of items) ({ x: item.x, y: item.y } = placed.get(item.key));
  for (const [link, key] of keys) link.points = edges.get(key).points.map(({ x, y }) => ({ x, y }));
  return [...keys.keys()].map((link) => link.points);
}

const isBegin = (item) => item.way === "in" || item.border === "input";
const isEnd = (item) => item.way === "out" || item.border === "output";

// Where a line ends at a port, one of this cluster or of an open one in it.
function end(item, net, way) {
  if (item.way !== undefined) return { x: item.x, y: item.y };
  if (!item.isOpen) return undefined;
  const port = item.port(way, net);
  return { x: item.x - item.width / 2 + port.x, y: item.y - item.height / 2 + port.y };
}

// The corner of an item in the coordinates of everything.
function corner(item) {
  let x = 0;
  let y = 0;
  for (let at = item; at.parent !== null; at = at.parent) {
    x += at.x - at.width / 2;
    y += at.y - at.height / 2;
  }
  return { x, y };
}
