// What was decided, and who came and went.
import { clock, get, h } from "../dom.js";

const KINDS = { all: () => true, plans: event => ["plan", "epoch"].includes(event.what), brokers: event => event.what.startsWith("broker"), coordinators: event => ["leads", "deposed", "no store"].includes(event.what) };

export function make() { return new Events(); }

class Events {
  constructor() {
    this.kind = "all";
    this.list = h("ol", { class: "feed", id: "events" });
    this.empty = h("p", { class: "empty", hidden: true }, "Nothing of this kind has happened since the coordinator was started.");
    this.element = h("section", { "aria-label": "Events" },
      h("fieldset", { class: "segments" }, h("legend", {}, "which"), Object.keys(KINDS).map(kind => h("label", {}, h("input", { type: "radio", name: "kind", checked: kind === "all", onchange: () => { this.kind = kind; this.told = ""; this.show(); } }), kind))),
      this.list, this.empty);
    this.events = [];
  }

  async update() {
    this.events = (await get("/api/events")).events;
    this.show();
  }

  show() {
    const found = this.events.filter(KINDS[this.kind]), told = `${found.length} ${found[0]?.at}`;
    if (told === this.told) return;
    this.told = told;
    this.empty.hidden = found.length > 0;
    this.list.replaceChildren(...found.map(event => h("li", {}, h("time", { datetime: new Date(1000 * event.at).toISOString() }, clock(event.at)), h("span", { class: "kind" }, event.what), h("span", {}, event.text))));
  }
}
