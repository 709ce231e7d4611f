// The first view: problems, as rota status has it.
import { get } from "./api.js";
import { without } from "./acts.js";
import { ago, clock, count, el, word } from "./dom.js";
import { Sorted } from "./sorted.js";

const pace = 5_000; // ms between looks: each reads the journal

export class Problems {
  title = "Problems";
  live = true;
  #status = null;
  #at = 0; // when it was said, by this clock
  #asked = 0;
  #error = "";
  #seen = "";

  constructor(model, actions) {
    this.model = model;
    this.actions = actions;
    this.verdict = el("h2", { role: "status" }, "asking …");
    this.age = el("p", { className: "dim" });
    this.away = el("p", { className: "old", role: "alert", hidden: true });
    this.more = el("p", { hidden: true });
    this.hint = el("p", { className: "dim", hidden: true }, without);
    this.rows = el("tbody");
    this.sorted = new Sorted([
      { name: "State", key: (p) => p.state }, { name: "What", key: nameOf }, { name: "Why", key: (p) => p.text },
      { name: "What to do", key: (p) => p.try }, { name: "Since", key: (p) => p.since_ms },
    ], () => actions.redraw());
    this.table = el("table", { className: "cards", hidden: true }, el("thead", {}, this.sorted.row()), this.rows);
    this.element = el("div", { className: "problems" }, this.verdict, this.away, this.age, this.table, this.more, this.hint);
  }

  // refresh asks again, unless it has asked lately.
  async refresh() {
    if (Date.now() - this.#asked < pace) return;
    this.#asked = Date.now();
    try {
      this.#status = await get("/v1/status");
      this.#at = Date.now();
      this.#error = "";
    } catch (e) {
      this.#error = e.message;
      throw e;
    }
  }

  show(filter) {
    this.tick();
    this.hint.hidden = !this.model.loaded || this.model.acts;
    const s = this.#status;
    if (!s) return;
    const all = [...(s.nobody ? [{ state: "nobody", task: "", text: s.nobody, try: "rota run", since_ms: 0 }] : []), ...s.problems];
    const shown = this.sorted.order(all.filter((p) => filter({ task: nameOf(p), state: p.state, owner: p.member })));
    const total = all.length + s.more_problems;
    const verdict = total ? count(total, "problem") : "No problems";
    if (this.verdict.textContent !== verdict) this.verdict.textContent = verdict;
    this.more.hidden = s.more_problems === 0;
    this.more.textContent = `and ${s.more_problems.toLocaleString("en")} more: see Tasks, with the filter state:waiting, state:parked, state:failing or state:backing-off`;
    this.table.hidden = shown.length === 0;
    const seen = JSON.stringify([shown, this.sorted.key]);
    if (seen === this.#seen) return;
    this.#seen = seen;
    const focused = document.activeElement?.dataset?.focus;
    this.rows.replaceChildren(...shown.map((p) => this.#row(p)));
    if (focused) this.rows.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
  }

  // tick says how old it is, and why there is nothing newer.
  tick() {
    this.age.textContent = this.#at ? `as of ${clock(this.#at)}, ${ago(this.#at)} ago` : "";
    const reasons = [...this.model.unready, this.#error].filter(Boolean);
    const text = reasons.length ? `${reasons.join("; ")}. What is below may be old. Look at the store, and at the log of this member.` : "";
    this.away.hidden = text === "";
    if (this.away.textContent !== text) this.away.textContent = text;
  }

  #open(p, name) {
    if (p.member) this.actions.openMember(name);
    else if (p.state === "dead letters") this.actions.openJob(name);
    else this.actions.openTask(name);
  }

  #row(p) {
    const name = nameOf(p);
    const open = el("button", { type: "button", className: "name", onclick: () => this.#open(p, name) }, name);
    open.dataset.focus = `problem ${p.state} ${name}`;
    const since = p.since_ms ? el("time", { dateTime: new Date(p.since_ms).toISOString() }, new Date(p.since_ms).toLocaleString([], { hour12: false, dateStyle: "short", timeStyle: "medium" })) : "";
    return el("tr", {}, el("td", {}, word(p.state)), el("td", {}, name ? open : ""), el("td", { className: "text" }, el("bdi", {}, p.text)), el("td", { className: "try" }, p.try), el("td", {}, since));
  }
}

function nameOf(p) {
  return p.member || p.task;
}
