// Layered layout (Sugiyama): layers by longest path, order within a layer by barycentres, positions by averaging over neighbours. No part of
// it needs the page, so that it can be run alone.

const layoutGap = {across: 26, down: 40, bend: 8, sweeps: 6, positions: 14, mostBends: 60000};

/// Longest path from the top for each box; what is on a cycle stays where it is.
function layersOf(count, edges) {
  const leaving = Array.from({length: count}, () => []), waiting = new Int32Array(count), layer = new Int32Array(count);
  for (const [from, to] of edges) { leaving[from].push(to); ++waiting[to]; }
  const ready = [], entered = Uint8Array.from(waiting, n => n > 0);
  for (let box = 0; box < count; ++box) if (!waiting[box]) ready.push(box);
  while (ready.length) {
    const box = ready.pop();
    for (const next of leaving[box]) {
      layer[next] = Math.max(layer[next], layer[box] + 1);
      if (--waiting[next] === 0) ready.push(next);
    }
  }
  // What nothing leads to stands right above its first reader.
  for (let box = 0; box < count; ++box) {
    if (entered[box] || !leaving[box].length) continue;
    const nearest = leaving[box].reduce((least, next) => Math.min(least, layer[next]), Infinity);
    if (nearest > 0) layer[box] = nearest - 1;
  }
  return layer;
}

/// Edges over several layers get bends. Those of one value share them, so that a value with many readers is one line.
function withBends(boxes, edges, layer) {
  const vertices = boxes.map((box, i) => ({layer: layer[i], width: box.width, x: 0, above: [], below: []}));
  const trunks = new Map(), chains = [], shared = [];
  let bends = 0;
  for (const [from, to, value] of edges) {
    const chain = [];
    chains.push(chain);
    shared.push(0);
    if (layer[to] <= layer[from]) continue;
    const key = from + " " + value;
    if (!trunks.has(key)) trunks.set(key, []);
    const trunk = trunks.get(key), span = layer[to] - layer[from] - 1;
    // Bends are bounded as a whole: those of all edges of a deep graph could square the work. The rest is drawn straight.
    if (bends + span - trunk.length > layoutGap.mostBends) {
      vertices[from].below.push(to);
      vertices[to].above.push(from);
      continue;
    }
    shared[shared.length - 1] = Math.min(trunk.length, span);
    while (trunk.length < span) {
      const bend = vertices.length, upper = trunk.length ? trunk[trunk.length - 1] : from;
      vertices.push({layer: layer[from] + trunk.length + 1, width: layoutGap.bend, x: 0, above: [upper], below: [], isBend: true});
      vertices[upper].below.push(bend);
      trunk.push(bend);
      ++bends;
    }
    for (let i = 0; i < span; ++i) chain.push(trunk[i]);
    const last = span ? trunk[span - 1] : from;
    vertices[last].below.push(to);
    vertices[to].above.push(last);
  }
  return {vertices, chains, shared};
}

function orderLayers(vertices, layers) {
  const position = new Float64Array(vertices.length), key = new Float64Array(vertices.length);
  const number = members => members.forEach((v, i) => { position[v] = i; });
  layers.forEach(number);
  const sortBy = (members, side) => {
    for (const v of members) {
      const neighbours = vertices[v][side];
      let sum = 0;
      for (const n of neighbours) sum += position[n];
      key[v] = neighbours.length ? sum / neighbours.length : position[v];
    }
    members.sort((a, b) => key[a] - key[b]);
    number(members);
  };
  for (let sweep = 0; sweep < layoutGap.sweeps; ++sweep) {
    for (let l = 1; l < layers.length; ++l) sortBy(layers[l], "above");
    for (let l = layers.length - 1; l > 0; --l) sortBy(layers[l - 1], "below");
  }
}

/// Moves the vertices of a layer apart by the least squares of their shifts, their order kept: with the distances subtracted, that is isotonic
/// regression, by pooling neighbours that violate the order. Bends weigh more, so that long edges stay straight.
function pack(vertices, members) {
  const sums = [], weights = [], sizes = [], offset = [];
  members.forEach((v, i) => {
    offset.push(i ? offset[i - 1] + (vertices[members[i - 1]].width + vertices[v].width) / 2 + layoutGap.across : 0);
    const weight = vertices[v].isBend ? 3 : 1;
    sums.push((vertices[v].x - offset[i]) * weight);
    weights.push(weight);
    sizes.push(1);
    for (let last = sums.length - 1; last > 0 && sums[last - 1] / weights[last - 1] > sums[last] / weights[last]; --last) {
      sums[last - 1] += sums.pop();
      weights[last - 1] += weights.pop();
      sizes[last - 1] += sizes.pop();
    }
  });
  let i = 0;
  sums.forEach((sum, pool) => {
    for (const end = i + sizes[pool]; i < end; ++i) vertices[members[i]].x = sum / weights[pool] + offset[i];
  });
}

function placeAcross(vertices, layers) {
  for (const members of layers) {
    let x = 0;
    members.forEach((v, i) => {
      if (i) x += (vertices[members[i - 1]].width + vertices[v].width) / 2 + layoutGap.across;
      vertices[v].x = x;
    });
    for (const v of members) vertices[v].x -= x / 2;
  }
  const pull = (members, side) => {
    for (const v of members) {
      const neighbours = vertices[v][side];
      if (!neighbours.length) continue;
      let sum = 0;
      for (const n of neighbours) sum += vertices[n].x;
      vertices[v].x = sum / neighbours.length;
    }
    pack(vertices, members);
  };
  for (let sweep = 0; sweep < layoutGap.positions; ++sweep) {
    for (const members of layers) pull(members, "above");
    for (let l = layers.length - 1; l >= 0; --l) pull(layers[l], "below");
  }
}

/// boxes: [{width, height}], edges: [[from, to, value]]. Gives each box x and y (its centre), and for each edge the points where it passes layers:
/// [x, top, bottom], between which it runs straight down, and how many of the first of them earlier edges pass, too.
function layOut(boxes, edges) {
  const layer = layersOf(boxes.length, edges), {vertices, chains, shared} = withBends(boxes, edges, layer);
  const layers = [];
  vertices.forEach((vertex, v) => {
    while (layers.length <= vertex.layer) layers.push([]);
    layers[vertex.layer].push(v);
  });
  orderLayers(vertices, layers);
  placeAcross(vertices, layers);
  const tops = [], heights = [];
  let y = 0;
  for (const members of layers) {
    const height = members.reduce((most, v) => Math.max(most, v < boxes.length ? boxes[v].height : 0), 0);
    tops.push(y);
    heights.push(height);
    y += height + layoutGap.down + Math.min(60, members.length * 1.5);
  }
  let left = Infinity, right = -Infinity;
  for (const vertex of vertices) {
    left = Math.min(left, vertex.x - vertex.width / 2);
    right = Math.max(right, vertex.x + vertex.width / 2);
  }
  boxes.forEach((box, i) => {
    box.x = vertices[i].x - left;
    box.layer = layer[i];
    box.y = tops[layer[i]] + box.height / 2;
  });
  const bends = chains.map(chain => chain.map(v => [vertices[v].x - left, tops[vertices[v].layer], tops[vertices[v].layer] + heights[vertices[v].layer]]));
  const bottom = layers.length ? tops[layers.length - 1] + heights[layers.length - 1] : 0;
  return {bends, shared, tops, heights, width: boxes.length ? right - left : 0, height: bottom};
}
