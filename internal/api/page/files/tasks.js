// The view of all tasks: one list.
import { count, el, word } from "./dom.js";
import { List } from "./list.js";
import { Sorted } from "./sorted.js";

export class Tasks {
  title = "Tasks";

  constructor(model, actions) {
    this.model = model;
    this.total = el("p", { role: "status" });
    this.list = new List("Tasks", (name) => this.#row(name), actions.openTask);
    this.list.element.classList.add("whole");
    const of = (key) => (name) => key(model.tasks.get(name)) || "";
    this.sorted = new Sorted([
      { name: "State", key: of((t) => t.state), className: "state" }, { name: "Task", key: (name) => name, className: "name" },
      { name: "Owner", key: of((t) => t.owner), className: "owner" }, { name: "Why", key: of(whyOf), className: "more" },
    ], () => actions.redraw());
    const heads = el("div", { className: "heads", role: "group", "aria-label": "Order" }, ...this.sorted.heads((p, b) => el("span", p, b)));
    this.element = el("div", { className: "fill" }, this.total, heads, this.list.element);
  }

  show(filter) {
    const all = this.model.names();
    const names = filter.all ? all : all.filter((n) => filter(this.model.tasks.get(n)));
    this.total.textContent = filter.all ? count(all.length, "task") : `${names.length.toLocaleString("en")} of ${count(all.length, "task")}`;
    this.list.show(this.sorted.order(names));
  }

  #row(name) {
    const t = this.model.tasks.get(name);
    if (!t) return [];
    return [word(t.state), el("span", { className: "name" }, name), el("span", { className: "owner" }, t.owner || ""), el("span", { className: "more", title: whyOf(t) }, whyOf(t))];
  }
}

function whyOf(t) {
  return t.message || t.cause || "";
}
