// What one can do with a picture: move, zoom, open, close, hover, select, search.

const NEAR = 2.5; // the largest scale
const LEGIBLE = 0.28; // texts of a smaller scale are not drawn
const LEGIBLE_AT_FIRST = 0.75;
const OPENED = 70; // boxes that are shown at first

class View {
  constructor(picture) {
    this.picture = picture;
    this.tree = buildTree(picture);
    this.selected = null;
    this.query = "";
    openLevels(this.tree, OPENED);
    const label = `Graph of ${picture.name}: ${picture.nodes.length} operators, inputs at the top. The table has the same facts.`;
    this.svg = element("svg", { role: "group", "aria-label": label });
    const arrow = { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8 };
    Object.assign(arrow, { orient: "auto", markerUnits: "userSpaceOnUse" });
    element("path", { d: "M0 0.5L8 4L0 7.5z" }, element("marker", arrow, element("defs", {}, this.svg)));
    this.scene = element("g", {}, this.svg);
    this.place = { scale: 1, x: 0, y: 0 };
    this.listen();
  }

  // Draws anew, in the colours of a measure, or of groups.
  draw(choice = this.choice) {
    this.choice = choice;
    this.colours = colouring(this.picture, this.tree, choice);
    drawAll(this);
    this.mark();
  }

  moveTo(scale, x, y) {
    this.place = { scale, x, y };
    this.scene.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
    this.svg.classList.toggle("far", scale < LEGIBLE);
  }

  zoom(factor, at) {
    const { width, height } = this.svg.getBoundingClientRect();
    const { x, y } = at ?? { x: width / 2, y: height / 2 };
    const scale = Math.min(NEAR, Math.max(0.01, this.place.scale * factor));
    const grown = scale / this.place.scale;
    this.moveTo(scale, x - (x - this.place.x) * grown, y - (y - this.place.y) * grown);
  }

  // All of it, but not smaller than `least`: then its top.
  fit(least = 0) {
    const { width, height } = this.svg.getBoundingClientRect();
    const { root } = this.tree;
    const scale = Math.max(least, Math.min(1.2, width / root.width, height / root.height));
    const first = root.children.reduce((a, b) => (b.y < a.y ? b : a));
    const middle = scale * root.width > width ? first.x : root.width / 2;
    this.moveTo(scale, width / 2 - scale * middle, Math.max(0, (height - scale * root.height) / 2));
  }

  // Opens or closes a cluster, whose corner stays where it is.
  toggle(cluster) {
    const before = corner(cluster);
    setOpen(cluster, !cluster.isOpen);
    this.draw();
    const after = corner(cluster);
    const { scale, x, y } = this.place;
    this.moveTo(scale, x + scale * (before.x - after.x), y + scale * (before.y - after.y));
    const focused = cluster.isOpen ? cluster.element.querySelector(".title") : cluster.element;
    focused.focus({ preventScroll: true });
  }

  setAll(isOpen) {
    for (const cluster of this.tree.clusters) if (cluster.parent !== null) setOpen(cluster, isOpen);
    this.draw();
    this.fit(LEGIBLE_AT_FIRST);
  }

  // Brings a node into sight.
  goTo(node) {
    const closed = clustersAround(node).filter((cluster) => !cluster.isOpen);
    for (const cluster of closed) setOpen(cluster, true);
    if (closed.length > 0) this.draw();
    this.select(node);
    const { width, height } = this.svg.getBoundingClientRect();
    const { x, y } = corner(node);
    const scale = Math.max(this.place.scale, 0.8);
    this.moveTo(scale, width / 2 - scale * (x + node.width / 2), height / 2 - scale * (y + node.height / 2));
  }

  select(node) {
    this.selected?.element?.classList.remove("chosen");
    this.selected = node;
    node.element.classList.add("chosen");
    document.getElementById("selected").replaceChildren(...describe(node, this.picture));
    document.getElementById("selection").scrollIntoView({ block: "nearest" });
  }

  search(query) {
    this.query = query.trim().toLowerCase();
    this.hits = [...this.tree.nodes.values()].filter((node) => this.query && this.textOf(node).includes(this.query));
    this.next = 0;
    this.mark();
    return this.hits.length;
  }

  textOf(node) {
    node.text ??= [node.id, node.label, ...node.path, ...node.facts.map((fact) => fact[1])].join("\n").toLowerCase();
    return node.text;
  }

  goToNextHit() {
    if (this.query && this.hits.length > 0) this.goTo(this.hits[this.next++ % this.hits.length]);
  }

  // Classes of what is selected and found, which are lost when it is drawn.
  mark() {
    this.scene.classList.toggle("searching", this.query !== "");
    for (const old of this.scene.querySelectorAll(".hit")) old.classList.remove("hit");
    for (const node of this.query ? this.hits : []) {
      const closed = clustersAround(node).filter((cluster) => cluster.parent !== null && !cluster.isOpen);
      (closed.at(-1) ?? node).element.classList.add("hit");
    }
    if (this.selected && clustersAround(this.selected).every((cluster) => cluster.isOpen)) {
      this.selected.element.classList.add("chosen");
    }
  }

  // The lines of a node, to what it reads and to what reads it.
  light(node, isOn) {
    const routes = [...node.routes.values(), ...node.readers.map((reader) => reader.routes.get(node.id))];
    for (const link of routes.flat()) link.element?.classList.toggle("lit", isOn);
  }

  listen() {
    const { svg } = this;
    const itemAt = (event) => event.target.closest("g[tabindex]")?.item;
    const act = (event) => {
      const item = itemAt(event);
      if (item === undefined) return;
      if (item.leaves === undefined) this.select(item);
      else this.toggle(item);
    };
    let drag = null;
    svg.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, y: event.clientY, place: this.place, isMoved: false };
    });
    svg.addEventListener("pointermove", (event) => {
      if (drag === null || event.buttons === 0) return;
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      if (!drag.isMoved && Math.hypot(dx, dy) < 4) return;
      drag.isMoved = true;
      svg.setPointerCapture(event.pointerId);
      svg.classList.add("moving");
      this.moveTo(drag.place.scale, drag.place.x + dx, drag.place.y + dy);
    });
    svg.addEventListener("pointerup", () => svg.classList.remove("moving"));
    svg.addEventListener("click", (event) => {
      if (!drag?.isMoved) act(event);
      drag = null;
    });
    svg.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      act(event);
    });
    svg.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const { left, top } = svg.getBoundingClientRect();
        this.zoom(Math.exp(-event.deltaY * 0.0015), { x: event.clientX - left, y: event.clientY - top });
      },
      { passive: false },
    );
    const show = (event) => {
      const item = itemAt(event);
      if (item === undefined || item === this.lit) return;
      this.hide();
      this.lit = item;
      if (item.leaves === undefined) this.light(item, true);
      const box = event.target.closest("g[tabindex]").getBoundingClientRect();
      showTip(describe(item, this.picture), event.clientX ?? box.right, event.clientY ?? box.bottom);
    };
    svg.addEventListener("pointerover", show);
    svg.addEventListener("focusin", (event) => event.target.matches(":focus-visible") && show(event));
    svg.addEventListener("pointerout", (event) => !itemAt({ target: event.relatedTarget ?? svg }) && this.hide());
    svg.addEventListener("focusout", () => this.hide());
  }

  hide() {
    if (this.lit !== undefined && this.lit.leaves === undefined) this.light(this.lit, false);
    this.lit = undefined;
    document.getElementById("tip").hidden = true;
  }
}

function html(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// The facts of a node; of a cluster what is in it.
function describe(item, picture) {
  const list = html("dl");
  const facts = item.facts ?? clusterFacts(item, picture);
  if (picture.groups[item.group]?.stands_out) list.classList.add("warn");
  for (const [name, text] of facts) {
    list.append(html("dt", name), html("dd", text, name === "why" ? { class: "why" } : {}));
  }
  return [html("h3", item.label ?? item.key.slice(1).replaceAll("/", " / ")), list];
}

function clusterFacts(cluster, picture) {
  const counts = Object.entries(picture.groups).map(([key, group]) => [
    group.label,
    cluster.leaves.filter((node) => node.group === key).length,
  ]);
  const root = clustersAround(cluster).at(-1);
  const amounts = Object.entries(picture.measures).map(([key, { label, unit }]) => {
    const amount = amountOf(cluster, key);
    return [label, `${amountText(amount, unit)}, ${share(amount, amountOf(root, key))}`];
  });
  return [["operators", String(cluster.leaves.length)], ...counts.filter(([, number]) => number > 0), ...amounts];
}

function showTip(content, x, y) {
  const tip = document.getElementById("tip");
  tip.replaceChildren(...content);
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(x + 16, innerWidth - width - 8))}px`;
  tip.style.top = `${y + 16 + height > innerHeight ? Math.max(8, y - height - 12) : y + 16}px`;
}
