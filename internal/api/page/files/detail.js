// The pane at the side: why a task runs where it runs, and what would come of a member that goes.
import { Acts, memberActions, taskActions } from "./acts.js";
import { get } from "./api.js";
import { ago, count, el, word } from "./dom.js";
import { pointText } from "./history.js";
import { rowOf } from "./journal.js";
import { resultsOf } from "./plots.js";

const pace = 5_000; // ms between looks while it is open

export class Detail {
  #back = null; // what had the focus before
  #asked = 0;
  #ask = null; // asks for what is shown, and shows it

  constructor(element, model) {
    this.element = element;
    this.model = model;
    this.acts = new Acts(model, () => this.#ask?.());
    setInterval(() => !document.hidden && this.#ask?.(), pace);
  }

  close() {
    if (this.element.hidden) return;
    this.element.hidden = true;
    this.#asked++;
    this.#ask = null;
    focusAgain(this.#back);
    this.#back = null;
  }

  // task shows why a task is where it is.
  task(name) {
    return this.#open(name, () => get("/v1/why?task=" + encodeURIComponent(name)), whyOf, taskActions);
  }

  // member shows the plan without a member, as long as it is one.
  member(name) {
    const member = () => this.model.members.get(name);
    const answer = async () => (member() ? get("/v1/plan?without=" + encodeURIComponent(name)) : null);
    const show = (p) => (p ? planOf(p) : [el("p", {}, `${name} is no member any more.`)]);
    return this.#open(`If ${name} goes`, answer, show, () => (member() ? memberActions(member()) : []));
  }

  // changes shows what differs between two indexes of the log.
  changes(from, to) {
    return this.#open(`From index ${from} to ${to}`, () => get(`/v1/history/diff?from=${from}&to=${to}`), changesOf);
  }

  // #open asks for an answer, shows it, and what can be done about it; with actions it looks again and again.
  async #open(title, answer, show, actions) {
    const asked = ++this.#asked;
    if (this.element.hidden || !this.element.contains(document.activeElement)) this.#back = document.activeElement;
    const heading = el("h2", { tabIndex: -1 }, title);
    const close = el("button", { type: "button", className: "close", onclick: () => this.close() }, "Close");
    const body = el("div", {}, "asking …");
    const time = el("p", { className: "dim" });
    this.acts.forget();
    this.element.replaceChildren(close, heading, this.acts.element, body, time);
    this.element.hidden = false;
    heading.focus();
    let seen = "";
    const ask = async () => {
      try {
        const said = await answer();
        if (asked !== this.#asked) return;
        if (actions) this.acts.offer(actions(said));
        const now = JSON.stringify(said);
        if (now !== seen) body.replaceChildren(...show(said)); // else what is selected stays
        seen = now;
        time.textContent = `as of ${new Date().toLocaleTimeString([], { hour12: false })}`;
      } catch (e) {
        if (asked === this.#asked) body.replaceChildren(el("p", { className: "old", role: "alert" }, e.message));
        seen = "";
      }
    };
    this.#ask = actions ? ask : null;
    await ask();
  }
}

// focusAgain gives the focus back: to the element that had it, or to the one that was drawn in its place, or to the view.
function focusAgain(e) {
  if (!e?.isConnected && e?.dataset?.focus) e = document.querySelector(`[data-focus="${CSS.escape(e.dataset.focus)}"]`);
  (e?.isConnected && e !== document.body ? e : document.getElementById("view")).focus();
}

function facts(pairs) {
  return el("dl", {}, ...pairs.filter(([, v]) => v !== undefined && v !== "" && v !== null).flatMap(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]));
}

function momentOf(ms) {
  return ms ? new Date(ms).toLocaleString([], { hour12: false }) : "";
}

function whyOf(w) {
  const out = [facts([
    ["State", word(w.state)], ["Owner", w.owner], ["Next", w.next], ["Since", w.since_ms ? `${ago(w.since_ms)} ago` : ""], ["From", w.from], ["Because", w.cause],
    ["Token", w.token ? String(w.token) : ""], ["Type", w.type], ["Source", w.source], ["Version", w.version],
    ["Labels", Object.entries(w.labels || {}).map(([k, v]) => `${k}=${v}`).join(" ")], ["Fails since", w.failing_ms ? `${ago(w.failing_ms)} ago` : ""], ["Rounds", w.state === "failing" && w.rounds ? `${w.failures} of ${w.rounds} failed` : ""],
    ["Last round", momentOf(w.last_round_ms)], ["Next round", momentOf(w.next_round_ms)], ["Last error", w.message], ["Said", w.as_of_ms ? `by its owner, ${ago(w.as_of_ms)} ago` : ""],
    ["Rule", w.reason?.text], ["Try", w.reason?.try],
  ])];
  if (w.partitions) out.push(el("p", {}, `${w.partitions.running} of ${w.partitions.total} partitions run.`));
  for (const t of w.not_running || []) out.push(el("p", {}, `${t.task}: `, word(t.state), t.reason ? ` ${t.reason.text}` : ""));
  out.push(el("h3", {}, "History"), resultsOf(w, Date.now()));
  out.push(w.history.length ? el("table", {}, el("tbody", {}, ...w.history.toReversed().map(rowOf))) : el("p", {}, "The journal has nothing about it."));
  return out;
}

function planOf(p) {
  const out = [el("p", {}, `${count(p.moves.length, "task")} of ${p.tasks} would move, ${p.waits.length} would wait${p.ends ? `, ${p.ends} would end with the member` : ""}.`)];
  const rows = p.members.map((m) => el("tr", {}, el("td", {}, m.member), el("td", { className: "number" }, String(m.before)), el("td", { className: "number" }, String(m.after))));
  out.push(el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Member"), el("th", { className: "number", scope: "col" }, "Now"), el("th", { className: "number", scope: "col" }, "Then"))), el("tbody", {}, ...rows)));
  for (const s of p.slots) out.push(el("p", {}, `${s.task}: ${s.before} → ${s.after} slots`));
  if (p.waits.length) out.push(el("h3", {}, "Would wait"), ...p.waits.slice(0, 50).map((w) => el("p", {}, `${w.task}: ${w.reason?.text || ""}`)));
  return out;
}

function changesOf(d) {
  const place = (t) => (t ? (t.owner ? `${t.state} on ${t.owner}` : t.state) : "");
  const rows = [
    ...d.members.map((c) => [c.member, c.before && `${c.before.state}, ${c.before.tasks}`, c.after && `${c.after.state}, ${c.after.tasks}`]),
    ...d.jobs.map((c) => [c.job, c.before, c.after]),
    ...d.tasks.map((c) => [c.task, place(c.before), place(c.after)]),
  ];
  if (rows.length === 0) return [el("p", {}, "Nothing differs.")];
  const shown = rows.slice(0, 500).map(([name, before, after]) => el("tr", {}, el("td", {}, name), el("td", {}, before || "—"), el("td", {}, after || "gone")));
  return [
    el("p", {}, `HISTORY: ${pointText(d.from)} — ${pointText(d.to)}. ${count(rows.length, "change")}${rows.length > 500 ? ", the first 500" : ""}.`),
    el("table", {}, el("thead", {}, el("tr", {}, ...["What", "Before", "After"].map((h) => el("th", { scope: "col" }, h)))), el("tbody", {}, ...shown)),
  ];
}
