// The frame around the views: which one is shown, what stands above it, and whether anybody still tells us something.
import { about, cost, get, h, rate, whole } from "./dom.js";
import * as overlay from "./views/overlay.js";

const VIEWS = {
  overlay: { title: "Overlay", load: async () => overlay },
  channels: { title: "Channels", load: () => import("./views/channels.js") },
  subscribers: { title: "Subscribers", load: () => import("./views/subscribers.js") },
  cost: { title: "Cost", load: () => import("./views/cost.js") },
  events: { title: "Events", load: () => import("./views/events.js") },
  pipeline: { title: "Pipeline", load: () => import("./views/pipeline.js") },
  try: { title: "Try it", load: () => import("./views/try.js") },
};
const by = id => document.getElementById(id);
const main = by("main");
const known = () => summary?.at !== undefined && summary?.at !== null;
let shown = null, name = "", summary = null, busy = false, turn = 0;

for (const [id, view] of Object.entries(VIEWS)) by("tabs").append(h("a", { href: `#${id}`, id: `tab-${id}` }, view.title));

function figure(title, value, beside = "") {
  return h("div", {}, h("dt", {}, title), h("dd", {}, value, " ", h("small", {}, beside)));
}

function head(told) {
  by("overlay-name").textContent = `${told.name} · ${told.scheme}${told.scheme === "semnet" ? "" : ` · epoch ${told.epoch}`}${told.phase === "settled" ? "" : ` (${told.phase})`}`;
  const beside = told.spt ? `SPT ${cost(told.spt)}` : "";
  by("figures").replaceChildren(
    figure("brokers up", `${told.up}`, `of ${told.brokers}`),
    told.scheme === "semnet" ? figure("filters", whole(told.filters), `${whole(told.profiles)} profiles`)
      : figure("channels", whole(told.channels), told.profiles === null ? "" : `${whole(told.profiles)} profiles`),
    figure("subscribers", whole(told.sessions)),
    figure("published", rate(told.published_s), "/s"),
    figure("delivered", rate(told.delivered_s), "/s"),
    figure("links per message", cost(told.measured ?? told.plan), beside),
  );
}

function state(kind, text) {
  by("state").dataset.state = kind;
  by("state").textContent = text;
  document.body.classList.toggle("stale", kind === "broken");
}

function trouble(text) {
  by("trouble").hidden = !text;
  by("trouble").textContent = text ?? "";
}

// One question at a time: a slow answer is waited for, not asked for again.
async function update() {
  if (!shown || busy || !known()) return;
  busy = true;
  const mine = turn;
  try {
    await shown.update(summary);
  } catch (error) {
    if (mine === turn) shown.failed?.(error);
  } finally { busy = false; }
}

async function route() {
  const wanted = location.hash.slice(1).split("?")[0] || "overlay";
  if (!(wanted in VIEWS) || (wanted === name)) return;
  shown?.leave?.();
  shown = null;
  name = wanted;
  for (const tab of by("tabs").children) tab.toggleAttribute("aria-current", tab.id === `tab-${wanted}`);
  by(`tab-${wanted}`).setAttribute("aria-current", "page");
  by(`tab-${wanted}`).scrollIntoView({ block: "nearest", inline: "nearest" });
  document.title = `${VIEWS[wanted].title} · SemCast`;
  main.dataset.view = wanted;
  await mount();
}

async function mount() {
  const mine = ++turn;
  main.replaceChildren(h("p", { class: "empty" }, known() ? "Loading …" : "Waiting for the overlay …"));
  if (!known()) return;
  const made = (await VIEWS[name].load()).make();
  if (mine !== turn) return;
  main.replaceChildren(made.element);
  shown = made;
  busy = false;
  await update();
}

function listen() {
  const source = new EventSource("/api/live");
  source.addEventListener("summary", event => {
    const before = summary;
    summary = JSON.parse(event.data);
    if (summary.replay) { replay(summary.replay.end); return; }
    if (summary.trouble) state("broken", summary.at ? "no answer" : "not reached yet");
    else state("live", "live");
    trouble(summary.trouble && `The overlay does not answer: ${summary.trouble}.${summary.at ? ` Shown is what was known at ${new Date(1000 * summary.at).toLocaleTimeString()}.` : " It is asked again every second."}`);
    if (summary.at) head(summary);
    if (summary.at && !before?.at) mount();
    else update();
  });
  source.onerror = () => {
    state("broken", "reconnecting");
    trouble("The dashboard itself does not answer. If it was stopped, start it again: semcast dashboard.");
  };
}

// A recorded run: a slider instead of a clock. Views of what no journal holds are left out.
function replay(end) {
  if (by("moment")) return;
  for (const gone of ["pipeline", "try"]) by(`tab-${gone}`).remove();
  let timer = null;
  const slider = h("input", { type: "range", id: "moment", min: "0", max: String(end), step: "any", value: String(end), "aria-label": "moment of the run, in seconds" });
  const read = h("output", { class: "mono" });
  const stop = () => { clearInterval(timer); timer = null; play.textContent = "▶ play"; };
  const play = h("button", { type: "button", id: "play", onclick: () => {
    if (timer) { stop(); return; }
    if (+slider.value >= end) slider.value = "0";
    play.textContent = "❚❚ pause";
    timer = setInterval(() => { slider.value = String(Math.min(end, +slider.value + end / 300)); if (+slider.value >= end) stop(); show(); }, 200);
  } }, "▶ play");
  const show = async () => {
    about(+slider.value);
    read.textContent = `${(+slider.value).toFixed(2)} of ${end.toFixed(0)} s`;
    summary = await get("/api/summary");
    head(summary);
    await (shown ? update() : mount());
  };
  slider.addEventListener("input", show);
  by("tabs").before(h("div", { class: "replay" }, play, slider, read));
  summary = null;
  state("live", "recorded");
  show();
}

by("theme").onclick = () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("semcast-theme", root.dataset.theme); } catch { /* then it lasts as long as the page */ }
  shown?.repaint?.();
};
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => shown?.repaint?.());
addEventListener("hashchange", route);
route();
listen();

