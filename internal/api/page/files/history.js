// The view of what was: the cluster after each entry that the log still holds.
import { get } from "./api.js";
import { count, el, word } from "./dom.js";
import { List } from "./list.js";

const most = 10_000; // tasks that one answer has
const again = 1_000; // ms until it asks again when the member has no answer
const settle = 150; // ms without a further move of the slider, before it asks

export class History {
  title = "History";
  live = true;
  #moment = null;
  #asked = 0;
  #timer = 0;
  #columns = new Map(); // by member
  #error = "";

  constructor(model, actions) {
    this.actions = actions;
    this.slider = el("input", { type: "range", id: "moment", min: 0, max: 0, step: 1, oninput: () => this.#soon() });
    this.time = el("input", { type: "text", id: "moment-time", placeholder: "14:02 or 2026-11-22 14:02:05", autocomplete: "off" });
    this.said = el("p", { className: "history", role: "status" });
    this.held = el("p", { className: "dim" });
    this.columns = el("div", { className: "columns" });
    const step = (n, text, label) => el("button", { type: "button", "aria-label": label, onclick: () => { this.slider.value = Number(this.slider.value) + n; this.#ask("index=" + this.slider.value); } }, text);
    const form = el("form", { onsubmit: (e) => { e.preventDefault(); this.#askTime(); } }, el("label", { htmlFor: "moment-time" }, "Time "), this.time, el("button", {}, "Go"));
    const since = el("button", { type: "button", onclick: () => this.#moment && this.actions.openChanges(this.#moment.index, this.#moment.newest.index) }, "What has changed since");
    const newest = el("button", { type: "button", onclick: () => this.#ask("") }, "Newest");
    this.element = el("div", { className: "fill" }, this.said,
      el("div", { className: "controls" }, el("label", { htmlFor: "moment" }, "Index "), step(-1, "‹", "One entry back"), this.slider, step(1, "›", "One entry on"), newest, form, since), this.held, this.columns);
  }

  // refresh reads once: history does not change, and its end is read again by "Newest".
  async refresh() {
    if (!this.#moment && !this.#error) await this.#ask("");
  }

  #soon() {
    this.said.textContent = `HISTORY: index ${this.slider.value} …`;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask("index=" + this.slider.value), settle);
  }

  #askTime() {
    const text = this.time.value.trim();
    const now = new Date();
    const clock = /^([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/.exec(text);
    let at = new Date(text.replace(" ", "T"));
    if (clock) {
      at = new Date(now.getFullYear(), now.getMonth(), now.getDate(), clock[1], clock[2], clock[3] || 0);
      if (at > now) at.setDate(at.getDate() - 1);
    }
    if (!isNaN(at)) at.setMilliseconds(999); // what happened in that second had happened
    if (isNaN(at)) this.#fail(`“${text}” is not a time`);
    else this.#ask("at=" + encodeURIComponent(at.toISOString()));
  }

  async #ask(query) {
    const asked = ++this.#asked;
    try {
      const m = await get(`/v1/history?limit=${most}&${query}`);
      if (asked !== this.#asked) return;
      this.#moment = m;
      this.#error = "";
      this.slider.min = m.oldest.index;
      this.slider.max = m.newest.index;
      this.slider.value = m.index;
    } catch (e) {
      if (asked !== this.#asked) return;
      if (e.message.startsWith("/v1/history") && e.status === 404) this.#fail("This cluster keeps no log, so there is no history: its protocol keeps documents.");
      else this.#fail(e.message);
      if (e.status === 503 || !e.status) setTimeout(() => asked === this.#asked && this.#ask(query), again);
    }
    this.actions.redraw();
  }

  #fail(text) {
    this.#error = text;
    this.actions.redraw();
  }

  show(filter) {
    const m = this.#moment;
    const said = this.#error || (m ? `HISTORY, not now: ${pointText(m)}` : "reading …");
    if (this.said.textContent !== said) this.said.textContent = said;
    if (!m) return;
    const parts = [`The log goes from index ${m.oldest.index} to ${pointText(m.newest)}`];
    if (m.oldest.index > 0) parts.push("what is older is in a snapshot alone");
    if (m.skew_ms > 0) parts.push(`clocks of writers differ by at least ${m.skew_ms} ms`);
    if (m.tasks.length < m.total) parts.push(`the first ${m.tasks.length.toLocaleString("en")} of ${count(m.total, "task")} are shown`);
    this.held.textContent = parts.join("; ") + ".";
    this.slider.setAttribute("aria-valuetext", pointText(m));
    const owned = new Map(m.members.map((x) => [x.member, []]));
    for (const t of m.tasks) {
      if (!filter(t) || (!t.owner && t.state === "finished")) continue;
      const owner = t.owner || "";
      if (!owned.has(owner)) owned.set(owner, []);
      owned.get(owner).push(t);
    }
    for (const name of [...this.#columns.keys()]) if (!owned.has(name)) this.#columns.delete(name);
    const elements = [...owned].map(([name, tasks]) => this.#column(name).show(m.members.find((x) => x.member === name), tasks));
    if (elements.length !== this.columns.children.length || elements.some((e, i) => e !== this.columns.children[i])) this.columns.replaceChildren(...elements);
  }

  #column(name) {
    if (!this.#columns.has(name)) this.#columns.set(name, new Then(name));
    return this.#columns.get(name);
  }
}

// Then is what a member had.
class Then {
  #tasks = new Map();

  constructor(name) {
    this.name = name;
    this.head = el("div");
    this.list = new List(name ? `Tasks that ${name} had` : "Tasks that had no owner", (t) => this.#row(t), () => {});
    this.element = el("section", { className: "column then", "aria-label": name || "without an owner" }, this.head, this.list.element);
    this.element.dataset.then = name;
  }

  show(member, tasks) {
    this.#tasks = new Map(tasks.map((t) => [t.task, t]));
    this.head.replaceChildren(el("h2", {}, el("span", {}, this.name || "Without an owner"), member ? word(member.state) : null), el("p", {}, count(member ? member.tasks : tasks.length, "task")));
    this.list.show([...this.#tasks.keys()]);
    return this.element;
  }

  #row(name) {
    const t = this.#tasks.get(name);
    if (!t) return [];
    return [el("span", { className: "name" }, name), ...(t.state === "running" ? [] : [word(t.state)])];
  }
}

// pointText is a position of the log, with whose clock its time is.
export function pointText(p) {
  if (!p.at_ms) return `index ${p.index}`;
  return `index ${p.index}, ${new Date(p.at_ms).toLocaleString([], { hour12: false })} by the clock of ${p.writer}`;
}
