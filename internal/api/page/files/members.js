// The view of the members: a column each, with its tasks.
import { Acts } from "./acts.js";
import { ago, count, el, span, word } from "./dom.js";
import { List } from "./list.js";
import { loadOf } from "./plots.js";

const rebalance = { label: "Rebalance", ask: "Nothing moves by itself here. Move tasks once, until the load is even?", path: "/v1/rebalance" };
const shine = 4_000; // ms for which a task that has moved is marked

export class Members {
  title = "Members";
  #columns = new Map();

  constructor(model, actions) {
    this.model = model;
    this.actions = actions;
    this.columns = el("div", { className: "columns" });
    this.acts = new Acts(model, () => actions.redraw());
    this.element = el("div", { className: "members" }, this.acts.element, this.columns);
  }

  show(filter) {
    this.acts.offer(this.model.pinned ? [rebalance] : []);
    const busiest = Math.max(0, ...[...this.model.members.values()].map((m) => m.tasks));
    const wanted = [...this.model.members.keys()].sort();
    const waiting = this.#names("", filter);
    if (waiting.length > 0) wanted.push("");
    for (const [name, column] of this.#columns) {
      if (!wanted.includes(name)) {
        column.element.remove();
        this.#columns.delete(name);
      }
    }
    wanted.forEach((name, i) => {
      const column = this.#column(name);
      if (this.columns.children[i] !== column.element) this.columns.insertBefore(column.element, this.columns.children[i] || null);
      column.show(name === "" ? waiting : this.#names(name, filter), busiest);
    });
  }

  #names(member, filter) {
    if (member === "") return this.model.names().filter((n) => !this.model.tasks.get(n).owner && this.model.tasks.get(n).state !== "finished" && filter(this.model.tasks.get(n)));
    const names = [...(this.model.owned.get(member) || [])];
    return (filter.all ? names : names.filter((n) => filter(this.model.tasks.get(n)))).sort();
  }

  #column(name) {
    if (!this.#columns.has(name)) this.#columns.set(name, new Column(name, this.model, this.actions));
    return this.#columns.get(name);
  }

  // row finds a task on the screen.
  row(task) {
    return this.element.querySelector(`.row[data-name="${CSS.escape(task)}"]`);
  }

  // place is where a member's column is.
  place(member) {
    return this.#columns.get(member)?.element.getBoundingClientRect();
  }
}

class Column {
  #seen = "";

  constructor(name, model, actions) {
    this.name = name;
    this.model = model;
    this.actions = actions;
    this.open = el("button", { type: "button", onclick: () => actions.openMember(name) }, "If it goes …");
    this.open.setAttribute("aria-label", `What if ${name} goes`);
    this.open.dataset.focus = `member ${name}`;
    this.facts = el("div");
    this.head = el("div", {}, this.facts, ...(name ? [this.open] : []));
    this.list = new List(name ? `Tasks of ${name}` : "Tasks without an owner", (t) => this.#row(t), actions.openTask);
    this.element = el("section", { className: "column", "aria-label": name || "without an owner" }, this.head, this.list.element);
    this.element.dataset.member = name;
  }

  show(names, busiest) {
    this.#head(names.length, busiest);
    this.list.show(names);
  }

  #head(n, busiest) {
    const m = this.model.members.get(this.name);
    const lines = m ? [`${count(m.tasks, "task")}${m.leaving ? `, ${m.leaving} leaving` : ""}${m.slots ? `, ${m.slots_taken || 0} of ${count(m.slots, "slot")}` : ""}`, beatText(m.heartbeat)] : [count(n, "task"), ""];
    const labels = Object.entries(m?.labels || {}).filter(([k]) => !k.startsWith("rota.")).map(([k, v]) => `${k}=${v}`).join(" ");
    const seen = JSON.stringify([m?.state, m?.tasks, m?.capacity, busiest, lines, labels]);
    if (seen === this.#seen) return;
    this.#seen = seen;
    this.facts.replaceChildren(
      el("h2", {}, el("span", {}, this.name || "Without an owner"), m ? word(m.state) : null),
      ...(m ? [loadOf(m, busiest)] : []),
      el("p", {}, lines.filter(Boolean).join(" · ")),
      ...(labels ? [el("p", {}, labels)] : []),
    );
  }

  #row(name) {
    const t = this.model.tasks.get(name);
    if (!t) return [];
    const moved = this.model.moves.find((m) => m.task === name);
    const out = [el("span", { className: "name" + (moved && Date.now() - moved.at < shine ? " moved" : "") }, name)];
    if (t.state !== "running") out.push(word(t.state));
    return out;
  }
}

function beatText(b) {
  if (!b) return "";
  if (b.state === "gone") return "no heartbeat: dead or cut off";
  if (b.state === "silent") return `silent for ${span(b.silent_ms)}: probably dead`;
  return `heartbeat ${ago(b.at_ms)} ago${b.state === "late" ? ": late" : ""}`;
}
