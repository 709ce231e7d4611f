// Small plots, drawn without a library. Each says its span of time by the clock; an empty one says so in words and draws nothing.
import { clock, count, el, span, svg } from "./dom.js";

const hour = 3_600_000; // ms
const wide = 1000, high = 100; // of a drawing, which takes the width that there is

// plot is a drawing with what it says in words, between two instants.
function plot(text, marks, from, to) {
  if (!marks) return el("figure", { className: "plot" }, el("figcaption", {}, text));
  const drawing = svg("svg", { viewBox: `0 0 ${wide} ${high}`, preserveAspectRatio: "none", role: "img", "aria-label": text }, ...marks);
  return el("figure", { className: "plot" }, el("figcaption", {}, text), drawing, el("div", { className: "span dim" }, el("span", {}, clock(from)), el("span", {}, clock(to))));
}

// stem is a line up from the axis at an instant of the hour before now, with a text for who points at it.
function stem(atMS, now, height, kind, text) {
  const x = Math.min(wide - 2, Math.max(2, wide - (wide * (now - atMS)) / hour));
  return svg("path", { class: kind, d: `M${x.toFixed(1)} ${high} V${(high - height).toFixed(1)}` }, svg("title", {}, text));
}

// gapOf says a gap: as it was measured, or what it is at least.
const gapOf = (r) => (r.gap_ms !== undefined ? span(r.gap_ms) : r.gap_at_least_ms !== undefined ? `at least ${span(r.gap_at_least_ms)}` : "unknown");

const lately = (records, now) => records.filter((r) => r.at_ms >= now - hour);

// movesOf plots the moves of the last hour: the higher, the longer nobody ran the task. more says that there were more than these.
export function movesOf(records, now, more = false) {
  const moves = lately(records, now).filter((r) => r.kind === "moved");
  if (moves.length === 0) return plot("No moves in the last hour.");
  const known = (r) => r.gap_ms ?? r.gap_at_least_ms;
  const worst = moves.reduce((a, r) => ((known(r) ?? -1) > (known(a) ?? -1) ? r : a));
  const longest = known(worst) ?? 0;
  const unknown = moves.filter((r) => r.gap_ms === undefined).length;
  const text = [`${more ? "The newest " : ""}${count(moves.length, "move")} in the last hour`, `longest gap ${gapOf(worst)}`,
    unknown ? `${count(unknown, "gap")} not known, or only at least (dashed)` : ""].filter(Boolean).join(" · ");
  const height = (r) => 8 + (92 * Math.max(0, known(r) ?? 0)) / Math.max(1, longest);
  return plot(text, moves.map((r) => stem(r.at_ms, now, height(r), r.gap_ms === undefined ? "dashed" : "moves",
    `${clock(r.at_ms)} ${r.partition}: ${r.from || "nobody"} → ${r.to || "nobody"}, gap ${gapOf(r)}`)), now - hour, now);
}

const asked = 100; // records of a task: so many has its explanation at most
const bad = ["run-error", "parked", "malformed-task-error", "refused"];

// resultsOf plots what the journal has of a task in the last hour, failures high and the rest low.
export function resultsOf(why, now) {
  const rounds = why.state === "failing" && why.rounds ? `${why.failures || 0} of ${count(why.rounds, "round")} failed` : "";
  const records = lately(why.history, now);
  if (records.length === 0) return plot([rounds, "The journal has no failure or move of the last hour."].filter(Boolean).join(" · "));
  const failed = records.filter((r) => bad.includes(r.kind)).length, moved = records.filter((r) => r.kind === "moved").length;
  const some = why.history.length >= asked ? `the newest ${asked} records: ` : "";
  const text = [rounds, `${some}${count(failed, "failure")} and ${count(moved, "move")} of the last hour in the journal`].filter(Boolean).join(" · ");
  return plot(text, records.map((r) => {
    const fails = bad.includes(r.kind);
    return stem(r.at_ms, now, fails ? 100 : 40, fails ? "fails" : "moves", `${clock(r.at_ms)} ${r.kind}${r.message ? `: ${r.message}` : ""}`);
  }), now - hour, now);
}

// loadOf is a bar: how much of its capacity a member has, or, without one, of what the busiest has.
export function loadOf(m, busiest) {
  const most = m.capacity || busiest;
  const text = m.capacity ? `${count(m.tasks, "task")}, room for ${m.capacity}` : `${count(m.tasks, "task")}; the busiest member has ${busiest}`;
  const part = most ? Math.min(wide, (wide * m.tasks) / most) : 0;
  return svg("svg", { class: "load", viewBox: `0 0 ${wide} ${high}`, preserveAspectRatio: "none", role: "img", "aria-label": `Load: ${text}` },
    svg("title", {}, text), svg("rect", { width: wide, height: high, class: "room" }), svg("rect", { width: part, height: high }));
}

const kept = 150; // samples

// Throughput remembers how much the tasks of a flow had taken in at each look.
export class Throughput {
  #job = "";
  #samples = [];

  add(job, at) {
    const taken = (job.flow?.tasks || []).reduce((n, t) => n + t.in, 0);
    if (job.job !== this.#job || taken < this.#samples.at(-1)?.taken) this.#samples = [];
    this.#job = job.job;
    this.#samples.push({ at, taken });
    this.#samples = this.#samples.slice(-kept);
  }

  // plot is the items in a second from look to look; nothing for a job without a flow.
  plot(job) {
    if (!job.flow) return null;
    const s = this.#samples;
    if (s.length < 2) return plot("Throughput: it is measured while this page shows it.");
    const first = s[0].at, last = s.at(-1).at;
    const rates = s.slice(1).map((x, i) => ({ at: x.at, rate: (1000 * (x.taken - s[i].taken)) / Math.max(1, x.at - s[i].at) }));
    const most = Math.max(...rates.map((r) => r.rate));
    if (most === 0) return plot(`Nothing came through between ${clock(first)} and ${clock(last)}.`);
    const n = (rate) => rate.toLocaleString("en", { maximumFractionDigits: 1 });
    const x = (at) => ((wide * (at - first)) / Math.max(1, last - first)).toFixed(1), y = (rate) => (high - 2 - (94 * rate) / most).toFixed(1);
    const d = rates.map((r, i) => `${i ? "L" : `M${x(first)} ${y(r.rate)} L`}${x(r.at)} ${y(r.rate)}`).join(" ");
    return plot(`Taken in by all tasks: ${n(rates.at(-1).rate)} items a second at ${clock(last)}, at most ${n(most)}`, [svg("path", { class: "rate", d })], first, last);
  }
}
