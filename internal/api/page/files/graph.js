// The graph of a job: its tasks as boxes that hold their text.
import { svg } from "./dom.js";

// edgesOf are the pairs of tasks of which the second takes from, or waits for, the first.
function edgesOf(job) {
  const flow = new Map((job.flow?.tasks || []).map((t) => [t.task, t]));
  const short = (name) => name.slice(name.indexOf("/") + 1);
  return job.tasks.flatMap((t) => {
    const to = short(t.task);
    return [...new Set([...(flow.get(to)?.from || []), ...(t.after || []).map(short)])].map((from) => [from, to]);
  });
}

const pad = 10, gap = 50, lane = 20, high = 54;
const measure = document.createElement("canvas").getContext("2d");

// widthOf is how wide a box must be for its two lines.
function widthOf(name, small) {
  const family = getComputedStyle(document.body).fontFamily;
  const wide = (size, text) => ((measure.font = `${size}px ${family}`), measure.measureText(text).width);
  return Math.ceil(Math.max(140, wide(13, name), wide(11, small))) + 2 * pad;
}

// depthsOf says how many tasks come before each one, along the longest way.
function depthsOf(names, edges) {
  const depth = new Map(names.map((n) => [n, 0]));
  for (let i = 0; i < names.length; i++) for (const [a, b] of edges) depth.set(b, Math.max(depth.get(b), Math.min(depth.get(a) + 1, names.length)));
  return depth;
}

// graphOf draws the tasks from left to right, each as far right as what it waits for needs; from top to bottom where the width does not suffice.
export function graphOf(job, width) {
  const names = job.tasks.map((t) => t.task.slice(t.task.indexOf("/") + 1));
  const edges = edgesOf(job), depth = depthsOf(names, edges);
  const flow = new Map((job.flow?.tasks || []).map((t) => [t.task, t]));
  const small = job.tasks.map((t, i) => smallOf(t, flow.get(names[i])));
  const wide = Math.max(...names.map((n, i) => widthOf(n, small[i])));
  const deep = Math.max(...depth.values()) + 1;
  const across = deep * (wide + gap) <= width;
  const at = new Map(), used = Array(deep).fill(0);
  names.forEach((n) => {
    const d = depth.get(n), l = used[d]++;
    at.set(n, across ? [d * (wide + gap) + 1, l * (high + lane) + 1] : [l * (wide + lane) + 1, d * (high + gap) + 1]);
  });
  const most = Math.max(...used);
  const w = (across ? deep * (wide + gap) - gap : most * (wide + lane) - lane) + 2;
  const h = (across ? most * (high + lane) - lane : deep * (high + gap) - gap) + 2;
  const picture = svg("svg", { class: "graph", viewBox: `0 0 ${w} ${h}`, width: w, height: h, role: "img", "aria-label": `Graph of ${job.job}: ${edges.map(([a, b]) => `${a} to ${b}`).join(", ")}` });
  for (const [a, b] of edges) picture.append(svg("path", { d: across ? rightward(at.get(a), at.get(b), wide) : downward(at.get(a), at.get(b), wide) }));
  names.forEach((n, i) => {
    const [x, y] = at.get(n);
    picture.append(svg("rect", { x, y, width: wide, height: high, rx: 6 }), svg("text", { x: x + pad, y: y + 22 }, n), svg("text", { x: x + pad, y: y + 42, class: "small" }, small[i]));
  });
  const frame = document.createElement("div");
  frame.className = "graph";
  frame.append(picture);
  return frame;
}

function smallOf(t, f) {
  if (!f) return `${t.type} · ${t.state}`;
  const n = (x) => x.toLocaleString("en");
  return `in ${n(f.in)} · out ${n(f.out)} · pending ${n(f.pending)}${f.dead ? ` · dead ${n(f.dead)}` : ""}`;
}

function rightward([x1, y1], [x2, y2], wide) {
  const from = x1 + wide, mid = high / 2;
  return `M${from} ${y1 + mid} C${from + gap / 2} ${y1 + mid} ${x2 - gap / 2} ${y2 + mid} ${x2} ${y2 + mid}`;
}

function downward([x1, y1], [x2, y2], wide) {
  const from = y1 + high, mid = wide / 2;
  return `M${x1 + mid} ${from} C${x1 + mid} ${from + gap / 2} ${x2 + mid} ${y2 - gap / 2} ${x2 + mid} ${y2}`;
}
