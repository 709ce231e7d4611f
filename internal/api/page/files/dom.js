// Small helpers around the document.

// el makes an element: el("p", {className: "old"}, "text", child, …). A key with a hyphen is an attribute. Strings become text, never markup.
export function el(name, properties = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (key.includes("-") || key === "role") e.setAttribute(key, value);
    else e[key] = value;
  }
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}

// svg makes an element of a drawing.
export function svg(name, attributes = {}, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children);
  return e;
}

// word is a state with its colour.
export function word(state) {
  return el("span", { className: "state " + state.replaceAll(" ", "-") }, state);
}

// ago says how long ago an instant was, in ms since 1970.
export function ago(ms, now = Date.now()) {
  return ms ? span(now - ms) : "";
}

// span says a duration in ms.
export function span(ms) {
  const s = Math.max(0, ms) / 1000;
  if (s < 1) return `${Math.round(s * 1000)} ms`;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 120) return `${Math.round(s)} s`;
  if (s < 7200) return `${Math.round(s / 60)} min`;
  if (s < 172_800) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86_400)} d`;
}

export function clock(ms) {
  return new Date(ms).toLocaleTimeString([], { hour12: false });
}

export function count(n, what) {
  return `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
}
