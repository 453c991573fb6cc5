#include "tests/report/samples.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

namespace onnxkit::tests {
namespace {

/// Random numbers that are the same with every standard library.
class Noise {
 public:
  explicit Noise(std::uint32_t seed) : engine_(seed) {}
  double uniform() { return static_cast<double>(engine_()) / 4294967296.0; }
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }

 private:
  std::mt19937 engine_;
};

SideReport side(std::string label, std::string version, std::string device) {
  SideReport report;
  report.backend = label;
  report.label = std::move(label);
  report.version = std::move(version);
  report.device = std::move(device);
  report.model = "models/digits.onnx";
  return report;
}

void add_runs(SideReport& report, double wall, int count, Noise& noise) {
  report.load_seconds = 20 * wall;
  for (int i = 0; i < count; ++i) {
    const double seconds = wall * (1 + 0.04 * std::abs(noise.normal()) + (noise.uniform() < 0.08 ? 0.35 : 0.0));
    report.runs.push_back({seconds, seconds * (1.9 + 0.1 * noise.uniform())});
  }
}

void add_to_histogram(Scatter& scatter, double d) {
  constexpr int bins = 48;
  scatter.lowest_exponent = -10;
  scatter.histogram.resize(bins);
  if (d == 0) {
    ++scatter.zeros;
    return;
  }
  const auto bin = static_cast<int>(std::floor(4 * (std::log10(std::abs(d)) + 10)));
  ++scatter.histogram[static_cast<std::size_t>(std::clamp(bin, 0, bins - 1))];
}

/// An output of `elements` values around 0 whose b is alpha a + beta + spread * noise; every `sparse`th element differs at all.
OutputDiff output(std::string name, std::string type, std::uint64_t elements, double alpha, double beta, double spread,
                  Noise& noise, int sparse = 1) {
  OutputDiff diff;
  diff.name = std::move(name);
  diff.type = std::move(type);
  diff.set = "generated, seed 0";
  Metrics metrics;
  metrics.elements = metrics.compared = elements;
  std::vector<WorstElement> worst;
  double square = 0, largest_a = 0;
  for (std::uint64_t i = 0; i < elements; ++i) {
    const double a = 3 * noise.normal();
    const bool differs = i % static_cast<std::uint64_t>(sparse) == 0 && (spread != 0 || alpha != 1 || beta != 0);
    const double b = differs ? alpha * a + beta + spread * noise.normal() : a;
    const double d = b - a;
    if (diff.scatter.a.size() < 2000) {
      diff.scatter.a.push_back(a);
      diff.scatter.b.push_back(b);
    }
    add_to_histogram(diff.scatter, d);
    metrics.equal += d == 0;
    metrics.sign_flips += a * b < 0;
    metrics.max_absolute = std::max(metrics.max_absolute, std::abs(d));
    metrics.mean_absolute += std::abs(d) / static_cast<double>(elements);
    square += d * d / static_cast<double>(elements);
    largest_a = std::max(largest_a, std::abs(a));
    if (d != 0) worst.push_back({i, a, b});
  }
  std::sort(worst.begin(), worst.end(),
            [](const WorstElement& x, const WorstElement& y) { return std::abs(x.b - x.a) > std::abs(y.b - y.a); });
  if (worst.size() > 10) worst.resize(10);
  metrics.worst = std::move(worst);
  metrics.rmse = std::sqrt(square);
  metrics.range_relative = metrics.max_absolute / (2 * largest_a);
  metrics.max_relative = metrics.range_relative * 40;
  metrics.mean_relative = metrics.mean_absolute / 3;
  metrics.max_ulps = std::round(metrics.max_absolute * 4e6);
  metrics.mean_ulps = metrics.max_ulps / 9;
  metrics.cosine = 1 - square / 18;
  metrics.alpha = alpha;
  metrics.beta = beta;
  metrics.r2 = 1 - square / 9;
  metrics.residual = spread;
  diff.metrics = std::move(metrics);
  diff.verdict = Verdict::identical;
  return diff;
}

void set_verdict(OutputDiff& diff, Verdict verdict, std::optional<Profile> profile, double sigma) {
  diff.verdict = verdict;
  diff.profile = profile;
  constexpr std::array<double, all_profiles.size()> scale = {1, 10, 600, 700, 5000, 30000, 40000};
  for (std::size_t i = 0; i < all_profiles.size(); ++i) {
    const double rms = sigma / scale[i];
    const std::uint64_t elements = diff.metrics ? diff.metrics->elements : 0;
    diff.floors.push_back({all_profiles[i], rms, 3.4 * rms, profile == all_profiles[i], elements});
    if (profile == all_profiles[i]) break;
  }
}

SideReport reference(Noise& noise) {
  SideReport report = side("reference", "0.1.0", "CPU, 2 threads");
  add_runs(report, 0.184, 9, noise);
  return report;
}

DiffReport healthy() {
  Noise noise(1);
  DiffReport report;
  report.sets = {"generated, seed 0"};
  report.floor_seconds = 1.31;
  report.compared = true;
  report.sides.push_back(reference(noise));

  SideReport runtime = side("onnxruntime", "1.31.1", "CPUExecutionProvider");
  runtime.options = {{"optimization", "all"}, {"threads", "2"}};
  add_runs(runtime, 0.0123, 30, noise);
  runtime.outputs = {output("class", "int64[8]", 8, 1, 0, 0, noise),
                     output("pooled", "float[8, 512]", 4096, 1, 0, 0, noise),
                     output("logits", "float[8, 10]", 80, 1, 0, 2e-7, noise)};
  set_verdict(runtime.outputs[2], Verdict::rounding, Profile::float32, 0.94);
  onnxkit::Outcome& outcome = runtime.outputs[2].outcome;
  outcome.task = "logits";
  outcome.figures = {{"argmax agreement", 1},
                     {"top-5 agreement", 1},
                     {"mean KL divergence", 2.1e-14},
                     {"largest KL divergence", 8e-14}};
  outcome.confusion = {{0, 0, 1}, {2, 2, 2}, {7, 7, 4}, {9, 9, 1}};
  runtime.verdict = Verdict::rounding;
  report.sides.push_back(std::move(runtime));

  SideReport vino = side("openvino", "2026.4.1", "CPU");
  vino.options = {{"precision", "bf16"}};
  add_runs(vino, 0.0087, 30, noise);
  vino.outputs = {output("class", "int64[8]", 8, 1, 0, 0, noise),
                  output("pooled", "float[8, 512]", 4096, 1, 0, 3e-3, noise),
                  output("logits", "float[8, 10]", 80, 1, 0, 4e-3, noise)};
  set_verdict(vino.outputs[1], Verdict::rounding, Profile::bfloat16, 5400);
  set_verdict(vino.outputs[2], Verdict::rounding, Profile::bfloat16, 6100);
  vino.outputs[2].outcome = report.sides[1].outputs[2].outcome;
  vino.verdict = report.verdict = Verdict::rounding;
  report.sides.push_back(std::move(vino));
  return report;
}

std::vector<LayerDiff> layers(std::size_t count, std::size_t culprit, Noise& noise) {
  constexpr const char* ops[] = {"Conv", "BatchNormalization", "Relu", "Conv", "Add", "MaxPool"};
  std::vector<LayerDiff> list;
  double total = 0.3;
  for (std::size_t i = 0; i < count; ++i) {
    LayerDiff layer;
    layer.value = "/features/" + std::to_string(i / 6) + "/" + ops[i % 6] + "_output_0";
    layer.location.scope = {"main"};
    layer.location.node = i;
    layer.location.op = ops[i % 6];
    layer.location.node_name = "/features/" + std::to_string(i / 6) + "/" + ops[i % 6];
    layer.type = "float[8, 64, 28, 28]";
    const double own = i == culprit ? 410 : 0.5 + 0.6 * noise.uniform();
    total = i == culprit ? 390 : std::max(0.4, total * (0.9 + 0.17 * noise.uniform()));
    layer.own = FloorMeasure{Profile::float32, own, 3.1 * own, own <= 2};
    layer.total = FloorMeasure{Profile::float32, total, 3.6 * total, total <= 2};
    const double inherited = i == culprit ? 0.4 : 0.97 * total;
    layer.inherited = FloorMeasure{Profile::float32, inherited, 3.5 * inherited, inherited <= 2};
    layer.is_culprit = i == culprit;
    layer.subgraph = Subgraph{{i == 0 ? "image" : list.back().value}, {layer.location}, {layer.location}};
    layer.verdict = total > 2 ? Verdict::not_rounding : i % 6 == 2 && i < 6 ? Verdict::identical : Verdict::rounding;
    layer.metrics.elements = 401408;
    layer.metrics.max_absolute = 1e-6 * total;
    layer.metrics.range_relative = 2e-7 * total;
    list.push_back(std::move(layer));
  }
  return list;
}

DiffReport culprit() {
  Noise noise(2);
  DiffReport report;
  report.sets = {"testdata/digits/test_data_set_0"};
  report.floor_seconds = 3.9;
  report.compared = true;
  report.sides.push_back(reference(noise));
  SideReport torch = side("after", "2.13.0", "cpu");
  torch.backend = "torch";
  torch.model = "models/digits_simplified.pt2";
  torch.options = {{"tf32", "off"}};
  torch.warnings = {"the model was traced with a batch of 1; dynamic axes come from the file"};
  add_runs(torch, 0.0156, 12, noise);
  torch.outputs = {output("logits", "float[8, 10]", 80, 1.013, 0.02, 0.4, noise),
                   output("features", "float[8, 512]", 4096, 1.01, 0, 0.05, noise)};
  set_verdict(torch.outputs[0], Verdict::not_rounding, {}, 180000);
  set_verdict(torch.outputs[1], Verdict::not_rounding, {}, 90000);
  torch.outputs[0].why = "24 times what int8 rounding can do";
  onnxkit::Outcome& outcome = torch.outputs[0].outcome;
  outcome.task = "logits";
  outcome.same = false;
  outcome.figures = {{"argmax agreement", 0.625},
                     {"top-5 agreement", 0.75},
                     {"mean KL divergence", 0.31},
                     {"largest KL divergence", 1.9}};
  outcome.confusion = {{0, 0, 1}, {2, 2, 2}, {3, 8, 1}, {7, 1, 1}, {7, 7, 2}, {9, 4, 1}};
  torch.layers = layers(84, 37, noise);
  torch.first_culprit = 37;
  LayerDiff& second = torch.layers[60];  // of a subgraph that names do not divide
  second.own = FloorMeasure{Profile::float32, 12, 55, false};
  second.is_culprit = true;
  second.subgraph->nodes.insert(second.subgraph->nodes.begin(), torch.layers[59].location);
  Location fused = second.location;
  fused.op = "com.microsoft::FusedConv";
  fused.node_name = "fused<b>";
  second.subgraph->side_nodes = {fused};
  torch.not_looked_at = 3;
  torch.verdict = report.verdict = Verdict::not_rounding;
  report.sides.push_back(std::move(torch));
  return report;
}

/// Thirty sets of inputs, eight of which differ by more than rounding: more than a page has plots of.
DiffReport sets() {
  Noise noise(6);
  DiffReport report;
  report.floor_seconds = 2.2;
  report.compared = true;
  report.sides.push_back(reference(noise));
  SideReport runtime = side("int8", "1.31.1", "CPUExecutionProvider");
  runtime.backend = "onnxruntime";
  add_runs(runtime, 0.0041, 60, noise);
  for (std::uint64_t i = 0; i < 30; ++i) {
    report.sets.push_back("images/" + std::to_string(i));
    const bool bad = i % 4 == 1;
    OutputDiff logits = output("logits", "float[4, 10]", 40, 1, 0, bad ? 1.5 : 0.02, noise);
    logits.set = report.sets.back();
    set_verdict(logits, bad ? Verdict::not_rounding : Verdict::rounding,
                bad ? std::nullopt : std::optional(Profile::int8), bad ? 600000 : 30000 + 900 * static_cast<double>(i));
    if (bad) logits.why = "beyond int8 rounding";
    logits.outcome.task = "logits";
    logits.outcome.same = !bad;
    logits.outcome.figures = {{"argmax agreement", bad ? 0.75 : 1}, {"largest KL divergence", bad ? 0.9 : 0.01}};
    logits.outcome.confusion = {{i % 10, i % 10, 2}, {(i + 3) % 10, (i + 3) % 10, 1}, {7, bad ? 1u : 7u, 1}};
    runtime.outputs.push_back(std::move(logits));
  }
  runtime.verdict = report.verdict = Verdict::not_rounding;
  report.sides.push_back(std::move(runtime));
  return report;
}

DiffReport failure() {
  Noise noise(3);
  DiffReport report;
  report.sets = {"images/cat", "images/dog"};
  report.floor_seconds = 0.8;
  report.compared = true;
  report.sides.push_back(reference(noise));

  SideReport vino = side("openvino", "2026.4.1", "CPU");
  vino.failed_at = "load";
  vino.failure =
      make_error(ErrorKind::backend, "worker-exception", "the backend has no implementation of GridSample of opset 20");
  vino.failure->diagnostic.notes = {"raised by openvino.Core.compile_model"};
  vino.failure->diagnostic.help = "convert the model to opset 16 first";
  vino.log =
      "openvino 2026.4.1\rreading model ...\nTraceback (most recent call last):\n  File \"openvino_worker.py\", line "
      "61, in load\n"
      "    self.compiled = core.compile_model(model, device)\nRuntimeError: Check 'unsupported_ops.empty()' failed at "
      "src/frontends/onnx/frontend/src/frontend.cpp:214:\nFrontEnd API failed with OpConversionFailure: "
      "GridSample-20\n\x1b[31mabort\x1b[0m\n";
  report.sides.push_back(std::move(vino));

  SideReport tflite = side("tflite", "2.1.0", "XNNPACK");
  tflite.failed_at = "run";
  tflite.failure = make_error(ErrorKind::backend, "worker-died",
                              "the worker was ended by signal 11 (SIGSEGV) in set \"images/dog\"");
  tflite.log = "INFO: Created TensorFlow Lite XNNPACK delegate for CPU.\n";
  add_runs(tflite, 0.021, 1, noise);
  tflite.outputs = {output("y", "float[1, 256]", 256, 1, 0, 1e-7, noise)};
  tflite.outputs[0].set = "images/cat";
  set_verdict(tflite.outputs[0], Verdict::rounding, Profile::float32, 1.2);
  tflite.verdict = report.verdict = Verdict::rounding;
  report.sides.push_back(std::move(tflite));
  return report;
}

/// Blobs of four classes; `shift` moves them.
std::vector<std::uint16_t> blobs(std::int64_t height, std::int64_t width, double shift) {
  std::vector<std::uint16_t> classes;
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      const double u = static_cast<double>(x) / static_cast<double>(width),
                   v = static_cast<double>(y) / static_cast<double>(height);
      std::uint16_t found = v > 0.78 + 0.05 * std::sin(9 * u + 30 * shift) ? 3 : 0;
      if (std::hypot(u - 0.32 - shift, (v - 0.45) * 0.8) < 0.2) found = 1;
      if (std::hypot(u - 0.7, (v - 0.5 - shift) * 0.8) < 0.16) found = 7;
      if (std::hypot(u - 0.74, v - 0.42) < 0.05) found = 12;
      classes.push_back(found);
    }
  }
  return classes;
}

DiffReport segmentation() {
  Noise noise(4);
  DiffReport report;
  report.sets = {"street.png", "park.png"};
  report.floor_seconds = 12.5;
  report.compared = true;
  report.sides.push_back(reference(noise));
  SideReport runtime = side("onnxruntime", "1.31.1", "CPUExecutionProvider");
  add_runs(runtime, 0.31, 10, noise);
  for (const bool differs : {true, false}) {
    OutputDiff masks =
        output("masks", "float[1, 21, 480, 640]", 6000, 1, 0, differs ? 0.3 : 1e-6, noise, differs ? 7 : 1);
    masks.set = differs ? "street.png" : "park.png";
    masks.metrics->elements = masks.metrics->compared = 6451200;
    set_verdict(masks, differs ? Verdict::not_rounding : Verdict::rounding,
                differs ? std::nullopt : std::optional(Profile::float32), differs ? 210000 : 0.8);
    if (differs)
      masks.why =
          "1.2 % of the elements are off by up to 1.4, in rows 201 to 330; it looks like half_pixel against asymmetric";
    masks.outcome.task = "segmentation";
    masks.outcome.same = !differs;
    masks.outcome.figures = {{"pixel agreement", differs ? 0.9692 : 1},
                             {"mean IoU", differs ? 0.931 : 1},
                             {"lowest IoU of a class", differs ? 0.81 : 1}};
    masks.outcome.class_iou.assign(21, -1);
    for (const std::size_t i : {0, 1, 3, 7, 12})
      masks.outcome.class_iou[i] = differs ? 0.99 - 0.015 * static_cast<double>(i) : 1;
    ClassMaps maps;
    maps.height = 480;
    maps.width = 640;
    maps.a = blobs(480, 640, 0);
    maps.b = blobs(480, 640, differs ? 0.012 : 0);
    masks.maps = std::move(maps);
    runtime.outputs.push_back(std::move(masks));
  }
  runtime.verdict = report.verdict = Verdict::not_rounding;
  report.sides.push_back(std::move(runtime));
  return report;
}

DiffReport odd() {
  Noise noise(5);
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  DiffReport report;
  report.sets = {"generated, seed 0"};
  report.floor_note = "the model calls com.acme::Blur, which the reference does not know";
  report.compared = true;
  SideReport recorded = side("recorded", "", "");
  report.sides.push_back(recorded);
  SideReport torch = side("torch", "2.13.0", "cpu");
  OutputDiff words;
  words.name = "words";
  words.type = "string[2, 3]";
  words.verdict = Verdict::mismatch;
  words.why = "2 of 6 strings differ: element 4 is \"caf\xc3\xa9\", expected \"cafe\"";
  OutputDiff shapes;
  shapes.name = "boxes[0]";
  shapes.type = "float[12, 4]";
  shapes.verdict = Verdict::mismatch;
  shapes.why = "the shape is [11, 4], expected [12, 4]";
  OutputDiff infinite = output("scores", "float16[40]", 40, 1, 0, 1e-3, noise);
  infinite.verdict = Verdict::not_compared;
  infinite.metrics->nan_mismatches = 1;
  infinite.metrics->inf_mismatches = 1;
  infinite.metrics->compared = 38;
  infinite.metrics->worst.insert(infinite.metrics->worst.begin(), {{3, nan, 1.5}, {17, -inf, 65504}});
  OutputDiff flips = output("kept", "int64[12]", 12, 1, 1, 0, noise, 6);
  flips.verdict = Verdict::undecidable;
  flips.flips = 2;
  flips.outcome.task = "tokens";
  flips.outcome.same = false;
  flips.outcome.figures = {{"token agreement", 0.833}, {"sequence agreement", 0}, {"first difference", 0}};
  OutputDiff bounded = output("depth", "float[1, 64]", 64, 1, 0, 2e-3, noise);
  bounded.verdict = Verdict::within;
  OutputDiff empty = output("nothing", "float[0, 4]", 0, 1, 0, 0, noise);
  empty.metrics->range_relative = empty.metrics->max_relative = 0;
  torch.outputs = {words, shapes, infinite, flips, bounded, empty};
  for (OutputDiff& diff : torch.outputs) diff.set = report.sets[0];
  torch.runs = {{0.0421, {}}};
  torch.verdict = report.verdict = Verdict::mismatch;
  report.sides.push_back(std::move(torch));
  return report;
}

DiffReport nothing() {
  DiffReport report;
  report.sets = {"generated, seed 0"};
  SideReport first = side("reference", "0.1.0", "CPU");
  report.sides.push_back(first);
  SideReport gone = side("tensorrt", "", "");
  gone.failed_at = "start";
  gone.failure = make_error("worker-unavailable", "not available: no module named tensorrt");
  report.sides.push_back(std::move(gone));
  return report;
}

DiffReport hostile() {
  DiffReport report = culprit();
  const std::string evil = "</script><img src=x onerror=\"window.hit=1\">";
  SideReport& bad = report.sides[1];
  report.sets[0] = "<!-- <script>" + evil;
  bad.label = evil + " 'label' \xe2\x80\xae desrever";
  bad.backend = "<b>backend</b>";
  bad.version = "1.0\x1b[2J\x1b]0;title\x07";
  bad.device = "caf\xe9 \xff\xfe";
  bad.model = "javascript:alert(1)";
  bad.options = {{"__proto__", evil}, {"constructor", "]]>"}};
  bad.warnings = {evil, std::string("nul \0 inside", 12)};
  bad.outputs[0].name = evil + std::string(300, 'y');
  bad.outputs[0].set = report.sets[0];
  bad.outputs[0].why = "\xe2\x80\xa8line separator & &amp; \\ \" ' `${1+1}`";
  bad.outputs[1].name = std::string(1, '\0') + "\n\r\t";
  bad.outputs[0].outcome.figures.push_back({"__proto__", 1});
  bad.layers[37].value = evil;
  bad.layers[37].location.node_name = evil;
  bad.layers[37].location.op = "com.acme::<svg/onload=window.hit=1>";
  bad.layers[37].location.scope = {"main", evil};
  bad.failed_at = "run";
  bad.failure = make_error(ErrorKind::backend, "worker-died", evil);
  bad.log = evil + "\n\x1b[31mred\x1b[0m\n<!--<script>\n";
  return report;
}

}  // namespace

std::vector<Sample> sample_reports() {
  return {{"healthy", healthy()}, {"culprit", culprit()},           {"sets", sets()},
          {"failure", failure()}, {"segmentation", segmentation()}, {"odd", odd()},
          {"nothing", nothing()}, {"hostile", hostile()},           {"empty", {}}};
}

}  // namespace onnxkit::tests
