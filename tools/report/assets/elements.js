// What pages are made of. Whatever comes from the data becomes text nodes, never markup.
const counted = (n, what) => `${count(n)} ${what}${n === 1 ? "" : "s"}`;

/// Characters that are not seen, or turn the direction of what follows, as escapes.
const visible = text => String(text).replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
  c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));

/// An element: el("p.soft", "text", child ...). Strings become text.
function el(tag, ...children) {
  const [name, ...classes] = tag.split(".");
  const made = document.createElement(name);
  if (classes.length) made.className = classes.join(" ");
  made.append(...children.filter(child => child !== null && child !== undefined && child !== ""));
  return made;
}
function named(tag, attributes, ...children) {
  const made = el(tag, ...children);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
const given = text => el("bdi", visible(text));
const code = text => el("bdi.name", visible(text));
/// The file's name; the path, which would fill a table, is told on hovering.
const partsOf = path => path.replace(/[/]+$/, "").split("/");
const fileOf = (path, shown = partsOf(path).pop()) => named("bdi", {class: "name", title: visible(path)}, visible(shown));

/// For each path its last parts, as many as tell it from the other paths.
function shortPaths(paths) {
  const short = new Map(), end = (path, parts) => partsOf(path).slice(-parts).join("/");
  for (let parts = 1; short.size < new Set(paths).size; parts++) {
    const open = [...new Set(paths)].filter(path => !short.has(path)), ends = new Map();
    new Set(paths).forEach(path => ends.set(end(path, parts), (ends.get(end(path, parts)) || 0) + 1));
    open.filter(path => ends.get(end(path, parts)) === 1 || parts >= partsOf(path).length).forEach(path => short.set(path, end(path, parts)));
  }
  return short;
}

/// A table in a box that scrolls by itself. A head that begins with ">" is of numbers; the last cell of a short row takes the rest of it. With `stacked` a
/// narrow window shows every row as a list.
function table(heads, rows, label, stacked = false) {
  const right = heads.map(head => typeof head === "string" && head.startsWith(">"));
  const words = heads.map((head, i) => right[i] ? head.slice(1) : head);
  const cell = (content, i, cells) => {
    if (i === 0) return named("th", {scope: "row"}, content);
    if (i === cells.length - 1 && cells.length < heads.length) return named("td", {colspan: heads.length - i}, content);
    const made = el(right[i] ? "td.number" : "td", content);
    made.dataset.head = words[i].textContent ?? words[i];
    return made;
  };
  const head = el("tr", ...words.map((word, i) => named(right[i] ? "th.number" : "th", {scope: "col"}, word)));
  const body = el("tbody", ...rows.map(cells => el(cells.marked ? "tr.marked" : "tr", ...cells.map(cell))));
  const box = named("div.scroll", {role: "region", "aria-label": label}, el(stacked ? "table.stacked" : "table", el("thead", head), body));
  scrolling.observe(box);
  return box;
}

/// A box is a stop of the keyboard only while there is something to scroll.
const scrolling = new ResizeObserver(entries => entries.forEach(({target}) => {
  if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
  else target.removeAttribute("tabindex");
}));

const list = pairs => {
  const made = el("dl.facts");
  pairs.filter(([, value]) => value !== "" && value !== null && value !== undefined).forEach(([key, value]) => made.append(el("dt", key), el("dd", value)));
  return made;
};

const caption = (title, text) => el("figcaption", el("b", title), el("span", text));

const findings = ["beyond tolerance", "not rounding", "mismatch"], unsure = ["undecidable", "not compared"];
const kindOf = verdict => findings.includes(verdict) ? "bad" : unsure.includes(verdict) ? "unsure" : "fine";

function chip(verdict, profile) {
  const kind = kindOf(verdict);
  return el("span.chip." + kind, named("span", {"aria-hidden": "true"}, {fine: "✓", unsure: "?", bad: "✕"}[kind]),
    profile && verdict === "rounding" ? `${verdict} (${profile})` : verdict);
}

function navigation(sections) {
  const bar = named("nav", {"aria-label": "Sections"});
  sections.forEach(([id, text]) => bar.append(named("a", {href: "#" + id}, given(text))));
  return bar;
}

function failurePanel(side) {
  const error = side.failure.error;
  const made = el("div.note.bad", el("b", `Failed at ${visible(side.failure.at)}: `), given(error.message), el("div.soft", code(error.code)));
  (error.notes || []).forEach(note => made.append(el("div", given(note))));
  if (error.help) made.append(el("div", el("b", "Help: "), given(error.help)));
  return made;
}

// On paper nothing can be opened.
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  closed.forEach(panel => {
    panel.fill?.();
    panel.open = true;
  });
  figures.forEach((figure, host) => drawFigure(host));
});
addEventListener("afterprint", () => closed.forEach(panel => { panel.open = false; }));
