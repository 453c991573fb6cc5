// Plots of the page of diff (figures.js).

function drawHistogram(histogram, label) {
  return plot((host, width) => {
    const area = canvasOf(host, width, 240, label, {left: 46, right: 8, top: 26, bottom: 44});
    const filled = histogram.bins.map((count, i) => [i, count]).filter(bin => bin[1] > 0);
    const exponents = filled.map(([i]) => histogram.lowest_exponent + i / 4);
    const low = Math.floor(d3.min(exponents)), high = Math.ceil(d3.max(exponents) + .25);
    const x = d3.scaleLinear([low, high], [area.left, area.right]);
    const y = d3.scaleLog([.5, d3.max(filled, bin => bin[1]) * 1.2], [area.bottom, area.top]);
    const step = Math.ceil((high - low + 1) / Math.max(2, (area.right - area.left) / 56));
    axes(area, x, y, {xTicks: d3.range(low, high + 1, step), yTicks: decades(y, 6), xFormat: power, yFormat: v => power(exponentOf(v)),
      xTitle: "|d|", yTitle: "elements"});
    area.svg.append("g").selectAll("rect").data(filled).enter().append("rect").attr("class", "bar")
      .attr("x", ([i]) => x(histogram.lowest_exponent + i / 4) + .75).attr("y", bin => y(bin[1]))
      .attr("width", Math.max(1, x(.25) - x(0) - 1.5)).attr("height", bin => area.bottom - y(bin[1]))
      .append("title").text(([i, elements]) => `${counted(elements, "element")} with |d| from ${short(10 ** (histogram.lowest_exponent + i / 4), 2)} to ${short(10 ** (histogram.lowest_exponent + (i + 1) / 4), 2)}`);
  });
}

/// Points and, over them, a line y = slope x + offset.
function drawPoints(points, {slope, offset, diagonal, xTitle, yTitle, label}) {
  return plot((host, width) => {
    const area = canvasOf(host, width, 240, label, {left: 58, right: 8, top: 26, bottom: 44});
    const spread = values => { const [low, high] = d3.extent(values); return low < high ? [low, high] : [low - 1, high + 1]; };
    const xs = spread(points.map(p => p[0])), ys = spread(points.map(p => p[1]));
    const x = d3.scaleLinear(diagonal ? spread([...xs, ...ys]) : xs, [area.left, area.right]).nice();
    const y = d3.scaleLinear(diagonal ? spread([...xs, ...ys]) : ys, [area.bottom, area.top]).nice();
    const few = Math.max(3, Math.floor((area.right - area.left) / 70));
    axes(area, x, y, {xTicks: x.ticks(few), yTicks: y.ticks(5), xFormat: v => short(v), yFormat: v => short(v), xTitle, yTitle});
    const across = f => line(x.domain().map(v => [x(v), y(f(v))]));
    const clip = `clip${clips++}`;
    area.svg.append("clipPath").attr("id", clip).append("rect").attr("x", area.left).attr("y", area.top)
      .attr("width", area.right - area.left).attr("height", area.bottom - area.top);
    const inner = area.svg.append("g").attr("clip-path", `url(#${clip})`);
    inner.append("path").attr("class", "mark").attr("stroke-width", 3.2).attr("stroke-opacity", points.length > 500 ? .5 : .85).attr("d", dots(points.map(([a, b]) => [x(a), y(b)])));
    if (diagonal) inner.append("path").attr("class", "limit").attr("d", across(v => v));
    if (isFinite(slope) && isFinite(offset)) inner.append("path").attr("class", "second").attr("stroke-width", 1.8).attr("d", across(v => slope * v + offset));
  });
}
let clips = 0;

/// Deviations along the graph in the order of execution, with a cursor that the pointer and the arrow keys move.
function drawLayers(layers, culprit, label, onNode) {
  return plot((host, width) => {
    const area = canvasOf(host, width, width < 560 ? 300 : 340, label, {left: 52, right: 12, top: 40, bottom: 46});
    const sigma = floor => floor ? number(floor.rms) : NaN;
    const total = layers.map(layer => sigma(layer.total)), own = layers.map(layer => sigma(layer.own));
    const shown = [...total, ...own].filter(v => v > 0 && isFinite(v));
    const low = 10 ** Math.floor(Math.log10(Math.min(.5, d3.min(shown) || .5))), high = 10 ** Math.ceil(Math.log10(Math.max(10, d3.max(shown) || 10)));
    const x = d3.scaleLinear([0, Math.max(1, layers.length - 1)], [area.left + 6, area.right - 6]);
    const y = d3.scaleLog([low, high], [area.bottom, area.top]).clamp(true);
    const at = (values, i) => [x(i), y(values[i] > 0 ? values[i] : low)];
    axes(area, x, y, {xTicks: x.ticks(Math.min(layers.length, width / 80)).filter(Number.isInteger), yTicks: decades(y, 7), xFormat: count,
      yFormat: v => power(exponentOf(v)), xTitle: "node, in the order of execution", yTitle: "deviation in sigmas of honest rounding (rms)"});
    area.svg.append("line").attr("class", "limit").attr("x1", area.left).attr("x2", area.right).attr("y1", y(2)).attr("y2", y(2));
    area.svg.append("text").attr("x", area.right).attr("y", y(2) - 5).attr("text-anchor", "end").text("up to 2: rounding");
    const known = values => d3.range(layers.length).filter(i => !Number.isNaN(values[i]));
    area.svg.append("path").attr("class", "mark").attr("stroke-width", 1.8).attr("d", line(known(total).map(i => at(total, i))));
    const size = layers.length > 400 ? 3 : 5;
    const sound = known(own).filter(i => !layers[i].guilty), unsound = known(own).filter(i => layers[i].guilty);
    area.svg.append("path").attr("class", "second").attr("stroke-width", size).attr("d", dots(sound.map(i => at(own, i))));
    area.svg.append("path").attr("class", "alarm").attr("stroke-width", 2).attr("d", unsound.map(i => cross(...at(own, i))).join(""));
    if (culprit !== null) drawCulprit(area, x(culprit), layers[culprit].place.op || "node " + culprit, layers[culprit].guilty ? "first culprit" : "deviates first");
    addCursor(area, x, layers.length, culprit ?? 0, onNode);
  });
}

const cross = (x, y) => `M${x - 4},${y - 4}l8,8m0,-8l-8,8`;

function drawCulprit(area, x, op, title) {
  area.svg.append("line").attr("class", "alarm").attr("x1", x).attr("x2", x).attr("y1", area.top - 4).attr("y2", area.bottom);
  const onRight = x < (area.left + area.right) / 2, room = (onRight ? area.right - x : x - area.left) - 8;
  const label = area.svg.append("text").attr("class", "alarm-label").attr("x", x + (onRight ? 6 : -6)).attr("y", area.top + 6).attr("text-anchor", onRight ? "start" : "end");
  for (let length = Math.min(op.length, 48); length >= 0; --length) {
    label.text(title + (length ? ": " + op.slice(0, length) + (length < op.length ? "…" : "") : ""));
    if (label.node().getComputedTextLength() <= room) break;
  }
}

function addCursor(area, x, count, start, onNode) {
  let current = start;
  const cursor = area.svg.append("line").attr("class", "limit").attr("y1", area.top).attr("y2", area.bottom).attr("visibility", "hidden");
  const show = i => {
    current = Math.max(0, Math.min(count - 1, i));
    cursor.attr("visibility", null).attr("x1", x(current)).attr("x2", x(current));
    onNode(current);
  };
  const hit = area.svg.append("rect").attr("class", "hit").attr("x", area.left).attr("y", area.top).attr("width", area.right - area.left).attr("height", area.bottom - area.top);
  const follow = event => {
    const box = hit.node().getBoundingClientRect();
    show(Math.round(x.invert(area.left + (event.clientX - box.left) / box.width * (area.right - area.left))));
  };
  hit.node().addEventListener("pointermove", follow);
  hit.node().addEventListener("pointerdown", follow);
  area.svg.attr("tabindex", 0).node().addEventListener("keydown", event => {
    const step = {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -count, End: count}[event.key];
    if (step === undefined) return;
    event.preventDefault();
    show(current + step);
  });
}

/// Counts of [class of a, class of b, count] as a heat map; what is off the diagonal is framed.
function drawConfusion(triples, classes, label) {
  return plot((host, width) => {
    const cell = Math.min(36, (Math.min(width, 520) - 52) / classes.length), side = cell * classes.length + 52;
    const area = canvasOf(host, width, side, label, {left: 44, right: 0, top: 44, bottom: 0});
    const place = new Map(classes.map((name, i) => [name, i])), most = d3.max(triples, t => t[2]);
    const share = rows => .15 + .85 * Math.sqrt(rows / most);
    area.svg.append("text").attr("x", 44).attr("y", 12).text("class of b");
    area.svg.append("text").attr("transform", "translate(12,44) rotate(-90)").attr("text-anchor", "end").text("class of a");
    // Labels that would run into one another are left out.
    const wide = Math.ceil((7.5 * d3.max(classes, name => String(name).length) + 5) / cell), high = Math.ceil(14 / cell);
    classes.forEach((name, i) => {
      const middle = 44 + (i + .5) * cell;
      if (i % wide === 0) area.svg.append("text").attr("x", middle).attr("y", 36).attr("text-anchor", "middle").text(name);
      if (i % high === 0) area.svg.append("text").attr("x", 38).attr("y", middle + 4).attr("text-anchor", "end").text(name);
    });
    area.svg.append("rect").attr("x", 44).attr("y", 44).attr("width", cell * classes.length).attr("height", cell * classes.length).attr("fill", "none").attr("stroke", "var(--line)");
    for (const [a, b, rows] of triples) {
      const x = 44 + place.get(b) * cell, y = 44 + place.get(a) * cell, off = a !== b;
      const group = area.svg.append("g");
      group.append("rect").attr("x", x + 1).attr("y", y + 1).attr("width", Math.max(1, cell - 2)).attr("height", Math.max(1, cell - 2))
        .attr("fill", off ? "var(--bad-back)" : "var(--high)").attr("fill-opacity", off ? 1 : share(rows))
        .attr("stroke", off ? "var(--bad)" : "none").attr("stroke-width", 1.5);
      group.append("title").text(`a: ${a}, b: ${b}: ${count(rows)}`);
      if (cell >= 18) {
        const text = group.append("text").attr("x", x + cell / 2).attr("y", y + cell / 2 + 4).attr("text-anchor", "middle").text(count(rows));
        text.style("fill", off ? "var(--bad)" : share(rows) > .55 ? "var(--on-high)" : "var(--ink)").style("font-weight", off ? 600 : 400);
      }
    }
  });
}

const unpacked = lengths => {
  const classes = [];
  for (let i = 0; i < lengths.length; i += 2) for (let k = 0; k < lengths[i + 1]; ++k) classes.push(lengths[i]);
  return classes;
};

/// Colour of a class: neighbours in number are far apart in hue and differ in lightness, too.
const classColour = number => number === 0 ? d3.rgb("#3b4450") : d3.rgb(d3.hcl(number * 137.508 % 360 + 40, 50, [64, 80, 48][number % 3]));

function drawMap(maps, label, colourAt) {
  const canvas = document.createElement("canvas");
  canvas.width = maps.columns;
  canvas.height = maps.rows;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", label);
  const pen = canvas.getContext("2d"), image = pen.createImageData(maps.columns, maps.rows);
  for (let i = 0; i < maps.columns * maps.rows; ++i) image.data.set([...colourAt(i), 255], 4 * i);
  pen.putImageData(image, 0, 0);
  return canvas;
}
