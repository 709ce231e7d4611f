// What is known of the cluster, and how old it is.
import { follow, get, pages, Unauthorized } from "./api.js";

const silence = 12_000; // ms: the member says something every 5 s
const pause = 2_000; // ms between attempts to reach it

export class Model {
  members = new Map();
  tasks = new Map(); // by name
  owned = new Map(); // by member: a set of names
  index = 0;
  store = "";
  protocol = "";
  unready = [];
  pinned = false; // nothing moves by itself
  acts = false; // whether the member takes actions
  loaded = false;
  heard = 0; // when the member last said something, by this clock
  moves = []; // the last ones, newest first
  #worse = new Set(); // tasks that fail, or whose owner is silent, at the last look
  #listeners = new Set();
  #onMove;
  #names = null; // of the tasks, sorted; null when they have changed

  constructor(onMove) {
    this.#onMove = onMove;
  }

  listen(f) {
    this.#listeners.add(f);
    return () => this.#listeners.delete(f);
  }

  changed() {
    for (const f of this.#listeners) f();
  }

  // fresh says whether what is shown is what the member knows now, and the member has its store.
  fresh() {
    return this.heard > 0 && Date.now() - this.heard < silence && this.unready.length === 0;
  }

  // run keeps the model up to date until the page goes. It throws Unauthorized.
  async run() {
    for (;;) {
      try {
        await this.#session();
      } catch (e) {
        if (e instanceof Unauthorized) throw e;
      }
      this.changed();
      await new Promise((done) => setTimeout(done, pause));
    }
  }

  async #session() {
    const stop = new AbortController();
    const early = []; // changes that come while the lists are read
    let reading = null;
    const read = () => {
      reading = this.#read().then(() => {
        reading = null;
        for (const c of early.splice(0)) this.#apply(c);
        this.loaded = true;
        this.changed();
      });
      reading.catch(() => stop.abort());
    };
    let last = Date.now();
    const sign = () => {
      const old = !this.fresh();
      this.heard = last = Date.now();
      if (old) this.changed();
    };
    const watch = setInterval(() => Date.now() - last > silence && stop.abort(), 1_000);
    try {
      await follow("/v1/events", stop.signal, (name, data) => {
        if (name !== "changed") this.#begin(data);
        if (name === "begin" || name === "reset") read();
        else if (name === "changed" && reading) early.push(data);
        else if (name === "changed") this.#apply(data);
        this.changed();
      }, sign);
    } finally {
      clearInterval(watch);
    }
  }

  #begin(b) {
    this.index = b.index;
    this.store = b.store;
    this.protocol = b.protocol;
    this.unready = b.unready;
    this.acts = b.acts;
    this.pinned = b.pinned;
  }

  async #read() {
    const members = new Map();
    await pages("/v1/members?limit=1000", (page) => page.forEach((m) => members.set(m.member, m)));
    this.members = members;
    const seen = new Set();
    await pages("/v1/tasks?limit=5000", (page) => {
      for (const t of page) {
        seen.add(t.task);
        this.#put(t, false);
      }
      this.changed();
    });
    for (const name of [...this.tasks.keys()]) if (!seen.has(name)) this.#remove(name);
  }

  // refresh reads what does not come as events: heartbeats, and what fails.
  async refresh() {
    const members = await get("/v1/members?limit=1000");
    for (const m of members) if (this.members.has(m.member)) this.members.set(m.member, m);
    const worse = new Map();
    for (const state of ["failing", "backing-off", "owner-silent"]) {
      await pages(`/v1/tasks?limit=5000&state=${state}`, (page) => page.forEach((t) => worse.set(t.task, t)));
    }
    for (const name of this.#worse) {
      const t = this.tasks.get(name);
      if (t && !worse.has(name)) this.#put(this.#better(t), false);
    }
    for (const [name, t] of worse) if (this.tasks.has(name)) this.#put(t, false);
    this.#worse = new Set(worse.keys());
    this.changed();
  }

  // better is a task that no longer fails. The state of the value comes as an event, and stays.
  #better(t) {
    const failing = ["failing", "backing off", "owner silent"].includes(t.state);
    return failing ? { ...t, state: "running", message: "", failures: 0 } : t;
  }

  #apply(c) {
    this.index = c.index;
    for (const m of c.members) this.members.set(m.member, { ...m, heartbeat: this.members.get(m.member)?.heartbeat });
    for (const m of c.gone_members) this.members.delete(m);
    for (const t of c.tasks) if (!t.own) this.#put(t, true);
    for (const t of c.gone_tasks) this.#remove(t);
  }

  #put(t, tell) {
    const old = this.tasks.get(t.task);
    if (old && old.token > t.token) return; // a page that was on its way when the task moved
    this.tasks.set(t.task, t);
    if (!old) this.#names = null;
    if (old?.owner !== t.owner) {
      this.owned.get(old?.owner)?.delete(t.task);
      if (t.owner) {
        if (!this.owned.has(t.owner)) this.owned.set(t.owner, new Set());
        this.owned.get(t.owner).add(t.task);
      }
    }
    if (tell && old && t.owner && t.token !== old.token) {
      const from = old.owner === t.owner ? t.from || old.owner : old.owner || t.from;
      const move = { task: t.task, from, to: t.owner, cause: t.cause || "", at: Date.now() };
      this.moves.unshift(move);
      this.moves.length = Math.min(this.moves.length, 50);
      this.#onMove(move);
    }
  }

  #remove(name) {
    const old = this.tasks.get(name);
    if (!old) return;
    this.tasks.delete(name);
    this.owned.get(old.owner)?.delete(name);
    this.#names = null;
  }

  // names are those of all tasks, sorted.
  names() {
    return (this.#names ??= [...this.tasks.keys()].sort());
  }
}
