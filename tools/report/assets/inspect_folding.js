// Which boxes are drawn when some scopes are folded, and the edges between them. No part of it needs the page, so that it can be run alone.

/// What does not change when scopes open and close: who makes a value, how the scopes lie in each other.
function foldingOf(graph, folding) {
  const constants = new Set(folding.constants), source = new Map(), held = new Map();
  graph.inputs.forEach((input, i) => { if (!source.has(input.name)) source.set(input.name, ["input", i]); });
  graph.nodes.forEach((node, n) => node.outputs.forEach(name => {
    if (name && constants.has(n)) held.set(name, n);
    else if (name && !source.has(name)) source.set(name, ["node", n]);
  }));
  const scopes = folding.scopes.map(([label, parent, repeats]) => ({label, parent, repeats: !!repeats, scopes: [], nodes: [], size: 0}));
  const top = {scopes: [], nodes: []};
  scopes.forEach((scope, s) => (scope.parent === null ? top : scopes[scope.parent]).scopes.push(s));
  folding.scope_of.forEach((s, n) => { if (!constants.has(n)) (s === null ? top : scopes[s]).nodes.push(n); });
  for (let s = scopes.length - 1; s >= 0; --s) {
    scopes[s].size += scopes[s].nodes.length;
    if (scopes[s].parent !== null) scopes[scopes[s].parent].size += scopes[s].size;
  }
  return {graph, scopeOf: folding.scope_of, constants, source, held, scopes, top};
}

/// The outermost folded scope around each scope; null where all are open.
function foldedAround(fold, open) {
  const around = [];
  fold.scopes.forEach((scope, s) => {  // each after the one around it
    const outer = scope.parent === null ? null : around[scope.parent];
    around.push(outer !== null ? outer : open.has(s) ? null : s);
  });
  return around;
}

/// Boxes that are drawn, and edges [from, to, value, more values ...] between them, one for each pair.
function drawn(fold, open) {
  const around = foldedAround(fold, open), boxes = [], boxOfNode = new Map(), boxOfScope = new Map(), boxOfInput = new Map();
  const {graph} = fold;
  graph.inputs.forEach((input, i) => { boxOfInput.set(i, boxes.length); boxes.push({kind: "input", index: i}); });
  graph.nodes.forEach((node, n) => {
    if (fold.constants.has(n)) return;
    const scope = fold.scopeOf[n] === null ? null : around[fold.scopeOf[n]];
    if (scope !== null && !boxOfScope.has(scope)) { boxOfScope.set(scope, boxes.length); boxes.push({kind: "scope", index: scope, nodes: []}); }
    if (scope === null) boxes.push({kind: "node", index: n});
    const box = scope === null ? boxes.length - 1 : boxOfScope.get(scope);
    boxOfNode.set(n, box);
    if (scope !== null) boxes[box].nodes.push(n);
  });
  const edges = new Map();
  const add = (value, to) => {
    const from = fold.source.get(value);
    if (!from) return;
    const box = from[0] === "input" ? boxOfInput.get(from[1]) : boxOfNode.get(from[1]);
    if (box === to) return;
    const key = box * 2 ** 26 + to, edge = edges.get(key);
    if (!edge) edges.set(key, [box, to, value]);
    else if (!edge.includes(value, 2)) edge.push(value);
  };
  graph.nodes.forEach((node, n) => {
    const to = boxOfNode.get(n);
    if (to === undefined) return;
    for (const value of node.inputs) add(value, to);
    for (const value of node.captures) add(value, to);
  });
  graph.outputs.forEach((output, i) => {
    boxes.push({kind: "output", index: i});
    add(output.name, boxes.length - 1);
  });
  return {boxes, edges: [...edges.values()], boxOfNode, boxOfScope, boxOfInput};
}

/// A large graph starts folded, but for scopes without which it would be a handful of boxes.
function openAtStart(fold, large = 300, enough = 10) {
  const open = new Set();
  if (fold.graph.nodes.length <= large) return new Set(fold.scopes.keys());
  const seen = [...fold.top.scopes];
  let count = fold.top.nodes.length + seen.length;
  while (count < enough && seen.length) {
    const largest = seen.reduce((a, b) => fold.scopes[b].size > fold.scopes[a].size ? b : a);
    if (fold.scopes[largest].repeats) break;
    seen.splice(seen.indexOf(largest), 1);
    open.add(largest);
    seen.push(...fold.scopes[largest].scopes);
    count += fold.scopes[largest].nodes.length + fold.scopes[largest].scopes.length - 1;
  }
  return open;
}

/// The scopes around a node or scope, from the outside in.
function scopesAround(fold, scope) {
  const path = [];
  for (let s = scope; s !== null; s = fold.scopes[s].parent) path.unshift(s);
  return path;
}

/// A scope's name with those around it: "layers/3/attn"; repeated blocks are no name of their own.
const scopePath = (fold, scope) => scopesAround(fold, scope).filter((s, i, all) => i === all.length - 1 || !fold.scopes[s].repeats).map(s => fold.scopes[s].label).join("/");

/// What a box of a scope is called: a number needs the name of the scope around it.
function scopeTitle(fold, scope) {
  const {label} = fold.scopes[scope], path = scopesAround(fold, scope).slice(0, -1).filter(s => !fold.scopes[s].repeats);
  return /^\d/.test(label) && path.length ? `${fold.scopes[path[path.length - 1]].label}/${label}` : label;
}
