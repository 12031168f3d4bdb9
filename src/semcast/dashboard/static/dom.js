// Elements, numbers and what several views share.

export function h(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "class") made.className = value;
    else if (name === "style") Object.assign(made.style, value);
    else if (name in made && typeof value !== "string") made[name] = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";
export function s(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(name, value);
  made.append(...children.flat());
  return made;
}

const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
export const whole = value => value === null || value === undefined ? "–" : plain.format(value);
export const rate = value => value === null || value === undefined ? "–"
  : value >= 100 || value === 0 ? plain.format(value) : value.toFixed(value >= 10 ? 1 : 2);
export const cost = value => value === null || value === undefined ? "–" : value.toFixed(2);
export const percent = (value, digits = 0) => value === null || value === undefined ? "–" : `${(100 * value).toFixed(digits)} %`;
export const ms = value => value === null || value === undefined ? "–" : value >= 10000 ? `${(value / 1000).toFixed(1)} s`
  : value >= 100 ? `${value.toFixed(0)} ms` : value >= 1 || value === 0 ? `${value.toFixed(1)} ms` : `${value.toPrecision(1)} ms`;
export const clock = at => moment !== null ? `${at.toFixed(2)} s` : new Date(1000 * at).toLocaleTimeString([], { hourCycle: "h23" });

// Of a recorded run every question is about a moment; null where the overlay is live.
let moment = null;
export const about = at => { moment = at; };

export async function get(path) {
  if (moment !== null) path += `${path.includes("?") ? "&" : "?"}at=${moment}`;
  const answer = await fetch(path, { headers: { accept: "application/json" } });
  const said = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(said.error ?? answer.statusText), { told: said });
  return said;
}

// A message as people read it.
export const body = message => message.json !== undefined ? JSON.stringify(message.json)
  : message.payload ?? (message.base64 !== undefined ? `${message.base64} (base64)` : "");
export const content = message => message.topic ? `${message.topic}  ${body(message)}` : body(message);

// Colours that canvas understands: what the style sheet means by a name in the theme of now.
let probe = null;
export function colour(name) {
  probe ??= document.body.appendChild(h("i", { hidden: true }));
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

// The palette's black is lost on a dark page.
export const onPage = given => given.toUpperCase() === "#000000" ? colour("text") : given;

export function swatch(channel) {
  const dashes = channel.dashes.map(length => 3 * length).join(" ");
  return s("svg", { width: 22, height: 8, "aria-hidden": "true" },
    s("line", { x1: 0, x2: 22, y1: 4, y2: 4, stroke: onPage(channel.colour), "stroke-width": 3, "stroke-dasharray": dashes || null }));
}

// A table whose rows stay in place while their numbers change: columns are {title, number, cell(row)}.
export class Table {
  constructor(caption, columns, key) {
    this.columns = columns;
    this.key = key;
    this.rows = new Map();
    this.body = h("tbody");
    const titles = columns.map(column => h("th", { scope: "col", class: column.number ? "number" : "" }, column.title));
    this.element = h("div", { class: "scroll" }, h("table", { class: "cards" },
      caption ? h("caption", {}, caption) : null, h("thead", {}, h("tr", {}, titles)), this.body));
  }

  show(rows) {
    const gone = new Set(this.rows.keys());
    let last = null;
    for (const row of rows) {
      const key = this.key(row);
      gone.delete(key);
      let line = this.rows.get(key);
      if (!line) {
        line = { element: h("tr", { "data-key": key }), told: [] };
        line.cells = this.columns.map(column => h("td", { class: column.number ? "number" : column.text ? "text" : "", "data-label": column.title }));
        line.element.append(...line.cells);
        this.rows.set(key, line);
      }
      this.columns.forEach((column, place) => {
        const value = column.cell(row), told = value instanceof Node ? column.same?.(row) ?? null : String(value);
        if (told !== null && told === line.told[place]) return;
        line.told[place] = told;
        line.cells[place].replaceChildren(value);
      });
      const after = last ? last.nextSibling : this.body.firstChild;
      if (after !== line.element) this.body.insertBefore(line.element, after);
      last = line.element;
    }
    for (const key of gone) {
      this.rows.get(key).element.remove();
      this.rows.delete(key);
    }
  }
}
