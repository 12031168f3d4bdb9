// Lines over time, drawn as SVG; who points at it, or moves with the arrow keys, reads the values.
import { clock, h, s } from "./dom.js";

const [LEFT, RIGHT, TOP, BOTTOM] = [44, 96, 12, 26];

export class Chart {
  // series: {key, title, colour, dash}; colours are CSS, so that a theme changes them by itself
  constructor(label, series, format) {
    Object.assign(this, { series, format, points: [], marks: [] });
    this.svg = s("svg", { class: "chart", role: "img", "aria-label": label, tabindex: "0" });
    this.readout = h("figcaption", { class: "small", role: "status" }, "Point at the chart, or use the arrow keys, to read values.");
    this.element = h("figure", {}, this.svg, this.readout);
    this.svg.addEventListener("pointermove", event => this.point((event.clientX - this.svg.getBoundingClientRect().left - LEFT) / this.plot));
    this.svg.addEventListener("pointerleave", () => this.point(null));
    this.svg.addEventListener("keydown", event => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || !this.points.length) return;
      event.preventDefault();
      this.read(Math.max(0, Math.min(this.points.length - 1, (this.at ?? this.points.length) + step)));
    });
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  show(points, marks) {
    Object.assign(this, { points, marks });
    this.draw();
  }

  draw() {
    const box = this.svg.getBoundingClientRect(), { points } = this;
    if (!box.width || !points.length) return;
    const right = box.width < 500 ? 16 : RIGHT;
    this.plot = box.width - LEFT - right;
    const height = box.height - TOP - BOTTOM, [first, last] = [points[0].at, Math.max(points.at(-1).at, points[0].at + 10)];
    const highest = Math.max(1e-9, ...points.flatMap(point => this.series.map(line => point[line.key] ?? 0)));
    const step = nice(highest / 5), steps = Math.ceil(highest / step - 1e-9), most = step * steps;
    this.x = at => LEFT + this.plot * (at - first) / (last - first);
    this.y = value => TOP + height * (1 - value / most);
    const grid = Array.from({ length: steps + 1 }, (_, place) => [
      s("line", { class: "grid", x1: LEFT, x2: LEFT + this.plot, y1: this.y(place * step), y2: this.y(place * step) }),
      s("text", { x: LEFT - 6, y: this.y(place * step) + 4, "text-anchor": "end" }, short(place * step))]);
    const times = [0, .5, 1].map(part => s("text", { x: LEFT + part * this.plot, y: box.height - 8, "text-anchor": part === 0 ? "start" : part === 1 ? "end" : "middle" }, clock(first + part * (last - first))));
    const marks = this.marks.filter(mark => mark.at >= first && mark.at <= last).map(mark =>
      s("line", { class: mark.reorganised ? "mark reorganised" : "mark", x1: this.x(mark.at), x2: this.x(mark.at), y1: TOP, y2: TOP + height },
        s("title", {}, `${clock(mark.at)} plan ${mark.epoch}${mark.reorganised ? ", reorganised" : ""}`)));
    const lines = this.series.map(line => s("path", { d: this.path(line.key), fill: "none", stroke: line.colour, "stroke-width": line.key === this.series[0].key ? 2.5 : 1.8, "stroke-dasharray": line.dash, "stroke-linejoin": "round", "data-series": line.key }));
    this.cursor = s("line", { class: "cursor", y1: TOP, y2: TOP + height, visibility: "hidden" });
    this.svg.replaceChildren(...grid.flat(), ...times, ...marks, ...lines, ...(right === RIGHT ? this.labels(height) : []), this.cursor);
  }

  path(key) {
    let pen = "M", found = "";
    const step = Math.max(1, Math.floor(this.points.length / 900));
    this.points.forEach((point, place) => {
      if (point[key] === null || point[key] === undefined) { pen = "M"; return; }
      if (place % step && place !== this.points.length - 1) return;
      found += `${pen}${this.x(point.at).toFixed(1)} ${this.y(point[key]).toFixed(1)}`;
      pen = "L";
    });
    return found;
  }

  // Names at the ends of lines, pushed apart where they would lie on each other.
  labels(height) {
    const last = this.points.at(-1), found = this.series.filter(line => last[line.key] !== null && last[line.key] !== undefined)
      .map(line => ({ line, y: this.y(last[line.key]) + 4 })).sort((one, other) => one.y - other.y);
    found.forEach((label, place) => { if (place) label.y = Math.max(label.y, found[place - 1].y + 14); });
    const over = (found.at(-1)?.y ?? 0) - (TOP + height + 8);
    if (over > 0) found.forEach(label => { label.y -= over; });
    return found.map(({ line, y }) => s("text", { x: LEFT + this.plot + 6, y }, line.title));
  }

  point(part) {
    if (part === null || !this.points.length) { this.cursor?.setAttribute("visibility", "hidden"); return; }
    const [first, last] = [this.points[0].at, Math.max(this.points.at(-1).at, this.points[0].at + 10)], at = first + part * (last - first);
    let best = 0;
    this.points.forEach((point, place) => { if (Math.abs(point.at - at) < Math.abs(this.points[best].at - at)) best = place; });
    this.read(best);
  }

  read(place) {
    this.at = place;
    const point = this.points[place];
    for (const end of ["x1", "x2"]) this.cursor.setAttribute(end, this.x(point.at));
    this.cursor.setAttribute("visibility", "visible");
    this.readout.textContent = `${clock(point.at)}: ${this.series.map(line => `${line.title} ${this.format(point[line.key])}`).join(", ")}`;
  }
}

export function key(series) {
  return h("ul", { class: "legend" }, series.map(line => h("li", {}, s("svg", { width: 26, height: 8, "aria-hidden": "true" },
    s("line", { x1: 0, x2: 26, y1: 4, y2: 4, stroke: line.colour, "stroke-width": 2.5, "stroke-dasharray": line.dash })), line.title)));
}

const short = value => value === 0 ? "0" : value >= 1000 ? `${+(value / 1000).toPrecision(3)}k` : String(+value.toPrecision(3));
function nice(value) {
  const unit = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map(step => step * unit).find(step => step >= value) ?? value;
}
