// A list of which only the rows on the screen exist: 100,000 rows cost as much as 50. It is one stop of the keyboard; the arrows move the selection.
import { el } from "./dom.js";

const beyond = 8; // rows above and below the screen

let lists = 0;

export class List {
  #names = [];
  #chosen = -1;
  #drawn = "";
  #number = ++lists;

  // label says what the list is; row(name) makes the content of a row; open(name) is called when a row is opened.
  constructor(label, row, open) {
    this.row = row;
    this.open = open;
    this.inner = el("div");
    this.element = el("div", { className: "rows", tabIndex: 0, role: "listbox", "aria-label": label }, this.inner);
    this.element.addEventListener("scroll", () => this.draw(), { passive: true });
    this.element.addEventListener("keydown", (e) => this.#key(e));
    this.element.addEventListener("click", (e) => this.#click(e));
    new ResizeObserver(() => {
      this.rowHeight = 0;
      this.draw(true);
    }).observe(this.element);
  }

  // show replaces the names. The selection stays on its name.
  show(names) {
    const chosen = this.#names[this.#chosen];
    if (names[this.#chosen] !== chosen) this.#chosen = chosen === undefined ? -1 : names.indexOf(chosen);
    this.#names = names;
    this.draw(true);
  }

  #height() {
    if (!this.rowHeight) { // --row is in rem, and another one on a phone
      const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
      this.rowHeight = rem * (parseFloat(getComputedStyle(this.element).getPropertyValue("--row")) || 1.75);
    }
    return this.rowHeight;
  }

  draw(always = false) {
    const h = this.#height();
    const from = Math.max(0, Math.floor(this.element.scrollTop / h) - beyond);
    const to = Math.min(this.#names.length, Math.ceil((this.element.scrollTop + this.element.clientHeight) / h) + beyond);
    const drawn = `${from}-${to}-${this.#chosen}`;
    if (!always && drawn === this.#drawn) return;
    this.#drawn = drawn;
    this.inner.style.height = `${this.#names.length * h}px`;
    const rows = [];
    for (let i = from; i < to; i++) rows.push(this.#rowAt(i, h));
    this.inner.replaceChildren(...rows);
    if (this.#chosen >= from && this.#chosen < to) this.element.setAttribute("aria-activedescendant", this.#id(this.#chosen));
    else this.element.removeAttribute("aria-activedescendant");
  }

  #id(i) {
    return `row-${this.#number}-${i}`;
  }

  #rowAt(i, h) {
    const name = this.#names[i];
    const row = el("div", {
      className: "row", id: this.#id(i), role: "option",
      "aria-selected": String(i === this.#chosen), "aria-posinset": i + 1, "aria-setsize": this.#names.length,
    }, ...this.row(name));
    row.dataset.name = name;
    row.style.top = `${i * h}px`;
    return row;
  }

  #click(e) {
    const row = e.target.closest(".row");
    if (!row) return;
    this.#choose(this.#names.indexOf(row.dataset.name));
    this.open(row.dataset.name);
  }

  #key(e) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.#height()) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (e.key in steps && this.#names.length > 0) {
      this.#choose(Math.min(this.#names.length - 1, Math.max(0, this.#chosen + steps[e.key])));
    } else if ((e.key === "Enter" || e.key === " ") && this.#chosen >= 0) {
      this.open(this.#names[this.#chosen]);
    } else return;
    e.preventDefault();
  }

  #choose(i) {
    this.#chosen = i;
    const h = this.#height(), top = i * h;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (top + h > this.element.scrollTop + this.element.clientHeight) this.element.scrollTop = top + h - this.element.clientHeight;
    this.draw(true);
  }
}
