// The page: which view is shown, and what is said above it.
import { hasToken, setToken, Unauthorized } from "./api.js";
import { Detail } from "./detail.js";
import { ago, clock, count } from "./dom.js";
import { filterOf } from "./filter.js";
import { History } from "./history.js";
import { Jobs } from "./jobs.js";
import { Journal } from "./journal.js";
import { Members } from "./members.js";
import { Model } from "./model.js";
import { Problems } from "./problems.js";
import { Tasks } from "./tasks.js";

const pace = 3_000; // ms between looks at heartbeats
const still = matchMedia("(prefers-reduced-motion: reduce)");
const $ = (id) => document.getElementById(id);

const model = new Model((move) => moved(move));
const detail = new Detail($("detail"), model);
const actions = { openTask: (name) => detail.task(name), openMember: (name) => detail.member(name), openJob: (name) => { views.jobs.choose(name); location.hash = "jobs"; }, openChanges: (from, to) => detail.changes(from, to), redraw: () => redraw() };
const views = { problems: new Problems(model, actions), members: new Members(model, actions), tasks: new Tasks(model, actions), jobs: new Jobs(model, actions), journal: new Journal(model, actions), history: new History(model, actions) };

let view = null;
let filter = filterOf("");
let drawing = false;

// redraw draws once before the next frame, however often it is asked to.
function redraw() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    view.show(filter);
    head();
  });
}

function choose() {
  const name = location.hash.slice(1);
  view = views[name] || views.problems;
  for (const a of document.querySelectorAll("nav a")) {
    if (a.hash === "#" + (views[name] ? name : "problems")) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
  $("view").replaceChildren(view.element);
  document.title = `${view.title} · Rota`;
  look();
  redraw();
}

// head says what is true now, or how old it is.
function head() {
  const members = [...model.members.values()];
  const parts = [model.store, model.protocol && `protocol ${model.protocol}`, model.index && `index ${model.index.toLocaleString("en")}`, count(members.length, "member"), count(model.tasks.size, "task")];
  $("summary").textContent = parts.filter(Boolean).join(" · ") + (model.loaded ? "" : " · loading …");
  const fresh = model.fresh();
  let text = "live";
  if (!model.heard) text = "connecting …";
  else if (Date.now() - model.heard >= 12_000) text = `OLD: the member has not answered for ${ago(model.heard)}; this is what it said at ${clock(model.heard)}`;
  else if (model.unready.length) text = `OLD: the member is not ready: ${model.unready.join("; ")}`;
  if ($("freshness").textContent !== text) $("freshness").textContent = text;
  $("freshness").classList.toggle("old", model.heard > 0 && !fresh);
}

// moved says a move, and draws it where both members are on the screen.
let news = [];
function moved(m) {
  news.push(`${m.task} moved from ${m.from || "nobody"} to ${m.to}`);
  if (view !== views.members || still.matches || news.length > 20) return;
  const from = views.members.row(m.task)?.getBoundingClientRect() || views.members.place(m.from);
  const to = views.members.place(m.to);
  if (!from || !to) return;
  const ghost = document.createElement("div");
  ghost.className = "flight";
  ghost.textContent = m.task;
  ghost.ariaHidden = "true";
  document.body.append(ghost);
  const at = (r) => `translate(${r.left}px, ${r.top}px)`;
  ghost.animate([{ transform: at(from) }, { transform: at(to), opacity: 0.4 }], { duration: 700, easing: "ease-in-out" }).onfinish = () => ghost.remove();
}

function announce() {
  if (news.length === 0) return;
  $("news").textContent = news.length > 3 ? `${news.length} tasks moved` : news.join(". ");
  news = [];
}

async function look() {
  try {
    if (view.live) await view.refresh();
    else await model.refresh();
  } catch (e) {
    if (!(e instanceof Unauthorized)) return; // the line above says how old it is
  }
  redraw();
}

async function run() {
  for (;;) {
    try {
      await model.run();
    } catch (e) {
      $("login-error").textContent = hasToken() ? e.message : "";
      $("login").showModal();
      await new Promise((done) => $("login").addEventListener("close", done, { once: true }));
      setToken($("token").value);
      $("token").value = ""; // who types another one does not see this one
    }
  }
}

$("filter").addEventListener("input", () => {
  filter = filterOf($("filter").value);
  redraw();
});
$("search").addEventListener("submit", (e) => e.preventDefault());
document.addEventListener("keydown", (e) => {
  if (e.key === "/" && !/INPUT|SELECT|TEXTAREA/.test(document.activeElement.tagName)) {
    e.preventDefault();
    $("filter").focus();
  }
});
document.addEventListener("keydown", (e) => {
  if (e.key === "Escape" && document.activeElement !== $("filter") && !$("login").open) detail.close();
});
addEventListener("hashchange", choose);
model.listen(redraw);
choose();
setInterval(() => !document.hidden && look(), pace);
setInterval(() => { announce(); head(); view.tick?.(); }, 1_000);
run();
