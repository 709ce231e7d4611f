// The head of a table whose columns sort it: up, down, and as it came.
import { el } from "./dom.js";

export class Sorted {
  #column = -1;
  #down = false;
  #heads = [];

  // columns are {name, key(item)}; changed is called when the order is another one.
  constructor(columns, changed) {
    this.columns = columns;
    this.changed = changed;
  }

  // heads are the cells of the head, made by cell(properties, button).
  heads(cell) {
    this.#heads = this.columns.map((c, i) => {
      const button = el("button", { type: "button", className: "sort", onclick: () => this.#choose(i) }, c.name);
      return cell({ className: c.className || "" }, button);
    });
    return this.#heads;
  }

  // row is a row of a table's head.
  row() {
    return el("tr", {}, ...this.heads((p, b) => el("th", { ...p, scope: "col" }, b)));
  }

  #choose(i) {
    if (this.#column !== i) [this.#column, this.#down] = [i, false];
    else if (!this.#down) this.#down = true;
    else this.#column = -1;
    this.#heads.forEach((h, at) => {
      if (at === this.#column) h.setAttribute("aria-sort", this.#down ? "descending" : "ascending");
      else h.removeAttribute("aria-sort");
    });
    this.changed();
  }

  // key names the order, for who remembers what is drawn.
  get key() {
    return `${this.#column} ${this.#down}`;
  }

  // order sorts items; those that are alike stay as they came.
  order(items) {
    if (this.#column < 0) return items;
    const { key } = this.columns[this.#column], up = this.#down ? -1 : 1;
    const by = items.map((item) => [key(item), item]);
    by.sort(([a], [b]) => (a < b ? -up : a > b ? up : 0));
    return by.map(([, item]) => item);
  }
}
