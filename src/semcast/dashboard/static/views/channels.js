// Channels: what each carries, for whom, how much of it was wanted; and how profiles overlap.
import { colour, get, h, percent, rate, swatch, Table, whole } from "../dom.js";

export function make() { return new Channels(); }

class Channels {
  constructor() {
    this.about = h("p", { class: "dim" });
    this.table = new Table(null, [
      { title: "channel", cell: row => h("span", {}, swatch(row), " ", row.id), same: row => row.id + document.documentElement.dataset.theme },
      { title: "carries", text: true, cell: row => row.expression ?? "any message, by its gateways" },
      { title: "profiles", number: true, cell: row => whole(row.profiles) },
      { title: "gateways", number: true, cell: row => whole(row.gateways.length) },
      { title: "links", number: true, cell: row => whole(row.links) },
      { title: "messages /s", number: true, cell: row => rate(row.rate_s) },
      { title: "of all", number: true, cell: row => percent(row.share) },
      { title: "sent", number: true, cell: row => whole(row.carried) },
      { title: "reach", number: true, cell: row => share(row.reach), same: row => `${row.reach}` },
      { title: "useful / received", number: true, cell: row => row.received ? `${whole(row.useful)} / ${whole(row.received)}` : "–" },
      { title: "noise", number: true, cell: row => percent(row.noise, 1) },
    ], row => row.id);
    this.routers = new Table(null, [
      { title: "router", cell: row => row.up ? row.id : `${row.id} (down)` },
      { title: "roles", cell: row => row.roles.join(", ") || "interior" },
      { title: "filters", number: true, cell: row => whole(row.filters) },
      { title: "nodes", number: true, cell: row => whole(row.filter_nodes) },
      { title: "packets out /s", number: true, cell: row => rate(row.out_s) },
      { title: "packets in", number: true, cell: row => whole(row.packets_in) },
      { title: "packets out", number: true, cell: row => whole(row.packets_out) },
      { title: "kept back", number: true, cell: row => whole(row.filtered) },
      { title: "updates out", number: true, cell: row => whole(row.updates_out) },
    ], row => row.id);
    this.legend = h("p", { class: "small dim" });
    this.empty = h("p", { class: "empty", hidden: true }, "There is no channel yet: a plan is made when somebody subscribes. Try it: ", h("a", { href: "#try" }, "watch a profile"), ".");
    this.overlaps = h("div", {});
    this.together = h("div", {}, h("h2", {}, "How profiles overlap"), this.overlaps);
    this.element = h("section", { "aria-label": "Channels" }, this.about, this.table.element, this.routers.element, this.empty, this.legend,
      this.together);
    this.at = -Infinity;
  }

  async update() {
    const told = await get("/api/channels");
    const routers = told.routers ?? [];
    this.about.textContent = routers.length ? "Scheme semnet: there are no channels. A router has a filter per port, the union of what is wanted behind it, and passes a packet on where it matches."
      : told.channels.length ? `Epoch ${told.epoch}, scheme ${told.scheme}.` : "";
    this.legend.textContent = routers.length ? "Nodes: the size of the filters. Kept back: copies that were not sent, as nobody behind the port wants them."
      : "Reach: of a channel's gateways, the share that a message is for (masks leave the others out). Noise: what came to a gateway and nobody there wanted.";
    this.table.show(told.channels);
    this.routers.show(routers);
    this.routers.element.hidden = !routers.length;
    this.together.hidden = told.channels.some(channel => channel.profiles === null); // of a recorded run nobody knows them
    this.table.element.hidden = !told.channels.length;
    this.empty.hidden = told.channels.length > 0 || routers.length > 0;
    if (performance.now() - this.at > 5000 && !this.overlaps.querySelector("canvas:is(:hover, :focus)")) {
      this.at = performance.now();
      this.known = await get("/api/overlaps");
      this.showOverlaps();
    }
  }

  repaint() { if (this.known) this.showOverlaps(); }

  showOverlaps() {
    const { profiles, matrix, messages } = this.known;
    if (!profiles.length) {
      this.overlaps.replaceChildren(h("p", { class: "empty" }, "No message that was published lately matched a profile."));
      return;
    }
    const readout = h("p", { class: "small", role: "status" }, "Point at a cell, or move with the arrow keys, to read it.");
    this.overlaps.replaceChildren(
      h("p", { class: "small dim" }, `Over the latest ${whole(messages)} messages: of what the profile of a row matches, how much the profile of a column matches too. The stronger the colour, the more.`),
      h("div", { class: "split" }, h("figure", {}, heat(profiles, matrix, readout), readout),
        h("div", { class: "panel" }, h("h3", {}, "Containment"), h("p", { class: "small dim" }, "Below a profile hang those that matched nothing else."), hierarchy(profiles))));
  }
}

function share(value) {
  if (value === null) return h("span", {}, "–");
  return h("span", {}, percent(value), h("span", { class: "bar", "aria-hidden": "true" }, h("i", { style: { width: `${100 * value}%` } })));
}

// A pixel per cell, scaled up by the browser: forty by forty cells cost nothing.
function heat(profiles, matrix, readout) {
  const size = profiles.length, canvas = h("canvas", { width: size, height: size, tabindex: "0", role: "img",
    "aria-label": `Overlap of ${size} profiles. Arrow keys move from cell to cell.` });
  const pen = canvas.getContext("2d"), image = pen.createImageData(size, size);
  const [from, to] = [parts(colour("bg")), parts(colour("accent"))];
  matrix.forEach((row, i) => row.forEach((value, j) => {
    const at = 4 * (i * size + j);
    for (let part = 0; part < 3; part++) image.data[at + part] = from[part] + value * (to[part] - from[part]);
    image.data[at + 3] = 255;
  }));
  pen.putImageData(image, 0, 0);
  let at = [0, 0];
  const tell = (i, j) => {
    at = [Math.max(0, Math.min(size - 1, i)), Math.max(0, Math.min(size - 1, j))];
    const [row, column] = [profiles[at[0]], profiles[at[1]]];
    readout.textContent = `${percent(matrix[at[0]][at[1]])} of what “${row.text}” matches is matched by “${column.text}” too.`;
  };
  canvas.addEventListener("pointermove", event => {
    const box = canvas.getBoundingClientRect();
    tell(Math.floor((event.clientY - box.top) / box.height * size), Math.floor((event.clientX - box.left) / box.width * size));
  });
  canvas.addEventListener("keydown", event => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (step) { event.preventDefault(); tell(at[0] + step[0], at[1] + step[1]); }
  });
  return h("div", { class: "heat" }, canvas);
}

const parts = text => text.match(/[\d.]+/g).slice(0, 3).map(Number);

function hierarchy(profiles) {
  const below = profiles.map(() => []);
  profiles.forEach((profile, place) => { if (profile.parent !== null) below[profile.parent].push(place); });
  const item = place => h("li", {}, h("code", {}, profiles[place].text), h("span", { class: "dim small" }, ` ${profiles[place].stream} · ${percent(profiles[place].share, 1)}`),
    below[place].length ? h("ul", {}, below[place].map(item)) : null);
  return h("ul", { class: "tree" }, profiles.map((profile, place) => place).filter(place => profiles[place].parent === null).map(item));
}
