// The graph: how loaded each link is, which tree a channel has, what a broker's tables are.
import { cost, get, h, rate, s, swatch, whole, ms } from "../dom.js";
import { Graph } from "../graph.js";

const SCHEMES = { now: "this plan", spt: "shortest-path trees", unicast: "unicast" };

export function make() { return new Overlay(); }

class Overlay {
  constructor() {
    this.scheme = "now"; this.channel = null; this.broker = null; this.known = "";
    const canvas = h("canvas", { tabindex: "0", role: "img", "aria-label": "The overlay's brokers and links. Arrow keys move, plus and minus zoom, 0 shows all. Brokers can be chosen in the list beside it." });
    this.names = Object.fromEntries(Object.entries(SCHEMES).map(([id, title]) => [id, h("span", {}, title)]));
    this.costs = Object.fromEntries(Object.keys(SCHEMES).map(id => [id, h("span", { class: "mono" })]));
    this.schemes = h("fieldset", { class: "segments" }, h("legend", {}, "loads under"),
      Object.keys(SCHEMES).map(id => h("label", {}, h("input", { type: "radio", name: "scheme", value: id, checked: id === "now",
        onchange: () => { this.scheme = id; this.reload(); } }), this.names[id], " ", this.costs[id])));
    this.note = h("p", { class: "small dim" });
    this.trees = h("h3", {}, "Channels");
    this.chips = h("div", { class: "chips", role: "group", "aria-label": "channels" });
    this.picker = h("select", { id: "broker", onchange: () => this.choose(this.picker.value || null) }, h("option", { value: "" }, "choose a broker …"));
    this.details = h("div", { id: "broker-details" });
    const zoom = h("div", { class: "zoom" },
      h("button", { type: "button", "aria-label": "zoom in", onclick: () => this.graph.zoom(1.3) }, "+"),
      h("button", { type: "button", "aria-label": "zoom out", onclick: () => this.graph.zoom(1 / 1.3) }, "−"),
      h("button", { type: "button", "aria-label": "show all", onclick: () => this.graph.home() }, "⤢"));
    this.element = h("section", { "aria-label": "Overlay" },
      h("div", { class: "row" }, this.schemes, this.note),
      h("div", { class: "split" },
        h("div", {}, h("div", { class: "stage" }, canvas, zoom), legend()),
        h("div", { class: "stack" },
          h("div", { class: "panel" }, this.trees, this.chips),
          h("div", { class: "panel" }, h("label", { class: "field" }, "Broker", this.picker), this.details))));
    this.graph = new Graph(canvas, id => this.choose(id));
    canvas.graph = this.graph; // who measures how long a frame takes finds it here
  }

  repaint() { this.graph.paint(); this.listChannels(); }

  async update(summary) {
    const known = summary?.version, recorded = summary?.profiles === null;
    this.recorded = recorded;
    this.routers = summary?.scheme === "semnet";
    this.trees.textContent = this.routers ? "Trees" : "Channels";
    this.names.now.textContent = this.routers ? "as it is" : SCHEMES.now;
    this.schemes.hidden = recorded;
    if (!this.overlay || known !== this.known || recorded) {
      this.overlay = await get("/api/overlay");
      this.known = known;
      this.graph.show(this.overlay);
      this.listChannels();
      this.listBrokers();
    }
    this.loads = await get("/api/loads");
    this.reload();
    if (this.broker) await this.tell();
  }

  failed(error) { if (!this.overlay) this.note.textContent = error.message; }

  reload() {
    const { loads } = this;
    if (!loads) return;
    const now = loads.now.map(([there, back]) => there + back), shown = this.scheme === "now" ? now : loads.expected[this.scheme] ?? [];
    const most = Math.max(0, ...now, ...(loads.expected.spt ?? []), ...(loads.expected.unicast ?? []));
    this.graph.load(shown, most, loads.up, loads.links_up);
    const costs = { now: loads.costs.plan, spt: loads.costs.spt, unicast: loads.costs.unicast };
    for (const [id, place] of Object.entries(this.costs)) place.textContent = costs[id] === undefined || costs[id] === null ? "" : cost(costs[id]);
    this.note.textContent = this.recorded ? "Line width: messages in the last second of the run." : !loads.costs.plan ? "Nothing was published lately: links are idle, and there is nothing to compare."
      : this.scheme === "now" ? "Line width: messages a second, as measured. Beside each name: links per message."
      : "Line width: what the latest messages would load links with, on the same scale.";
  }

  listChannels() {
    const chip = (channel, ...label) => h("button", { type: "button", "aria-pressed": String((channel?.id ?? null) === this.channel),
      "data-channel": channel?.id ?? "", onclick: () => this.light(channel?.id ?? null) }, ...label);
    const { channels } = this.overlay ?? { channels: [] };
    if (!channels.some(channel => channel.id === this.channel)) this.channel = null;
    this.chips.replaceChildren(...(channels.length ? [chip(null, "all")] : [h("p", { class: "dim small" }, this.routers ? "No trees: nobody has subscribed yet." : "No channels: nobody has subscribed yet.")]),
      ...channels.map(channel => chip(channel, swatch(channel), this.routers ? `from ${channel.id}` : channel.id)));
    this.graph.light(channels.find(channel => channel.id === this.channel) ?? null);
  }

  light(id) {
    this.channel = this.channel === id ? null : id;
    for (const chip of this.chips.children) chip.setAttribute("aria-pressed", String((chip.dataset.channel || null) === this.channel));
    this.graph.light(this.overlay.channels.find(channel => channel.id === this.channel) ?? null);
  }

  listBrokers() {
    const role = broker => broker.roles.length ? ` (${broker.roles.join(", ")})` : "";
    this.picker.replaceChildren(h("option", { value: "" }, "choose a broker …"),
      ...this.overlay.brokers.map(broker => h("option", { value: broker.id }, broker.id + role(broker))));
    this.picker.value = this.broker ?? "";
  }

  async choose(id) {
    this.broker = id;
    this.picker.value = id ?? "";
    this.graph.choose(id);
    this.details.replaceChildren();
    if (id) await this.tell();
  }

  async tell() {
    const id = this.broker;
    let told;
    try { told = await get(`/api/brokers/${encodeURIComponent(id)}`); } catch (error) { this.details.replaceChildren(h("p", { class: "trouble small" }, error.message)); return; }
    if (id !== this.broker) return;
    const open = new Set([...this.details.querySelectorAll("details[open]")].map(one => one.dataset.key));
    const focused = document.activeElement?.closest("#broker-details details")?.dataset.key;
    const kv = (name, value) => value === null || value === undefined ? [] : [h("dt", {}, name), h("dd", {}, value)];
    this.details.replaceChildren(
      h("dl", { class: "kv small" },
        kv("state", h("span", { class: told.up ? "" : "late" }, told.up ? "up" : "down")), kv("roles", told.roles.join(", ") || "interior"), kv("address", told.address),
        told.source ? kv("log", `${whole(told.source.end)} messages, ${whole(told.source.end - told.source.trimmed)} kept`) : [],
        told.gateway ? kv("sessions", `${told.gateway.live} of ${told.gateway.sessions} live, ${whole(told.gateway.waiting)} messages wait`) : []),
      h("h3", {}, "Links"), small(["to", "out /s", "in /s", "round trip"], told.links.map(link =>
        [link.up ? link.to : `${link.to} (down)`, rate(link.out_s), rate(link.in_s), ms(link.rtt_ms)])),
      h("h3", {}, "Tables"), told.trees === null ? h("p", { class: "small dim" }, "It does not answer.")
        : told.trees.length && told.trees[0].filters ? h("div", {}, told.trees.map(filters))
        : told.trees.length ? small(["channel", "from", "to", "by"], told.trees.map(tree =>
          [`${tree.channel} v${tree.version}`, tree.parent ?? "–", [...tree.children, ...(tree.gateway_here ? ["clients"] : [])].join(", ") || "–", tree.forwards_by]))
        : h("p", { class: "small dim" }, "It is on no tree."));
    for (const one of this.details.querySelectorAll("details")) { // numbers change every second; what somebody reads stays
      one.open = open.has(one.dataset.key);
      if (one.dataset.key === focused) one.firstChild.focus();
    }
  }
}

// What a router passes on in one tree: by each port what is wanted behind it.
function filters(tree) {
  const wanted = Object.entries(tree.filters).map(([port, text]) => [port, whole(tree.filter_nodes[port]), h("details", { "data-key": `${tree.tree} ${port}` }, h("summary", {}, "what"), h("code", {}, text))]);
  const silent = tree.nothing_wanted_by.length ? h("p", { class: "small dim" }, `Nothing is wanted behind ${tree.nothing_wanted_by.join(", ")}.`) : null;
  const none = !wanted.length && !silent ? h("p", { class: "small dim" }, "No router lies behind it.") : null;
  return h("div", {}, h("p", { class: "small" }, `Tree ${tree.tree}`), wanted.length ? small(["port", "nodes", "wanted behind it"], wanted) : null, silent, none);
}

function small(titles, rows) {
  return h("div", { class: "scroll" }, h("table", { class: "small" }, h("thead", {}, h("tr", {}, titles.map(title => h("th", { scope: "col" }, title)))),
    h("tbody", {}, rows.map(row => h("tr", {}, row.map(cell => h("td", {}, cell)))))));
}

function legend() {
  const icon = (...shapes) => s("svg", { width: 14, height: 14, viewBox: "0 0 14 14", "aria-hidden": "true" }, ...shapes);
  const entry = (shape, text) => h("li", {}, shape, text);
  return h("ul", { class: "legend" },
    entry(icon(s("path", { d: "M7 1l6 6-6 6-6-6z", fill: "currentColor" })), "source"),
    entry(icon(s("rect", { x: 2, y: 2, width: 10, height: 10, fill: "none", stroke: "currentColor", "stroke-width": 1.5 })), "gateway"),
    entry(icon(s("circle", { cx: 7, cy: 7, r: 4, fill: "currentColor" })), "broker between"),
    entry(icon(s("path", { d: "M2 2l10 10M2 12L12 2", stroke: "var(--bad)", "stroke-width": 2.5 })), "down"),
    entry(icon(s("circle", { cx: 7, cy: 7, r: 5.5, fill: "none", stroke: "currentColor", "stroke-width": 2 })), "where the lit tree hangs"));
}
