// The view of the jobs: a list, and the chosen one with the graph of its tasks.
import { Acts, deadActions, jobActions } from "./acts.js";
import { get, pages } from "./api.js";
import { ago, el, word } from "./dom.js";
import { graphOf } from "./graph.js";
import { Throughput } from "./plots.js";
import { Sorted } from "./sorted.js";

const pace = 2_000; // ms between looks

export class Jobs {
  title = "Jobs";
  live = pace;
  #jobs = [];
  #chosen = "";
  #seen = "";
  #throughput = new Throughput();

  constructor(model, actions) {
    this.rows = el("tbody");
    this.acts = new Acts(model, () => this.refresh().then(actions.redraw, () => {}));
    this.one = el("div");
    this.name = el("h2");
    this.sorted = new Sorted([
      { name: "Job", key: (j) => j.job }, { name: "State", key: (j) => j.state }, { name: "Since", key: (j) => j.since_ms }, { name: "Tasks", key: doneOf },
    ], () => actions.redraw());
    this.none = el("p", {}, "No job was submitted. Tasks of folders are under Tasks.");
    this.element = el("div", {}, this.none,
      el("table", {}, el("thead", {}, this.sorted.row()), this.rows), el("section", { "aria-live": "off" }, this.name, this.acts.element, this.one));
  }

  show(filter) {
    const shown = this.sorted.order(this.#jobs.filter((j) => filter({ ...j, task: j.job })));
    this.none.hidden = shown.length > 0;
    const seen = JSON.stringify([shown.map((j) => [j.job, j.state, ago(j.since_ms), j.tasks.map((t) => t.state)]), this.#chosen, this.sorted.key]);
    if (seen === this.#seen) return;
    this.#seen = seen;
    const focused = document.activeElement?.dataset?.job;
    this.rows.replaceChildren(...shown.map((j) => this.#row(j)));
    if (focused) this.rows.querySelector(`[data-job="${CSS.escape(focused)}"]`)?.focus();
  }

  async refresh() {
    const jobs = [];
    await pages("/v1/jobs?limit=500", (page) => jobs.push(...page));
    this.#jobs = jobs;
    if (!this.#chosen && jobs.length === 1) this.#chosen = jobs[0].job;
    if (!this.#chosen) return;
    const job = await get("/v1/job?job=" + encodeURIComponent(this.#chosen));
    if (job.job !== this.#chosen) return; // another one was chosen meanwhile
    this.name.textContent = job.job;
    const dead = (job.flow?.tasks || []).reduce((n, t) => n + t.dead, 0);
    this.acts.offer([...jobActions(job.job, job.state), ...deadActions(job.job, dead)]);
    this.#throughput.add(job, Date.now());
    const plot = this.#throughput.plot(job);
    this.one.replaceChildren(graphOf(job, this.element.clientWidth), ...(plot ? [plot] : []), tableOf(job));
  }

  #row(j) {
    const open = el("button", { type: "button", onclick: () => this.choose(j.job) }, j.job);
    open.dataset.job = j.job;
    open.setAttribute("aria-pressed", String(j.job === this.#chosen));
    return el("tr", {}, el("td", {}, open), el("td", {}, word(j.state)), el("td", {}, `${ago(j.since_ms)} ago`), el("td", {}, `${doneOf(j)} of ${j.tasks.length} done`));
  }

  // choose shows a job.
  choose(job) {
    if (job !== this.#chosen) this.acts.forget();
    this.#chosen = job;
    this.refresh().catch(() => {});
  }
}

function doneOf(j) {
  return j.tasks.filter((t) => t.state === "done").length;
}

// standOf says where a task of a flow stands, who seals, and what it waits for.
function standOf(f) {
  return f.state + (f.sealers ? ` by ${f.sealers.join(" ")}` : "") + (f.waits ? `: ${f.waits}` : "");
}

function tableOf(job) {
  const flow = new Map((job.flow?.tasks || []).map((t) => [t.task, t]));
  const rows = job.tasks.map((t) => {
    const name = t.task.slice(t.task.indexOf("/") + 1), f = flow.get(name);
    const total = f ? f.in + f.pending : 0;
    return el("tr", {}, el("td", {}, name), el("td", {}, word(t.state)), el("td", {}, String(t.slots?.length || 0)),
      el("td", {}, f && f.sealed && total ? el("progress", { max: total, value: f.in, "aria-label": `${name}: ${f.in} of ${total}` }) : f ? `${f.pending} pending` : ""),
      el("td", {}, t.message || t.reason?.text || (f ? standOf(f) : "")));
  });
  return el("table", { className: "cards" }, el("thead", {}, el("tr", {}, ...["Task", "State", "Slots", "Progress", ""].map((h) => el("th", { scope: "col" }, h)))), el("tbody", {}, ...rows));
}
