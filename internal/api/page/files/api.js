// The requests to the member that serves this page.

let token = ""; // in the memory of this page alone: a reload asks for it again

// Unauthorized is thrown when the member wants another token.
export class Unauthorized extends Error {}

export function setToken(t) {
  token = t;
}

export function hasToken() {
  return token !== "";
}

async function ask(path, options = {}) {
  const headers = new Headers(options.headers);
  if (token) headers.set("Authorization", "Bearer " + token);
  // The token goes to the member that serves the page, and never further.
  const r = await fetch(path, { ...options, headers, mode: "same-origin", credentials: "omit", redirect: "error" });
  if (r.status === 401) throw new Unauthorized("the token is missing or wrong");
  if (!r.ok) {
    const body = await r.json().catch(() => ({}));
    throw Object.assign(new Error(body.error || `${path}: ${r.status}`), { status: r.status });
  }
  return r;
}

export async function get(path) {
  return (await ask(path)).json();
}

// post asks the member to change the cluster.
export async function post(path) {
  return (await ask(path, { method: "POST" })).json();
}

// pages reads a list page by page and hands each page on.
export async function pages(path, onPage) {
  for (let next = path; next; ) {
    const r = await ask(next);
    onPage(await r.json());
    const link = /<([^>]+)>;\s*rel="next"/.exec(r.headers.get("Link") || "");
    next = link && link[1];
  }
}

// follow reads server-sent events until the connection ends. An EventSource cannot carry a token.
export async function follow(path, signal, onEvent, onSign) {
  const r = await ask(path, { signal, headers: { Accept: "text/event-stream" } });
  const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ; ) {
    const { value, done } = await reader.read();
    if (done) return;
    onSign();
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const event = { name: "message", data: "" };
      for (const line of block.split("\n")) {
        if (line.startsWith("event: ")) event.name = line.slice(7);
        if (line.startsWith("data: ")) event.data += line.slice(6);
      }
      if (event.data) onEvent(event.name, JSON.parse(event.data));
    }
  }
}
