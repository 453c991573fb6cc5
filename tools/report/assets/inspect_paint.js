// ---- painting

function resize() {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = canvas.clientWidth * ratio;
  canvas.height = canvas.clientHeight * ratio;
  draw();
}

let queued = false;
function draw() {
  if (queued || !shown) return;
  queued = true;
  requestAnimationFrame(() => { queued = false; paint(); });
}

/// Without what an earlier edge of the same value draws, if `skips`: drawn twice, a line looks thicker.
function trace(edge, e, skips) {
  const from = shown.boxes[edge[0]], to = shown.boxes[edge[1]], bends = shown.bends[e], first = skips ? shown.shared[e] : 0;
  let [x, , y] = first ? bends[first - 1] : [from.x, 0, from.y + from.height / 2];
  pen.moveTo(x, y);
  const go = (qx, qy) => {
    const bow = Math.min(Math.abs(qy - y) * .6, 46);
    if (Math.abs(qx - x) < .5) pen.lineTo(qx, qy);
    else pen.bezierCurveTo(x, y + bow, qx, qy - bow, qx, qy);
    x = qx;
    y = qy;
  };
  // A layer's other boxes may be taller than this one: straight down to the layer's end first.
  const below = shown.tops[from.layer] + shown.heights[from.layer];
  if (y < below && to.layer > from.layer) { pen.lineTo(x, below); y = below; }
  for (const [bx, top, bottom] of bends.slice(first)) { go(bx, top); pen.lineTo(bx, bottom); y = bottom; }
  go(to.x, to.y - to.height / 2);
}

function arrowHead(edge) {
  const to = shown.boxes[edge[1]], x = to.x, y = to.y - to.height / 2;
  pen.moveTo(x - 4, y - 7);
  pen.lineTo(x, y);
  pen.lineTo(x + 4, y - 7);
}

function paintEdges(top, bottom) {
  const near = chosen < 0 ? new Set() : new Set([...shown.into[chosen], ...shown.outOf[chosen]]);
  const spanned = edge => {
    const a = shown.boxes[edge[0]].y, b = shown.boxes[edge[1]].y;
    return Math.max(a, b) + 200 >= top && Math.min(a, b) - 200 <= bottom;
  };
  const stroke = (edges, colour, width, skips) => {
    pen.strokeStyle = pen.fillStyle = colour;
    pen.lineWidth = width;
    pen.beginPath();
    for (const e of edges) trace(shown.edges[e], e, skips);
    pen.stroke();
    if (view.scale < .3) return;
    pen.beginPath();
    for (const e of edges) arrowHead(shown.edges[e]);
    pen.fill();
  };
  const far = [];
  shown.edges.forEach((edge, e) => { if (!near.has(e) && spanned(edge)) far.push(e); });
  const thin = Math.max(1.2, .7 / view.scale);
  stroke(far, ink.edge, thin, near.size === 0);
  if (near.size) stroke(near, ink.accent, thin * 1.9, false);
}

function headColour(box) {
  if (byDeviation && box.kind !== "input" && box.kind !== "output") return box.marks.size < 0 ? ink.node : sizes[box.marks.size][dark()];
  if (box.kind === "input") return ink.input;
  if (box.kind === "output") return ink.output;
  if (box.kind === "scope") return ink.scope;
  const family = families.find(([pattern]) => pattern.test(box.title));
  return family ? family[1 + dark()] : ink.node;
}

/// A box at a size at which nothing in it can be read: a spot of its colour, never less than a point.
function paintSpot(box, i) {
  const width = Math.max(box.width, 1.5 / view.scale), height = Math.max(box.height, 1.5 / view.scale);
  pen.fillStyle = box.marks.severity >= 0 && !byDeviation ? ink[severities[box.marks.severity]] : hitBoxes.has(i) ? ink.hit : headColour(box);
  pen.fillRect(box.x - width / 2, box.y - height / 2, width, height);
  pen.strokeStyle = i === chosen || hitBoxes.has(i) ? ink.accent : ink["node-line"];
  pen.lineWidth = (i === chosen ? 2.5 : .6) / view.scale;
  if (box.width * view.scale > 4 || i === chosen) pen.strokeRect(box.x - width / 2, box.y - height / 2, width, height);
  const letters = Math.min(height * .7, (width - 6) / textWidth(box.title, titleFont) * 13);
  if (letters * view.scale < 6) return;
  pen.font = titleFont.replace("13px", letters + "px");
  pen.fillStyle = ink.ink;
  pen.fillText(box.title, box.x, box.y);
}

function outline(box, grow = 0) {
  const radius = box.kind === "input" || box.kind === "output" ? Math.min(box.height / 2, 17) : 7;
  pen.beginPath();
  pen.roundRect(box.x - box.width / 2 - grow, box.y - box.height / 2 - grow, box.width + 2 * grow, box.height + 2 * grow, radius + grow);
}

function paintBox(box, i) {
  const left = box.x - box.width / 2, top = box.y - box.height / 2;
  if (box.kind === "scope") {  // a pile
    for (const shift of fold.scopes[box.index].repeats ? [8, 4] : [4]) {
      pen.beginPath();
      pen.roundRect(left + shift, top + shift, box.width, box.height, 7);
      pen.fillStyle = ink.scope;
      pen.strokeStyle = ink["node-line"];
      pen.lineWidth = 1;
      pen.fill();
      pen.stroke();
    }
  }
  outline(box);
  pen.fillStyle = hitBoxes.has(i) ? ink.hit : box.kind === "input" || box.kind === "output" ? headColour(box) : ink.node;
  pen.fill();
  if (!hitBoxes.has(i) && box.kind !== "input" && box.kind !== "output") {
    pen.save();
    pen.clip();
    pen.fillStyle = headColour(box);
    pen.fillRect(left, top, box.width, titleHeight);
    pen.restore();
  }
  outline(box);
  pen.strokeStyle = i === chosen ? ink.accent : byDeviation && box.marks.guilty ? ink.error : ink["node-line"];
  pen.lineWidth = i === chosen ? 2.5 : byDeviation && box.marks.guilty ? 2.5 : 1;
  pen.stroke();
  pen.fillStyle = ink.ink;
  pen.font = titleFont;
  pen.fillText(box.title, box.x, top + titleHeight / 2 + .5);
  pen.font = rowFont;
  let y = top + titleHeight + rowHeight / 2 + 3;
  for (const row of box.rows) { pen.fillText(row, box.x, y); y += rowHeight; }
  pen.fillStyle = ink.soft;
  if (box.foot) pen.fillText(box.foot, box.x, y);
  if (box.marks.severity >= 0) paintBadge(left + box.width - 2, top + 2, box.marks);
}

function paintBadge(x, y, {amount, severity}) {
  const text = amount > 99 ? "99+" : String(amount);
  pen.font = "700 10px system-ui, sans-serif";
  const width = Math.max(16, pen.measureText(text).width + 8);
  pen.beginPath();
  pen.roundRect(x - width / 2, y - 8, width, 16, 8);
  pen.fillStyle = ink[severities[severity]];
  pen.fill();
  pen.fillStyle = dark() ? "#12161c" : "#fff";
  pen.fillText(text, x, y + .5);
}

function paint() {
  const ratio = window.devicePixelRatio || 1, {x, y, scale} = view;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.translate(x, y);
  pen.scale(scale, scale);
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.lineJoin = "round";
  const top = -y / scale, bottom = (height - y) / scale, left = -x / scale, right = (width - x) / scale;
  paintEdges(top, bottom);
  shown.layers.forEach((members, l) => {
    if (shown.tops[l] > bottom || shown.tops[l] + shown.heights[l] + 10 < top) return;
    for (const i of members) {
      const box = shown.boxes[i];
      if (box.x + box.width / 2 + 10 < left || box.x - box.width / 2 > right) continue;
      if (scale < .3) paintSpot(box, i); else paintBox(box, i);
    }
  });
}
