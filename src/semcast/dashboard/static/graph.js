// The overlay on a canvas: moved and zoomed without touching the document, however many brokers there are.
import { colour, onPage } from "./dom.js";

const WIDTHS = 8; // links of nearly the same load are drawn as one path

export class Graph {
  constructor(canvas, picked) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d");
    this.picked = picked;
    this.view = { x: 0, y: 0, scale: 1 };
    this.touched = false;
    this.brokers = []; this.links = []; this.place = new Map();
    this.loads = []; this.most = 0; this.up = {}; this.linksUp = [];
    this.lit = null; this.chosen = null;
    this.pending = false;
    this.spent = []; // milliseconds of script per frame, for who measures
    this.pointers = new Map();
    new ResizeObserver(() => this.resize()).observe(canvas);
    canvas.addEventListener("pointerdown", event => this.down(event));
    canvas.addEventListener("pointermove", event => this.moved(event));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, event => this.ended(event));
    canvas.addEventListener("wheel", event => this.wheel(event), { passive: false });
    canvas.addEventListener("keydown", event => this.key(event));
    this.paint();
  }

  paint() {
    this.colours = Object.fromEntries(["bg", "text", "dim", "idle", "accent", "bad", "line"].map(name => [name, colour(name)]));
    this.draw();
  }

  show({ brokers, links }) {
    this.brokers = brokers;
    this.place = new Map(brokers.map((broker, number) => [broker.id, number]));
    this.links = links.map(link => [this.place.get(link.a), this.place.get(link.b)]);
    this.number = new Map(links.map((link, number) => [`${link.a} ${link.b}`, number]));
    if (!this.touched) this.fit();
    this.draw();
  }

  load(loads, most, up, linksUp) {
    Object.assign(this, { loads, most, up, linksUp });
    this.draw();
  }

  light(channel) {
    this.lit = channel && {
      colour: channel.colour, dashes: channel.dashes, rendezvous: this.place.get(channel.rendezvous),
      links: channel.tree.map(([a, b]) => [this.place.get(a), this.place.get(b)]),
      nodes: new Set([channel.rendezvous, ...channel.tree.flat()].map(id => this.place.get(id))),
      gateways: new Set(channel.gateways.map(id => this.place.get(id))),
    };
    this.draw();
  }

  choose(id) {
    this.chosen = id;
    this.draw();
  }

  resize() {
    const box = this.canvas.getBoundingClientRect(), ratio = devicePixelRatio || 1;
    if (!box.width) return;
    this.canvas.width = Math.round(box.width * ratio);
    this.canvas.height = Math.round(box.height * ratio);
    this.ratio = ratio; this.width = box.width; this.height = box.height;
    if (!this.touched) this.fit();
    this.draw();
  }

  fit() {
    if (!this.brokers.length || !this.width) return;
    const xs = this.brokers.map(broker => broker.x), ys = this.brokers.map(broker => broker.y);
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const margin = 34;
    const scale = Math.min((this.width - 2 * margin) / (right - left || 1), (this.height - 2 * margin) / (bottom - top || 1));
    this.view = { scale, x: (this.width - scale * (left + right)) / 2, y: (this.height - scale * (top + bottom)) / 2 };
  }

  home() { this.touched = false; this.fit(); this.draw(); }

  zoom(by, x = this.width / 2, y = this.height / 2) {
    this.touched = true;
    const view = this.view, scale = Math.min(40000, Math.max(40, view.scale * by)), factor = scale / view.scale;
    this.view = { scale, x: x - factor * (x - view.x), y: y - factor * (y - view.y) };
    this.draw();
  }

  pan(dx, dy) {
    this.touched = true;
    this.view.x += dx; this.view.y += dy;
    this.draw();
  }

  draw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      const begun = performance.now();
      this.render();
      if (this.spent.length > 600) this.spent.shift();
      this.spent.push(performance.now() - begun);
    });
  }

  render() {
    const { pen, view, colours } = this;
    if (!this.width) return;
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    const xs = this.xs = this.brokers.map(broker => view.x + view.scale * broker.x);
    const ys = this.ys = this.brokers.map(broker => view.y + view.scale * broker.y);
    this.drawLinks(xs, ys);
    if (this.lit) this.drawTree(xs, ys);
    this.drawBrokers(xs, ys);
    if (this.brokers.length <= 60 || view.scale > 2600) this.drawNames(xs, ys);
    else if (this.chosen) this.name(this.place.get(this.chosen), colours.text);
  }

  drawLinks(xs, ys) {
    const { pen, colours } = this, paths = Array.from({ length: WIDTHS + 1 }, () => new Path2D()), broken = new Path2D();
    this.links.forEach(([a, b], number) => {
      const load = this.loads[number] ?? 0, down = this.linksUp.length && !this.linksUp[number];
      const width = down ? broken : paths[load > 0 && this.most > 0 ? Math.max(1, Math.ceil(WIDTHS * Math.sqrt(load / this.most))) : 0];
      width.moveTo(xs[a], ys[a]);
      width.lineTo(xs[b], ys[b]);
    });
    pen.globalAlpha = this.lit ? 0.35 : 1;
    pen.setLineDash([]);
    paths.forEach((path, step) => {
      pen.strokeStyle = step ? (this.lit ? colours.dim : colours.accent) : colours.idle;
      pen.lineWidth = step ? 0.8 + 0.95 * step : 0.8;
      pen.stroke(path);
    });
    pen.strokeStyle = colours.bad; pen.lineWidth = 1.2; pen.setLineDash([3, 4]);
    pen.stroke(broken);
    pen.setLineDash([]);
    pen.globalAlpha = 1;
  }

  drawTree(xs, ys) {
    const { pen, lit } = this, path = new Path2D();
    for (const [a, b] of lit.links) { path.moveTo(xs[a], ys[a]); path.lineTo(xs[b], ys[b]); }
    pen.strokeStyle = this.colours.bg; pen.lineWidth = 6; pen.stroke(path);
    pen.strokeStyle = onPage(lit.colour); pen.lineWidth = 3.2; pen.lineCap = "round";
    pen.setLineDash(lit.dashes.map(length => 3.2 * length));
    pen.stroke(path);
    pen.setLineDash([]); pen.lineCap = "butt";
  }

  drawBrokers(xs, ys) {
    const { pen, colours, lit } = this, size = Math.max(2.6, Math.min(7, this.view.scale / Math.sqrt(this.brokers.length) / 7));
    const shapes = { interior: new Path2D(), gateway: new Path2D(), source: new Path2D(), away: new Path2D(), faint: new Path2D(), dead: new Path2D() };
    this.brokers.forEach((broker, number) => {
      const x = xs[number], y = ys[number];
      if (this.up[broker.id] === false) { cross(shapes.dead, x, y, size + 2); return; }
      const source = broker.roles.includes("source"), gateway = broker.roles.includes("gateway");
      const path = lit && !lit.nodes.has(number) ? shapes.faint : source ? shapes.source : gateway ? shapes.gateway : shapes.interior;
      if (source) diamond(path, x, y, size + 3);
      else if (gateway) path.rect(x - size, y - size, 2 * size, 2 * size);
      else { path.moveTo(x + size * .75, y); path.arc(x, y, size * .75, 0, 7); }
    });
    pen.lineWidth = 1.5;
    for (const [kind, fill] of [["faint", colours.idle], ["interior", colours.dim], ["gateway", colours.bg], ["source", colours.text]]) {
      pen.fillStyle = fill; pen.fill(shapes[kind]);
      if (kind === "gateway") { pen.strokeStyle = colours.text; pen.stroke(shapes[kind]); }
    }
    pen.strokeStyle = colours.bad; pen.lineWidth = 2.5; pen.stroke(shapes.dead);
    this.ring(lit?.rendezvous, size + 6, onPage(lit?.colour ?? "#000000"));
    this.ring(this.place.get(this.chosen), size + 7, colours.accent);
  }

  ring(number, radius, stroke) {
    if (number === undefined) return;
    this.pen.strokeStyle = stroke; this.pen.lineWidth = 2.5;
    this.pen.beginPath(); this.pen.arc(this.xs[number], this.ys[number], radius, 0, 7); this.pen.stroke();
  }

  drawNames() { this.brokers.forEach((broker, number) => this.name(number, this.up[broker.id] === false ? this.colours.bad : this.colours.text)); }

  name(number, fill) {
    if (number === undefined) return;
    const { pen } = this, x = this.xs[number] + 10, y = this.ys[number] - 8;
    pen.font = "12px system-ui, sans-serif"; pen.lineWidth = 3; pen.lineJoin = "round";
    pen.strokeStyle = this.colours.bg; pen.strokeText(this.brokers[number].id, x, y);
    pen.fillStyle = fill; pen.fillText(this.brokers[number].id, x, y);
  }

  nearest(x, y) {
    let best = null, least = 22 ** 2;
    this.brokers.forEach((broker, number) => {
      const far = (this.xs[number] - x) ** 2 + (this.ys[number] - y) ** 2;
      if (far < least) [best, least] = [broker.id, far];
    });
    return best;
  }

  down(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    this.travelled = 0;
  }

  moved(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    const [dx, dy] = [event.offsetX - before.x, event.offsetY - before.y];
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    this.travelled += Math.abs(dx) + Math.abs(dy);
    if (this.travelled < 4) return;
    if (other) {
      const apart = point => Math.hypot(point.x - other.x, point.y - other.y) || 1;
      this.zoom(apart({ x: event.offsetX, y: event.offsetY }) / apart(before), other.x, other.y);
    } else this.pan(dx, dy);
  }

  ended(event) {
    if (!this.pointers.delete(event.pointerId) || event.type === "pointercancel" || this.travelled >= 4) return;
    const id = this.nearest(event.offsetX, event.offsetY);
    if (id) this.picked(id);
  }

  wheel(event) {
    event.preventDefault();
    this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.03 : 0.0015)), event.offsetX, event.offsetY);
  }

  key(event) {
    const step = 60, does = {
      ArrowLeft: () => this.pan(step, 0), ArrowRight: () => this.pan(-step, 0), ArrowUp: () => this.pan(0, step), ArrowDown: () => this.pan(0, -step),
      "+": () => this.zoom(1.3), "=": () => this.zoom(1.3), "-": () => this.zoom(1 / 1.3), "0": () => this.home(),
    }[event.key];
    if (does && !event.ctrlKey && !event.metaKey) { event.preventDefault(); does(); }
  }
}

function diamond(path, x, y, size) {
  path.moveTo(x, y - size); path.lineTo(x + size, y); path.lineTo(x, y + size); path.lineTo(x - size, y); path.closePath();
}

function cross(path, x, y, size) {
  path.moveTo(x - size, y - size); path.lineTo(x + size, y + size);
  path.moveTo(x - size, y + size); path.lineTo(x + size, y - size);
}
