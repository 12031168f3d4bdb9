// A profile that somebody types: what it means, how much it matches, and what matches it now.
import { clock, content, get, h, percent, whole } from "../dom.js";

const HINTS = { relational: "price > 10 AND symbol = 'IBM'", xpath: "/story[@lang='en']", topic: "plant/*/pressure", semantic: 'prefix m <urn:maps>; m:chart {m:region = "3"}' };
const MOST = 100;

export function make() { return new Try(); }

class Try {
  constructor() {
    this.stream = h("select", { id: "stream", onchange: () => this.hint() });
    this.profile = h("textarea", { id: "profile", spellcheck: "false", autocomplete: "off", rows: "2", oninput: () => this.soon(),
      onkeydown: event => { if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); this.ask(); } } });
    this.watch = h("button", { type: "button", class: "primary", id: "watch", disabled: true, onclick: () => this.source ? this.stop() : this.follow() }, "Watch live");
    this.result = h("div", { id: "tried", role: "status" }, h("p", { class: "empty" }, "Type a profile. It is read as you type; only “Watch live” subscribes."));
    this.how = h("span", { class: "dim small", id: "how", role: "status" });
    this.feed = h("ol", { class: "feed", id: "matching" });
    this.element = h("section", { "aria-label": "Try it" },
      h("div", { class: "row" }, h("label", { class: "field" }, "Stream", this.stream), h("label", { class: "field grow" }, "Profile", this.profile), this.watch),
      this.result, this.how, this.feed);
    this.number = 0;
  }

  async update() {
    if (this.streams) return;
    this.streams = await get("/api/streams");
    this.stream.replaceChildren(...Object.entries(this.streams).map(([name, stream]) => h("option", { value: name }, `${name} (${stream.language})`)));
    this.hint();
  }

  failed(error) { this.how.textContent = error.message; }

  hint() {
    const stream = this.streams[this.stream.value];
    this.profile.placeholder = HINTS[stream?.language] ?? "";
    if (this.profile.value) this.ask();
  }

  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), 250);
  }

  async ask() {
    clearTimeout(this.timer);
    const mine = ++this.number, profile = this.profile.value;
    this.stop();
    if (!profile.trim()) { this.watch.disabled = true; this.result.replaceChildren(); return; }
    const query = new URLSearchParams({ stream: this.stream.value, profile });
    try {
      const told = await get(`/api/try?${query}`);
      if (mine === this.number) told.error ? this.refuse(told.error) : this.show(told);
    } catch (error) {
      if (mine === this.number) this.refuse(error.message);
    }
  }

  refuse(text) {
    this.watch.disabled = true;
    this.profile.setAttribute("aria-invalid", "true");
    this.result.replaceChildren(h("pre", { class: "trouble", id: "profile-error" }, text));
  }

  show(told) {
    this.watch.disabled = false;
    this.profile.removeAttribute("aria-invalid");
    const kv = (name, ...value) => [h("dt", {}, name), h("dd", {}, value)];
    const list = texts => texts.map(text => h("div", {}, h("code", {}, text)));
    const attributes = Object.entries(told.attributes).map(([name, kinds]) => `${name} (${kinds.join(" or ") || "any kind"})`).join(", ");
    this.result.replaceChildren(h("dl", { class: "kv" },
      kv("canonical", h("code", { id: "canonical" }, told.canonical)),
      told.parts.length > 1 ? kv("matches if any", list(told.parts)) : told.parts.length === 0 ? kv("matches", "nothing, whatever the message") : [],
      kv("looks at", attributes),
      kv("selectivity", h("span", { id: "selectivity" }, told.messages ? `${percent(told.share, 1)} (${whole(told.matched)} of the latest ${whole(told.messages)} messages)` : "no message of this stream was published lately")),
      kv("covered by", told.covered_by_count ? [live(told.covered_by_count), ...list(told.covered_by.slice(0, 4))] : "no live profile"),
      told.covers_count ? kv("covers", live(told.covers_count), ...list(told.covers.slice(0, 4))) : []),
      told.matching.length ? h("details", {}, h("summary", {}, `${told.matching.length} of the latest that match`), h("ol", { class: "feed" }, told.matching.map(line))) : "");
  }

  follow() {
    const query = new URLSearchParams({ stream: this.stream.value, profile: this.profile.value });
    this.feed.replaceChildren();
    this.watch.textContent = "Stop";
    this.how.textContent = "subscribing …";
    let count = 0;
    this.source = new EventSource(`/api/try/live?${query}`);
    this.source.addEventListener("live", () => { this.how.textContent = "live: nothing that matches is missed from here on"; });
    this.source.addEventListener("message", event => {
      this.feed.prepend(line(JSON.parse(event.data)));
      while (this.feed.children.length > MOST) this.feed.lastChild.remove();
      this.how.textContent = `live: ${whole(++count)} messages`;
    });
    this.source.addEventListener("trouble", event => { const said = JSON.parse(event.data).error; this.stop(); this.how.textContent = said; });
    this.source.onerror = () => { this.stop(); this.how.textContent = "the subscription ended"; };
  }

  stop() {
    this.source?.close();
    this.source = null;
    this.watch.textContent = "Watch live";
    this.how.textContent = "";
  }

  leave() { this.number++; this.stop(); }
}

const live = count => `${whole(count)} live profile${count === 1 ? "" : "s"}`;

function line(message) {
  return h("li", { "data-id": message.id }, h("time", {}, clock(message.time_ms / 1000)), h("span", { class: "kind" }, message.id), h("code", {}, content(message)));
}
