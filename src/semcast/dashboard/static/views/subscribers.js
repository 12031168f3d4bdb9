// Who gets what, how old it is, and why.
import { content, get, h, ms, rate, Table, whole } from "../dom.js";

const MOST = 300;

export function make() { return new Subscribers(); }

class Subscribers {
  constructor() {
    this.filter = h("input", { type: "search", id: "filter", placeholder: "profile, client, gateway, stream …", oninput: () => this.show() });
    this.count = h("span", { class: "dim small", role: "status" });
    this.table = new Table(null, [
      { title: "profile", text: true, cell: row => h("code", {}, row.profile), same: row => row.profile },
      { title: "stream", cell: row => row.language === null ? row.stream : `${row.stream} (${row.language})` },
      { title: "gateway", cell: row => row.gateway },
      { title: "", cell: row => row.live ? "live" : "not yet live" },
      { title: "delivered", number: true, cell: row => whole(row.delivered) },
      { title: "/s", number: true, cell: row => rate(row.delivered_s) },
      { title: "waiting", number: true, cell: row => whole(row.waiting) },
      { title: "age, mean", number: true, cell: row => ms(row.mean_ms) },
      { title: "age, worst", number: true, cell: row => ms(row.worst_ms) },
      { title: "bound", number: true, cell: row => bound(row), same: row => `${row.max_delay_ms} ${row.expected_delay_ms} ${row.worst_ms}` },
      { title: "why?", cell: row => row.language === null ? "" : h("button", { type: "button", class: "quiet", "aria-label": `why does ${row.session} get its messages?`, onclick: () => this.why(row.session) }, "why?"), same: row => row.session },
    ], row => `${row.gateway} ${row.session}`);
    this.empty = h("p", { class: "empty", hidden: true });
    this.dialog = h("dialog", { id: "why", "aria-label": "why it gets this" });
    this.element = h("section", { "aria-label": "Subscribers" }, h("div", { class: "row" }, h("label", { class: "field grow" }, "Find", this.filter), this.count), this.table.element, this.empty, this.dialog);
    this.rows = [];
  }

  async update(summary) {
    this.tree = summary?.scheme === "semnet" ? "tree from" : "channel";
    this.rows = (await get("/api/subscribers")).subscribers;
    this.show();
  }

  show() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const text = row => `${row.profile} ${row.stream} ${row.language} ${row.gateway} ${row.client} ${row.session}`.toLowerCase();
    const found = this.rows.filter(row => words.every(word => text(row).includes(word)));
    this.table.show(found.slice(0, MOST));
    this.table.element.hidden = !found.length;
    this.count.textContent = found.length > MOST ? `the first ${MOST} of ${whole(found.length)}` : `${whole(found.length)} of ${whole(this.rows.length)}`;
    this.empty.hidden = found.length > 0;
    this.empty.replaceChildren(this.rows.length ? "No subscriber has all these words."
      : h("span", {}, "Nobody is subscribed. ", h("code", {}, "semcast subscribe STREAM PROFILE"), " does that, or ", h("a", { href: "#try" }, "try a profile here"), "."));
  }

  async why(session) {
    this.dialog.replaceChildren(h("p", { class: "empty" }, "Looking …"));
    this.dialog.showModal();
    const close = h("form", { method: "dialog" }, h("button", { class: "quiet", "aria-label": "close" }, "✕"));
    try {
      const told = await get(`/api/why?session=${encodeURIComponent(session)}`);
      this.dialog.replaceChildren(close, h("div", { class: "stack" }, h("h2", {}, "Why does it get this?"),
        h("div", {}, "It asked at ", h("b", {}, told.gateway), ` for messages of ${told.stream} that match`, h("pre", {}, told.profile)),
        told.parts.length > 1 ? h("p", { class: "small dim" }, `Any of ${told.parts.length} alternatives is enough.`) : null,
        told.messages.length ? told.messages.map(message => reason(message, this.tree)) : h("p", { class: "dim" }, `Of the latest messages that went to ${told.gateway} (${whole(told.looked_at)} of this stream) none matches it.`)));
    } catch (error) {
      this.dialog.replaceChildren(close, h("p", { class: "trouble" }, error.message));
    }
  }
}

function bound(row) {
  if (row.max_delay_ms === null) return h("span", { class: "dim" }, "none");
  const late = row.worst_ms !== null && row.worst_ms > row.max_delay_ms;
  return h("span", { class: late ? "late" : "" }, `${ms(row.max_delay_ms)}${late ? " ▲ exceeded" : ""}`,
    row.expected_delay_ms !== null ? h("div", { class: "small" }, `expect ${ms(row.expected_delay_ms)}`) : null);
}

function reason({ message, because, way }, tree) {
  return h("div", { class: "panel" }, h("h3", {}, message.id), h("pre", {}, content(message)),
    because.length ? h("p", { class: "small" }, "It matches ", because.map((part, place) => [place ? " and " : "", h("code", {}, part)])) : null,
    way.map(({ channel, path, also_to }) => h("div", { class: "small" }, h("div", { class: "path" }, `${tree} ${channel}: `, path.length
      ? path.flatMap((broker, place) => place ? ["→", h("b", {}, broker)] : [h("b", {}, broker)]) : h("span", { class: "dim" }, "over a tree of an earlier plan")),
      also_to.length ? h("p", { class: "dim" }, `the same copy was also for ${also_to.join(", ")}`) : null)));
}
