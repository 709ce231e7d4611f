// The view of all tasks: one list.
import { count, el, word } from "./dom.js";
import { List } from "./list.js";

export class Tasks {
  title = "Tasks";

  constructor(model, actions) {
    this.model = model;
    this.total = el("p", { role: "status" });
    this.list = new List("Tasks", (name) => this.#row(name), actions.openTask);
    this.list.element.classList.add("whole");
    this.element = el("div", { className: "fill" }, this.total, this.list.element);
  }

  show(filter) {
    const all = this.model.names();
    const names = filter.all ? all : all.filter((n) => filter(this.model.tasks.get(n)));
    this.total.textContent = filter.all ? count(all.length, "task") : `${names.length.toLocaleString("en")} of ${count(all.length, "task")}`;
    this.list.show(names);
  }

  #row(name) {
    const t = this.model.tasks.get(name);
    if (!t) return [];
    return [word(t.state), el("span", { className: "name" }, name), el("span", { className: "owner" }, t.owner || ""), el("span", { className: "more" }, t.message || t.cause || "")];
  }
}
