// Plots of the page of bench (figures.js).

const strokes = ["mark", "second", "alarm"];

/// Powers of two inside a logarithmic scale.
const doublings = scale => d3.range(Math.ceil(Math.log2(scale.domain()[0]) - 1e-9), Math.floor(Math.log2(scale.domain()[1]) + 1e-9) + 1).map(e => 2 ** e);

/// Series of {name, points: [[batch, median, low, high]]}: a line each, with the interval of every median.
function drawBatches(series, label) {
  return plot((host, width) => {
    const area = canvasOf(host, width, 320, label, {left: 64, right: 14, top: 30, bottom: 46});
    const points = series.flatMap(one => one.points), ys = points.flatMap(p => p.slice(1));
    const x = d3.scaleLog([d3.min(points, p => p[0]) / 1.2, d3.max(points, p => p[0]) * 1.2], [area.left, area.right]);
    const y = d3.scaleLog([d3.min(ys) * .8, d3.max(ys) * 1.25], [area.bottom, area.top]);
    const batches = [...new Set(points.map(p => p[0]))].sort(d3.ascending);
    let ticks = y.ticks(6).filter(v => [1, 2, 5].some(m => Math.abs(v / 10 ** Math.floor(Math.log10(v) + 1e-9) - m) < 1e-6));
    if (ticks.length > 10) ticks = decades(y, 8);
    axes(area, x, y, {xTicks: batches.length > 10 ? doublings(x) : batches, yTicks: ticks, xFormat: count, yFormat: seconds, xTitle: "batch", yTitle: "median time of a run"});
    series.forEach((one, i) => {
      const kind = strokes[i % strokes.length], at = one.points.map(p => [x(p[0]), y(p[1])]);
      const drawn = area.svg.append("path").attr("class", kind).attr("stroke-width", 2).attr("d", line(at));
      if (i >= strokes.length) drawn.attr("stroke-dasharray", `${2 * Math.floor(i / strokes.length) + 2} 4`);
      area.svg.append("path").attr("class", kind).attr("stroke-width", 7).attr("d", dots(at));
      area.svg.append("path").attr("class", kind).attr("stroke-width", 1.5).attr("d", one.points.map(p => `M${x(p[0]).toFixed(1)},${y(p[2]).toFixed(1)}V${y(p[3]).toFixed(1)}`).join(""));
    });
  });
}

/// Rows of [operator, seconds, seconds at the machine's peak or NaN]: what is taken, and within it what is needed.
function drawOperators(rows, label) {
  return plot((host, width) => {
    const narrow = width < 560, step = narrow ? 44 : 28, left = narrow ? 8 : 190;
    const area = canvasOf(host, width, rows.length * step + 54, label, {left, right: 16, top: 8, bottom: 46});
    const x = d3.scaleLinear([0, d3.max(rows, row => row[1]) * 1.02], [area.left, area.right]);
    const ticks = x.ticks(narrow ? 3 : 7);
    area.svg.append("g").attr("class", "grid").attr("transform", `translate(0,${area.bottom})`)
      .call(d3.axisBottom(x).tickValues(ticks).tickSize(area.top - area.bottom).tickFormat(""));
    area.svg.append("g").attr("class", "axis").attr("transform", `translate(0,${area.bottom})`)
      .call(d3.axisBottom(x).tickValues(ticks).tickFormat(seconds).tickSizeOuter(0));
    area.svg.append("text").attr("x", area.right).attr("y", area.bottom + 38).attr("text-anchor", "end").text("time in one run");
    rows.forEach(([name, taken, floor], i) => {
      const y = area.top + i * step + (narrow ? 30 : step / 2);
      area.svg.append("text").attr("class", "label").attr("x", narrow ? area.left : left - 12).attr("y", narrow ? y - 12 : y + 4)
        .attr("text-anchor", narrow ? "start" : "end").text(name.length > 26 ? name.slice(0, 12) + "…" + name.slice(-12) : name);
      area.svg.append("rect").attr("class", "box").attr("x", x(0)).attr("y", y - 8).attr("height", 16).attr("width", Math.max(1, x(taken) - x(0)));
      if (floor > 0) area.svg.append("rect").attr("class", "bar").attr("x", x(0)).attr("y", y - 8).attr("height", 16).attr("width", Math.max(1, x(Math.min(floor, taken)) - x(0)));
    });
  });
}

/// Points of {operations, bytes, seconds, name} below the roof of a machine.
function drawRoof(points, roof, label) {
  return plot((host, width) => {
    const area = canvasOf(host, width, 320, label, {left: 64, right: 14, top: 30, bottom: 46});
    const ridge = roof.operations_per_second / roof.bytes_per_second;
    const at = points.map(p => [p.operations / p.bytes, p.operations / p.seconds * 1e-9]);
    const xs = d3.extent([...at.map(p => p[0]), ridge]), ys = d3.extent([...at.map(p => p[1]), roof.operations_per_second * 1e-9]);
    const x = d3.scaleLog([xs[0] / 1.5, xs[1] * 4], [area.left, area.right]), y = d3.scaleLog([ys[0] / 1.5, ys[1] * 2], [area.bottom, area.top]);
    axes(area, x, y, {xTicks: decades(x, width / 70), yTicks: decades(y, 7), xFormat: v => power(exponentOf(v)), yFormat: v => power(exponentOf(v)),
      xTitle: "operations for each byte", yTitle: "GFLOP/s reached"});
    const top = v => Math.min(roof.operations_per_second, v * roof.bytes_per_second) * 1e-9;
    const clip = `roof${roofs++}`;
    area.svg.append("clipPath").attr("id", clip).append("rect").attr("x", area.left).attr("y", area.top).attr("width", area.right - area.left).attr("height", area.bottom - area.top);
    const inner = area.svg.append("g").attr("clip-path", `url(#${clip})`);
    inner.append("path").attr("class", "second").attr("stroke-width", 1.8).attr("d", line([x.domain()[0], ridge, x.domain()[1]].map(v => [x(v), y(top(v))])));
    const longest = d3.max(points, p => p.seconds);
    inner.selectAll("circle").data(points).enter().append("circle").attr("class", "box").attr("fill-opacity", .6)
      .attr("cx", (_, i) => x(at[i][0])).attr("cy", (_, i) => y(at[i][1])).attr("r", p => 2.5 + 9 * Math.sqrt(p.seconds / longest))
      .append("title").text(p => `${visible(p.name)}: ${seconds(p.seconds)}, ${amount(p.operations / p.seconds * 1e-9)} GFLOP/s, ${amount(p.bytes / p.seconds * 1e-9)} GB/s`);
  });
}
let roofs = 0;
