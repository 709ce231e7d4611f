// The view of the journal: the newest records first.
import { get } from "./api.js";
import { ago, clock, el, span, word } from "./dom.js";
import { movesOf } from "./plots.js";
import { Sorted } from "./sorted.js";

const shown = 500;
const plotted = 1_000, pace = 10_000; // moves in the plot, and ms between its looks: each reads an hour

export class Journal {
  title = "Journal";
  live = 2_000; // ms between looks
  #records = [];
  #seen = "";
  #asked = 0; // when moves were asked for
  #at = 0; // when they came

  constructor(model, actions) {
    this.actions = actions;
    this.kind = el("select", { id: "kind", onchange: () => { this.#seen = ""; actions.redraw(); } }, el("option", { value: "" }, "all"));
    this.rows = el("tbody");
    this.none = el("p", {}, "Nothing fits.");
    this.sorted = new Sorted([
      { name: "Time", key: (r) => r.at_ms }, { name: "Kind", key: (r) => r.kind }, { name: "Task or member", key: (r) => r.partition || r.member || "" },
      { name: "What", key: whatOf }, { name: "Gap", key: (r) => r.gap_ms ?? r.gap_at_least_ms ?? -Infinity, className: "number" },
    ], () => actions.redraw());
    this.moves = el("div", {}, "asking …");
    this.age = el("p", { className: "dim" });
    this.element = el("div", {}, this.moves, this.age, el("p", {}, el("label", { htmlFor: "kind" }, "Kind "), this.kind), this.none,
      el("table", { className: "cards" }, el("thead", {}, this.sorted.row()), this.rows));
  }

  async refresh() {
    this.#records = (await get(`/v1/journal?limit=${shown}`)).reverse();
    const kinds = [...new Set(this.#records.map((r) => r.kind))].sort();
    const known = new Set([...this.kind.options].map((o) => o.value));
    for (const k of kinds) if (!known.has(k)) this.kind.append(el("option", { value: k }, k));
    await this.#plot();
  }

  // plot asks for the moves of the last hour, unless it has asked lately.
  async #plot() {
    if (Date.now() - this.#asked < pace) return;
    this.#asked = Date.now();
    const moves = await get(`/v1/journal?kind=moved&since=1h&limit=${plotted}`);
    this.#at = Date.now();
    this.moves.replaceChildren(movesOf(moves, this.#at, moves.length === plotted));
    this.tick();
  }

  // tick says how old the plot is.
  tick() {
    this.age.textContent = this.#at ? `as of ${clock(this.#at)}, ${ago(this.#at)} ago` : "";
  }

  show(filter) {
    const fits = (r) => (!this.kind.value || r.kind === this.kind.value) && filter({ task: r.partition || r.member || "", owner: r.to || r.member, state: r.kind });
    const records = this.sorted.order(this.#records.filter(fits));
    const seen = JSON.stringify([records.length, records[0], records.at(-1), this.sorted.key]);
    this.none.hidden = records.length > 0;
    if (seen === this.#seen) return;
    this.#seen = seen;
    this.rows.replaceChildren(...records.map((r) => rowOf(r)));
  }
}

// rowOf shows one record.
export function rowOf(r) {
  const place = r.storage ? ` ${r.storage.path}${r.storage.line ? `:${r.storage.line}` : ""}` : "";
  const least = r.gap_at_least_ms === undefined ? "" : `≥ ${span(r.gap_at_least_ms)}`;
  const gap = r.gap_ms === undefined ? least : r.gap_ms < 0 ? `overlap ${span(-r.gap_ms)}` : span(r.gap_ms);
  const time = el("time", { dateTime: new Date(r.at_ms).toISOString() }, clock(r.at_ms));
  return el("tr", {}, el("td", {}, time), el("td", {}, word(r.kind)), el("td", {}, el("bdi", {}, r.partition || r.member || "")), el("td", {}, el("bdi", {}, whatOf(r) + place)), el("td", { className: "number" }, gap));
}

function whatOf(r) {
  return [r.from || r.to ? `${r.from || "nobody"} → ${r.to || "nobody"}` : "", r.cause, r.message].filter(Boolean).join(" · ");
}
