// The view of the jobs: a list, and the chosen one with the graph of its tasks.
import { get, pages } from "./api.js";
import { ago, el, svg, word } from "./dom.js";

const pace = 2_000; // ms between looks

export class Jobs {
  title = "Jobs";
  live = pace;
  #jobs = [];
  #chosen = "";
  #seen = "";

  constructor() {
    this.rows = el("tbody");
    this.one = el("section", { "aria-live": "off" });
    this.none = el("p", {}, "No job was submitted. Tasks of folders are under Tasks.");
    this.element = el("div", {}, this.none,
      el("table", {}, el("thead", {}, el("tr", {}, ...["Job", "State", "Since", "Tasks"].map((h) => el("th", { scope: "col" }, h)))), this.rows), this.one);
  }

  show(filter) {
    const shown = this.#jobs.filter((j) => filter({ ...j, task: j.job }));
    this.none.hidden = shown.length > 0;
    const seen = JSON.stringify([shown.map((j) => [j.job, j.state, ago(j.since_ms), j.tasks.map((t) => t.state)]), this.#chosen]);
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
    this.one.replaceChildren(el("h2", {}, job.job), graphOf(job), tableOf(job));
  }

  #row(j) {
    const done = j.tasks.filter((t) => t.state === "done").length;
    const open = el("button", { type: "button", onclick: () => { this.#chosen = j.job; this.refresh().catch(() => {}); } }, j.job);
    open.dataset.job = j.job;
    open.setAttribute("aria-pressed", String(j.job === this.#chosen));
    return el("tr", {}, el("td", {}, open), el("td", {}, word(j.state)), el("td", {}, `${ago(j.since_ms)} ago`), el("td", {}, `${done} of ${j.tasks.length} done`));
  }
}

// edgesOf are the pairs of tasks of which the second takes from, or waits for, the first.
function edgesOf(job) {
  const flow = new Map((job.flow?.tasks || []).map((t) => [t.task, t]));
  const short = (name) => name.slice(name.indexOf("/") + 1);
  return job.tasks.flatMap((t) => {
    const to = short(t.task);
    return [...new Set([...(flow.get(to)?.from || []), ...(t.after || []).map(short)])].map((from) => [from, to]);
  });
}

// graphOf draws the tasks from left to right, each as far right as what it waits for needs.
function graphOf(job) {
  const names = job.tasks.map((t) => t.task.slice(t.task.indexOf("/") + 1));
  const edges = edgesOf(job);
  const depth = new Map(names.map((n) => [n, 0]));
  for (let i = 0; i < names.length; i++) for (const [a, b] of edges) depth.set(b, Math.max(depth.get(b), Math.min(depth.get(a) + 1, names.length)));
  const at = new Map(), used = [];
  for (const n of names) {
    const column = depth.get(n);
    used[column] = (used[column] || 0) + 1;
    at.set(n, [20 + column * 230, 20 + (used[column] - 1) * 74]);
  }
  const width = 20 + used.length * 230, height = 20 + Math.max(...used.filter(Boolean)) * 74;
  const flow = new Map((job.flow?.tasks || []).map((t) => [t.task, t]));
  const picture = svg("svg", { class: "graph", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `Graph of ${job.job}: ${edges.map(([a, b]) => `${a} to ${b}`).join(", ")}` });
  for (const [a, b] of edges) {
    const [x1, y1] = at.get(a), [x2, y2] = at.get(b);
    picture.append(svg("path", { d: `M${x1 + 180} ${y1 + 27} C${x1 + 205} ${y1 + 27} ${x2 - 25} ${y2 + 27} ${x2} ${y2 + 27}` }));
  }
  job.tasks.forEach((t, i) => {
    const [x, y] = at.get(names[i]), f = flow.get(names[i]);
    const small = f ? `in ${f.in} · out ${f.out} · pending ${f.pending}${f.dead ? ` · dead ${f.dead}` : ""}` : `${t.type} · ${t.state}`;
    picture.append(svg("rect", { x, y, width: 180, height: 54, rx: 6 }), svg("text", { x: x + 10, y: y + 22 }, names[i]), svg("text", { x: x + 10, y: y + 42, class: "small" }, small));
  });
  return picture;
}

function tableOf(job) {
  const flow = new Map((job.flow?.tasks || []).map((t) => [t.task, t]));
  const rows = job.tasks.map((t) => {
    const name = t.task.slice(t.task.indexOf("/") + 1), f = flow.get(name);
    const total = f ? f.in + f.pending : 0;
    return el("tr", {}, el("td", {}, name), el("td", {}, word(t.state)), el("td", {}, String(t.slots?.length || 0)),
      el("td", {}, f && f.sealed && total ? el("progress", { max: total, value: f.in, "aria-label": `${name}: ${f.in} of ${total}` }) : f ? `${f.pending} pending` : ""),
      el("td", {}, t.message || t.reason?.text || ""));
  });
  return el("table", {}, el("thead", {}, el("tr", {}, ...["Task", "State", "Slots", "Progress", ""].map((h) => el("th", { scope: "col" }, h)))), el("tbody", {}, ...rows));
}
