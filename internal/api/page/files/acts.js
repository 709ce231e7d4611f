// What a person may have the cluster do: a button for each action, a question, and what became of it, all in one place.
import { post } from "./api.js";
import { count, el } from "./dom.js";

// without says what to configure where a member has no token.
export const without = "This page only shows, because the API of this member has no token. To act here: rota run --api-token env:NAME";

export class Acts {
  #offered = [];
  #key = "";
  #label = ""; // of the action that was asked about last
  #asking = false; // a question is open, or its answer is awaited

  // after is called when the cluster has answered.
  constructor(model, after) {
    this.model = model;
    this.after = after;
    this.buttons = el("div", { className: "buttons", role: "group", "aria-label": "Actions" });
    this.said = el("p", { className: "said", role: "status", tabIndex: -1 });
    this.element = el("div", { className: "acts" }, this.buttons, this.said);
    this.element.addEventListener("keydown", (e) => {
      if (e.key !== "Escape" || !this.#asking) return;
      e.stopPropagation(); // it ends the question alone
      this.#close();
    });
  }

  // offer shows these actions: {label, ask, path}. An open question stays.
  offer(list) {
    const key = JSON.stringify([this.model.acts, list]);
    this.#offered = list;
    if (key === this.#key) return;
    this.#key = key;
    if (!this.#asking) this.#draw();
  }

  // forget removes what became of the last action.
  forget() {
    this.#say("");
    this.#asking = false;
    this.#key = "";
    this.buttons.replaceChildren();
  }

  #draw() {
    if (!this.model.acts) {
      this.buttons.replaceChildren(...(this.#offered.length ? [el("p", { className: "dim" }, without)] : []));
      return;
    }
    const focused = this.buttons.contains(document.activeElement) ? document.activeElement.textContent : "";
    const buttons = this.#offered.map((a) => el("button", { type: "button", onclick: () => this.#ask(a) }, a.label));
    this.buttons.replaceChildren(...buttons);
    if (focused) (buttons.find((b) => b.textContent === focused) || this.said).focus();
  }

  #ask(a) {
    this.#asking = true;
    this.#label = a.label;
    this.#say("");
    const no = el("button", { type: "button", onclick: () => this.#close() }, "Cancel");
    const yes = el("button", { type: "button", className: "yes", onclick: () => this.#do(a, [yes, no]) }, a.label);
    this.buttons.replaceChildren(el("p", {}, a.ask), yes, no);
    no.focus();
  }

  #close() {
    this.#asking = false;
    this.#draw();
    ([...this.buttons.children].find((b) => b.textContent === this.#label) || this.said).focus();
  }

  async #do(a, buttons) {
    for (const b of buttons) b.disabled = true;
    this.#say("asking …");
    this.said.focus();
    try {
      this.#say(`done: ${(await post(a.path)).said}`);
    } catch (e) {
      this.#say(e.message, true);
    }
    this.#asking = false;
    this.#draw();
    this.after();
  }

  #say(text, bad = false) {
    this.said.setAttribute("role", bad ? "alert" : "status");
    this.said.classList.toggle("old", bad);
    this.said.textContent = text;
  }
}

const ended = ["completed", "failed", "killed", "finished", "gone", "malformed", "done"];

// jobActions are those of a job in a state.
export function jobActions(job, state) {
  if (ended.includes(state)) return [];
  const name = encodeURIComponent(job);
  return [
    state === "paused"
      ? { label: `Resume ${job}`, ask: `Let members run ${job} again?`, path: `/v1/resume?job=${name}` }
      : { label: `Pause ${job}`, ask: `Take ${job} from its members, and let nobody run it until it is resumed?`, path: `/v1/pause?job=${name}` },
    { label: `Kill ${job}`, ask: `End ${job} for good?`, path: `/v1/kill?job=${name}` },
  ];
}

// deadActions are those of a flow with dead letters, also of one that is completed.
export function deadActions(job, dead) {
  if (!dead) return [];
  const name = encodeURIComponent(job);
  return [
    { label: "Retry dead letters", ask: `Put ${count(dead, "dead letter")} of ${job} back to where they came from?`, path: `/v1/retry-dead?job=${name}` },
    { label: "Drop dead letters", ask: `Drop ${count(dead, "dead letter")} of ${job} for good?`, path: `/v1/drop-dead?job=${name}` },
  ];
}

// taskActions are those of a task or a job that was explained.
export function taskActions(w) {
  if (w.own || ended.includes(w.state)) return [];
  const task = encodeURIComponent(w.task);
  const out = [];
  if (w.state === "parked" && !w.partitions && !w.tasks) out.push({ label: "Try again", ask: `Give ${w.task} another row of attempts?`, path: `/v1/unpark?task=${task}` });
  if (w.state === "running" || w.state === "failing") out.push({ label: "Run now", ask: `Begin a round of ${w.task} at once?`, path: `/v1/run-now?task=${task}` });
  return [...out, ...jobActions(w.task.split(/[/#]/)[0], w.state)];
}

// memberActions are those of a member.
export function memberActions(m) {
  const name = encodeURIComponent(m.member);
  const evict = (ask) => ({ label: `Evict ${m.member}`, ask, path: `/v1/evict?member=${name}` });
  if (m.state === "held") return [evict(`Wait no longer for ${m.member}, and let others take its tasks at once?`)];
  const drain = m.state === "draining"
    ? { label: `Undrain ${m.member}`, ask: `Give ${m.member} tasks again?`, path: `/v1/undrain?member=${name}` }
    : { label: `Drain ${m.member}`, ask: `Move the ${m.tasks} tasks of ${m.member} away, and give it no more?`, path: `/v1/drain?member=${name}` };
  return [drain, evict(`End the process of ${m.member}? It comes back only when it is started again.`)];
}
