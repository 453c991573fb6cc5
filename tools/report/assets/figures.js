// Plots as SVG: every one is a function of the width it gets, and is drawn anew when that changes.

const figures = new Map();
const observer = new ResizeObserver(entries => entries.forEach(entry => drawFigure(entry.target)));

function drawFigure(host) {
  const width = host.clientWidth, figure = figures.get(host);
  if (!width || !figure || figure.width === width) return;
  figure.width = width;
  host.replaceChildren();
  figure.draw(d3.select(host), width);
}

/// A place that `draw(selection, width)` fills whenever its width changes.
function plot(draw) {
  const host = document.createElement("div");
  host.className = "plot";
  figures.set(host, {draw, width: 0});
  observer.observe(host);
  return host;
}

function canvasOf(host, width, height, label, margin) {
  const svg = host.append("svg").attr("viewBox", `0 0 ${width} ${height}`).attr("role", "img").attr("aria-label", label);
  return {svg, left: margin.left, right: width - margin.right, top: margin.top, bottom: height - margin.bottom};
}

/// Powers of ten inside a logarithmic scale, at most about `most` of them.
function decades(scale, most) {
  const [low, high] = scale.domain();
  const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first + 1) / most));
  return d3.range(first, last + 1).filter(e => (e - first) % step === 0).map(e => 10 ** e);
}

const exponentOf = value => Math.round(Math.log10(value));

function axes(area, x, y, {xTicks, yTicks, xFormat, yFormat, xTitle, yTitle}) {
  const {svg, left, right, top, bottom} = area;
  svg.append("g").attr("class", "grid").attr("transform", `translate(${left},0)`)
    .call(d3.axisLeft(y).tickValues(yTicks).tickSize(left - right).tickFormat(""));
  svg.append("g").attr("class", "axis").attr("transform", `translate(0,${bottom})`)
    .call(d3.axisBottom(x).tickValues(xTicks).tickFormat(xFormat).tickSizeOuter(0));
  svg.append("g").attr("class", "axis").attr("transform", `translate(${left},0)`)
    .call(d3.axisLeft(y).tickValues(yTicks).tickFormat(yFormat).tickSizeOuter(0)).select(".domain").remove();
  svg.append("text").attr("x", right).attr("y", bottom + 36).attr("text-anchor", "end").text(xTitle);
  svg.append("text").attr("x", 0).attr("y", top - 10).text(yTitle);
}

const dots = points => points.map(([x, y]) => `M${x.toFixed(1)},${y.toFixed(1)}h0`).join("");
const line = points => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)},${y.toFixed(1)}`).join("");

/// Rows of [name, samples, hollow]: a box of the middle half, the median, every sample.
function drawTimes(rows, label) {
  return plot((host, width) => {
    const narrow = width < 640, step = narrow ? 58 : 40, left = narrow ? 8 : 210;
    const area = canvasOf(host, width, rows.length * step + 58, label, {left, right: 16, top: 8, bottom: 46});
    const all = rows.flatMap(row => row[1]), logarithmic = d3.max(all) / d3.min(all) > 8;
    const x = (logarithmic ? d3.scaleLog().domain([d3.min(all) * .8, d3.max(all) * 1.25]) : d3.scaleLinear().domain([0, d3.max(all) * 1.05]))
      .range([area.left, area.right]);
    let ticks = x.ticks(narrow ? 4 : 8);
    if (logarithmic) ticks = ticks.filter(v => [1, 2, 5].some(m => Math.abs(v / 10 ** Math.floor(Math.log10(v) + 1e-9) - m) < 1e-6));
    if (ticks.length > width / 60) ticks = decades(x, 8);
    area.svg.append("g").attr("class", "grid").attr("transform", `translate(0,${area.bottom})`)
      .call(d3.axisBottom(x).tickValues(ticks).tickSize(area.top - area.bottom).tickFormat(""));
    area.svg.append("g").attr("class", "axis").attr("transform", `translate(0,${area.bottom})`)
      .call(d3.axisBottom(x).tickValues(ticks).tickFormat(seconds).tickSizeOuter(0));
    area.svg.append("text").attr("x", area.right).attr("y", area.bottom + 38).attr("text-anchor", "end").text(logarithmic ? "time of a run, logarithmic" : "time of a run");
    rows.forEach(([name, samples, hollow], i) => {
      const y = area.top + i * step + (narrow ? 40 : step / 2), sorted = [...samples].sort(d3.ascending);
      area.svg.append("text").attr("class", "label").attr("x", narrow ? area.left : left - 16).attr("y", narrow ? y - 19 : y + 4)
        .attr("text-anchor", narrow ? "start" : "end").text(name.length > 30 ? name.slice(0, 14) + "…" + name.slice(-14) : name);
      if (samples.length > 3) {
        const [low, high] = [.25, .75].map(q => x(d3.quantile(sorted, q)));
        area.svg.append("rect").attr("class", "box").attr("x", low).attr("width", Math.max(1.5, high - low)).attr("y", y - 9).attr("height", 18).attr("rx", 2);
      }
      // Samples are spread up and down by their number, so that equal ones are seen.
      const scattered = samples.map((v, k) => [x(v), y + (samples.length > 1 ? (k * 7 % 13 - 6) * .9 : 0)]);
      if (hollow)
        area.svg.append("g").selectAll("circle").data(scattered).enter().append("circle").attr("class", "second").attr("cx", p => p[0]).attr("cy", p => p[1]).attr("r", 2.4);
      else
        area.svg.append("path").attr("class", "mark").attr("stroke-width", 5).attr("stroke-opacity", .55).attr("d", dots(scattered));
      const median = x(d3.median(samples));
      area.svg.append("line").attr("class", hollow ? "second" : "mark").attr("stroke-width", 2.5).attr("x1", median).attr("x2", median).attr("y1", y - 12).attr("y2", y + 12);
    });
  });
}
