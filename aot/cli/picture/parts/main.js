// The page: its methods, tools and panels.

const byId = (id) => document.getElementById(id);
const pictures = JSON.parse(byId("data").textContent);
let view;

function show(picture) {
  view?.hide();
  view = new View(picture);
  byId("graph").replaceChildren(view.svg);
  const summary = picture.summary.flatMap(([name, text]) => [html("dt", name), html("dd", text)]);
  byId("summary").replaceChildren(...summary);
  const measures = Object.entries(picture.measures).map(([key, { label }]) => [key, label]);
  const choices = [["", "who computes it"], ...measures];
  byId("colour").replaceChildren(...choices.map(([value, text]) => html("option", text, { value })));
  byId("colour").value = "ms" in picture.measures ? "ms" : "";
  byId("search").value = "";
  byId("found").textContent = "";
  recolour();
  view.fit(LEGIBLE_AT_FIRST);
  drawMemory(picture, view);
}

function recolour() {
  view.draw(byId("colour").value);
  drawLegend(view.picture, byId("colour").value);
}

function drawLegend(picture, choice) {
  const rows = Object.entries(picture.groups).map(([key, group]) => {
    const row = html("li");
    const sample = element("svg", { viewBox: "0 0 26 16", "aria-hidden": "true" });
    const box = element("rect", { x: 1, y: 1, width: 24, height: 14, rx: 4, class: "sample" }, sample);
    tint(box, group);
    const number = picture.nodes.filter((node) => node.group === key).length;
    row.append(sample, group.label, html("span", number, { class: "number" }));
    return row;
  });
  const measure = picture.measures[choice];
  if (measure !== undefined) {
    const row = html("li");
    row.append("less", html("span", "", { class: "scale" }), `more ${measure.label}`);
    rows.unshift(row);
  }
  byId("legend").replaceChildren(...rows);
}

byId("method").replaceChildren(...pictures.map(({ name }, at) => html("option", name, { value: at })));
byId("method-choice").hidden = pictures.length === 1;
byId("method").addEventListener("change", (event) => show(pictures[event.target.value]));
byId("colour").addEventListener("change", recolour);
byId("open").addEventListener("click", () => view.setAll(true));
byId("close").addEventListener("click", () => view.setAll(false));
byId("fit").addEventListener("click", () => view.fit());
byId("closer").addEventListener("click", () => view.zoom(1.3));
byId("farther").addEventListener("click", () => view.zoom(1 / 1.3));
byId("search").addEventListener("input", (event) => {
  const number = view.search(event.target.value);
  byId("found").textContent = view.query ? `${number} found${number ? ", Enter shows the next" : ""}` : "";
});
byId("search").addEventListener("keydown", (event) => event.key === "Enter" && view.goToNextHit());
addEventListener("resize", () => drawMemory(view.picture, view));
// That with the most to show: others are constants about the model.
const largest = pictures.indexOf(pictures.reduce((a, b) => (b.nodes.length > a.nodes.length ? b : a)));
byId("method").value = largest;
show(pictures[largest]);
