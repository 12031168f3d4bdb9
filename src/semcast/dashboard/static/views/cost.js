// What a message costs, over time, beside what it would cost otherwise.
import { Chart, key } from "../chart.js";
import { cost, get, h, rate, Table, whole } from "../dom.js";

const SERIES = [
  { key: "measured", title: "measured", colour: "var(--accent)", dash: null },
  { key: "plan", title: "this plan", colour: "#009E73", dash: "7 3" },
  { key: "spt", title: "SPT", colour: "#E69F00", dash: "2 3" },
  { key: "unicast", title: "unicast", colour: "#D55E00", dash: "9 3 2 3" },
  { key: "oracle", title: "oracle", colour: "var(--dim)", dash: "1 4" },
];
const TRAFFIC = [
  { key: "published_s", title: "published", colour: "var(--accent)", dash: null },
  { key: "transmissions_s", title: "over links", colour: "#E69F00", dash: "7 3" },
  { key: "delivered_s", title: "delivered", colour: "#009E73", dash: "2 3" },
];
const MEANING = {
  plan: "the channels and trees in force, counted on the latest messages", spt: "a shortest-path tree per source, filtered at every hop",
  unicast: "a copy for each gateway", oracle: "a tree of its own for every message: what nobody can know in advance", oracle_bound: "no trees can do with less",
};

export function make() { return new Cost(); }

class Cost {
  constructor() {
    this.chart = new Chart("Link transmissions per message over time", SERIES, cost);
    this.traffic = new Chart("Messages per second over time", TRAFFIC, rate);
    this.table = new Table(null, [
      { title: "scheme", cell: row => row.name },
      { title: "links per message", number: true, cell: row => cost(row.value) },
      { title: "this plan is", cell: row => row.beside },
      { title: "", text: true, cell: row => row.meaning },
    ], row => row.name);
    this.about = h("p", { class: "small dim" });
    this.plans = h("p", { class: "small dim" }, "Vertical lines: a new plan; solid where it was decided anew from what was sampled.");
    this.charts = h("div", {}, h("h2", {}, "Link transmissions per message"), key(SERIES), this.chart.element,
      this.plans, this.table.element, this.about, h("h2", {}, "Messages a second"), key(TRAFFIC), this.traffic.element);
    this.empty = h("p", { class: "empty", hidden: true }, "Nothing was published since this page watches. Publish something: ", h("code", {}, "semcast publish STREAM FILE"), ".");
    this.element = h("section", { "aria-label": "Cost" }, this.empty, this.charts);
  }

  async update(summary) {
    const routers = summary?.scheme === "semnet", told = await get("/api/cost"), { compared } = told;
    const any = compared !== null || told.points.some(point => point.measured !== null);
    this.empty.hidden = any;
    this.charts.hidden = !any;
    if (!any) return;
    this.chart.show(told.points, told.marks);
    this.traffic.show(told.points, told.marks);
    this.table.element.hidden = this.about.hidden = !compared;
    if (!compared) return;
    const beside = value => !value || !compared.plan ? "" : Math.abs(compared.plan / value - 1) < .005 ? "as cheap"
      : `${Math.abs(100 * (compared.plan / value - 1)).toFixed(0)} % ${compared.plan < value ? "cheaper" : "dearer"}`;
    this.table.show(Object.entries(MEANING).map(([name, meaning]) => ({ name: name.replace("_", " "), value: compared[name], beside: name === "plan" ? "" : beside(compared[name]),
      meaning: routers && name === "plan" ? "the routers' trees and filters, counted on the latest messages" : meaning })));
    this.plans.hidden = routers;
    this.about.textContent = `Counted on the latest ${whole(compared.messages)} messages${routers ? "" : `, plan ${compared.epoch}`}. Stretch ${cost(compared.stretch)}; deliveries that nobody wanted: ${cost(compared.extra)} per message.`;
  }
}
