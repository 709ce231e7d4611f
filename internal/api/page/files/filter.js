// What the field "Filter" means: words that must all fit. state:X, owner:X and type:X fit the field, other words a part of the name.

export function filterOf(text) {
  const words = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const tests = words.map((w) => {
    const [, field, value] = /^(state|owner|type):(.+)$/.exec(w) || [];
    if (!field) return (t) => t.task.toLowerCase().includes(w);
    return (t) => (t[field] || "").toLowerCase().replaceAll(" ", "-") === value;
  });
  const f = (t) => tests.every((fits) => fits(t));
  f.all = tests.length === 0;
  return f;
}
