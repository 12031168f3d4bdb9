// Batches of Spark, as its streaming queries report them.
import { Chart, key } from "../chart.js";
import { clock, get, h, ms, rate, Table, whole } from "../dom.js";

const SERIES = [
  { key: "rows_s", title: "processed", colour: "var(--accent)", dash: null },
  { key: "arriving_s", title: "arriving", colour: "#E69F00", dash: "7 3" },
];

export function make() { return new Pipeline(); }

class Pipeline {
  constructor() {
    this.chart = new Chart("Rows per second over time", SERIES, rate);
    this.table = new Table("The latest batches", [
      { title: "batch", number: true, cell: row => whole(row.batch) },
      { title: "query", text: true, cell: row => row.query ?? "" },
      { title: "at", cell: row => clock(row.at) },
      { title: "rows", number: true, cell: row => whole(row.rows) },
      { title: "rows /s", number: true, cell: row => rate(row.rows_s) },
      { title: "matched", number: true, cell: row => whole(row.matched) },
      { title: "dead letters", number: true, cell: row => whole(row.dead) },
      { title: "plan", number: true, cell: row => whole(row.epoch) },
      { title: "behind", number: true, cell: row => row.behind === null ? "" : `${whole(row.behind)} ${row.behind_of}` },
      { title: "took", number: true, cell: row => ms(row.took_ms) },
    ], row => `${row.query} ${row.batch}`);
    this.batches = h("div", { hidden: true }, h("h2", {}, "Rows a second"), key(SERIES), this.chart.element, this.table.element);
    this.empty = h("div", { class: "empty" });
    this.element = h("section", { "aria-label": "Pipeline" }, this.batches, this.empty);
  }

  async update() {
    const told = await get("/api/pipeline");
    const any = told.batches.length > 0;
    this.batches.hidden = !any;
    this.empty.hidden = any;
    if (any) {
      this.chart.show(told.batches, []);
      this.table.show(told.batches.slice(-30).reverse());
      return;
    }
    this.empty.replaceChildren(...(told.file === null
      ? [h("p", {}, "No pipeline reports to this page."), h("p", {}, "The brokers match and route messages themselves, so there is nothing amiss. To see batches here, start ", h("code", {}, "semcast pipeline … --progress FILE"), " and ", h("code", {}, "semcast dashboard --pipeline FILE"), ".")]
      : [h("p", {}, told.trouble ?? `${told.file} holds no batch yet${told.unreadable ? `; ${told.unreadable} lines of it tell of none` : ""}.`)]));
  }
}
