#include "tests/report/bench_samples.h"

#include <random>
#include <utility>

namespace onnxkit::tests {
namespace {

using tools::Benchmark;

BenchSideReport bench_side(std::string label, double wall, std::uint32_t seed) {
  std::mt19937 random(seed);
  BenchSideReport side;
  side.backend = label;
  side.label = std::move(label);
  side.version = "Runtime 1.2";
  side.device = "cpu";
  side.arithmetic = "float32";
  side.model = "models/digits.onnx";
  side.options = {{"threads", "1"}};
  side.load_seconds = 20 * wall;
  side.first_seconds = 3 * wall;
  side.warmups = 12;
  side.stationary = true;
  side.peak_bytes = std::uint64_t{150} << 20;
  for (int round = 0; round < 20; ++round) {
    BenchRound& runs = side.rounds.emplace_back();
    for (int run = 0; run < 3; ++run) {
      const double noise = static_cast<double>(random() % 1000) / 1000;
      runs.push_back({wall * (1 + 0.05 * noise + (noise > 0.95 ? 0.4 : 0.0)), 1.5 * wall});
    }
  }
  side.verdict = Verdict::rounding;
  return side;
}

/// The second side is set beside the first, as a measurement does it.
Benchmark benchmark(std::string model, std::vector<BenchSideReport> sides, std::optional<std::int64_t> batch = {},
                    std::optional<std::int64_t> threads = {}) {
  Benchmark made{std::move(model), batch, threads, {}};
  BenchReport& report = made.report;
  report.processor = "Processor 3000";
  report.processors = 2;
  report.memory_bytes = std::uint64_t{24} << 30;
  report.inputs = "generated";
  report.input_types = {{"picture", "float[1, 3, 28, 28]"}};
  report.seconds = 4.5;
  report.reached_goal = true;
  for (std::size_t i = 0; i < sides.size(); ++i)
    summarize(sides[i], i == 0 ? std::vector<BenchRound>() : sides[0].rounds, 0);
  report.sides = std::move(sides);
  return made;
}

BenchStep bench_step(std::string name, std::string op, double start, double seconds, std::optional<double> operations,
                     std::optional<double> bytes) {
  BenchStep step;
  step.nodes = {name, "node of " + name};
  step.name = std::move(name);
  step.op = std::move(op);
  step.start = start;
  step.seconds = step.last = seconds;
  step.operations = operations;
  step.bytes = bytes;
  if (operations && bytes) step.floor = std::max(*operations / 1e11, *bytes / 1e10);
  return step;
}

BenchProfile bench_profile() {
  BenchProfile profile;
  profile.seconds = 0.004;
  profile.runs = 7;
  profile.device = "cpu";
  profile.roof = {1e11, 1e10, 1};
  profile.steps = {
      bench_step("conv1", "Conv", 1e-5, 2e-3, 1e8, 4e6), bench_step("conv2", "Conv", 2.1e-3, 1e-3, 5e7, 2e6),
      bench_step("reorder", "Reorder", 3.1e-3, 1e-4, {}, {}), bench_step("pool", "MaxPool", 3.3e-3, 2e-4, 0, 1e6)};
  profile.steps.back().calls = 4;
  return profile;
}

/// Its steps read from caches, so they are faster than the peak of the memory allows; the processor's is beyond a thousand GFLOP/s.
BenchProfile cached_profile() {
  BenchProfile profile = bench_profile();
  profile.seconds = 3.5e-5;
  profile.roof = {1.234e12, 1e10, 16};
  profile.steps = {bench_step("product", "MatMul", 1e-6, 1e-5, 1.2e7, 4e5),
                   bench_step("sum", "Add", 1.2e-5, 2e-5, 1000, 9e5)};
  return profile;
}

BenchStep called_often(BenchStep step, std::uint64_t calls) {
  step.calls = calls;
  step.nodes.clear();
  return step;
}

/// A branch with a loop in it, a loop with a branch in it that another turn takes, and sums that nothing holds; in the order in which they ended.
BenchProfile nested_profile() {
  BenchProfile profile = bench_profile();
  profile.seconds = 0.034;
  profile.steps = {bench_step("first", "Conv", 1e-5, 2e-4, 1e8, 4e6),
                   called_often(bench_step("product", "MatMul", 2.3e-4, 6e-4, {}, 5e5), 50),
                   called_often(bench_step("tanh", "Tanh", 2.4e-4, 3e-4, {}, 5e4), 50),
                   bench_step("inner", "Loop", 2.25e-4, 1e-5, 0, 1e3),
                   bench_step("chosen", "If", 2.2e-4, 1.3e-6, 0, 1e3),
                   called_often(bench_step("often", "Relu", 1.2e-3, 4e-4, {}, 1e4), 9),
                   called_often(bench_step("choice", "If", 1.19e-3, 2e-5, {}, 10), 10),
                   called_often(bench_step("late", "Neg", 1.5e-3, 1e-4, {}, 1e4), 1),
                   bench_step("outer", "Scan", 1.18e-3, 3e-5, 0, 1e3),
                   called_often(bench_step("sum", "Add", 1.9e-3, 5e-4, {}, 1e4), 3),
                   called_often(bench_step("another", "Sub", 2e-3, 5e-4, {}, 1e4), 3),
                   bench_step("short", "Reshape", 2.9e-3, 0, 0, 8),
                   bench_step("last", "Conv", 2.9e-3, 2e-4, 1e8, 4e6)};
  return profile;
}

BenchSideReport failed_side(std::string label) {
  BenchSideReport side;
  side.backend = label;
  side.label = std::move(label);
  side.failed_at = "load";
  side.failure = make_error("not-supported", "the operator Foo is not supported");
  return side;
}

std::vector<Benchmark> hostile() {
  const std::string name = "</script><script>window.hit = 1</script><!-- \x1b[31m\u202e\"'`${hit} /*DATA*/ |";
  BenchSideReport side = bench_side(name, 0.002, 5);
  side.version = side.device = side.arithmetic = side.model = side.why = name;
  side.options = {{name, name}};
  side.verdict = Verdict::not_rounding;
  side.profile = bench_profile();
  for (BenchStep& step : side.profile->steps) {
    step.name = step.op = name;
    step.nodes = {name, name};
  }
  BenchSideReport failed = failed_side(name + "2");
  failed.failure = make_error("not-supported", name);
  BenchSideReport unprofiled = bench_side(name + "3", 0.002, 6);
  unprofiled.unprofiled = name;
  Benchmark made = benchmark(name, {side, failed, unprofiled}, 3, 2);
  made.report.inputs = made.report.processor = name;
  made.report.input_types.resize(5, {name, name});
  made.report.warnings = {name};
  return {made, made};
}

/// One side on a GPU, one on the host.
Benchmark on_device() {
  BenchSideReport side = bench_side("cuda", 0.002, 7);
  side.device = "gpu:0";
  side.device_bytes = std::uint64_t{420} << 20;
  side.peak_bytes.reset();
  side.grown_bytes = std::uint64_t{96} << 20;
  for (BenchRound& round : side.rounds)
    for (RunTime& run : round) run.device = 0.75 * run.wall;
  return benchmark("models/digits.onnx", {bench_side("onnxruntime", 0.004, 8), side});
}

/// The first side failed, the fastest is wrong, and another model cannot be read.
std::vector<Benchmark> failures() {
  BenchSideReport wrong = bench_side("openvino", 0.001, 10), slow = bench_side("onnx-reference", 0.1, 11);
  wrong.verdict = Verdict::not_rounding;
  wrong.notes = {"Unique runs on the reference: the plan has no step for it"};
  Benchmark made =
      benchmark("models/digits.onnx", {failed_side("tvm"), bench_side("onnxruntime", 0.003, 9), wrong, slow});
  for (std::size_t i = 2; i < made.report.sides.size(); ++i)
    summarize(made.report.sides[i], made.report.sides[1].rounds, 0);
  made.seed = 3;
  made.input_values = "00000000000000ff";
  made.has_all_runs = true;
  Benchmark unread{"models/\xff|<b>.onnx", 8, {}, {}};
  unread.failure = make_error("not-onnx", "not a binary ONNX model: this looks like text");
  unread.failure->diagnostic.help = "look into the file";
  Benchmark stopped{"=models.onnx", {}, {}, {}};
  stopped.failure = make_error("cancelled", "the measurement was stopped");
  stopped.report.cancelled = true;
  return {made, unread, stopped};
}

std::vector<Benchmark> batches() {
  std::vector<Benchmark> made;
  for (const std::int64_t threads : {1, 2}) {
    for (const std::int64_t batch : {1, 8, 64}) {
      const double wall = 0.001 * static_cast<double>(batch) / static_cast<double>(threads);
      made.push_back(benchmark("models/digits.onnx",
                               {bench_side("onnxruntime", wall, 1), bench_side("openvino", 0.8 * wall, 2)}, batch,
                               threads));
    }
  }
  return made;
}

/// Files of one name in several folders; in each the third side is the fastest, and the second as fast or not.
std::vector<Benchmark> ties() {
  std::vector<Benchmark> made;
  for (const auto& [folder, second] : {std::pair("v1/", 0.0020005), {"v2/", 0.0025}, {"other/v1/", 0.0020005}}) {
    made.push_back(benchmark(
        std::string(folder) + "model.onnx",
        {bench_side("onnxruntime", 0.003, 20), bench_side("openvino", second, 21), bench_side("cpu", 0.002, 22)}));
  }
  return made;
}

/// A model that is slower, one that fails now and one that failed before; others worked while the new one was measured.
BenchSample compared() {
  Benchmark slower =
      benchmark("models/digits.onnx", {bench_side("onnxruntime", 0.006, 1), bench_side("cpu", 0.001, 2)});
  slower.report.lost_processors = true;
  slower.report.warnings = {"other programs used 0.50 processors while this was measured"};
  Benchmark broken{"models/broken.onnx", 8, {}, {}};
  broken.failure = make_error("not-onnx", "the file is truncated");
  Benchmark whole = benchmark("models/broken.onnx", {bench_side("onnxruntime", 0.002, 5)}, 8);
  Benchmark always = broken;
  always.model = "models/always.onnx";
  return {"compared",
          {slower, broken, always},
          {benchmark("models/digits.onnx", {bench_side("onnxruntime", 0.003, 3), bench_side("openvino", 0.001, 4)}),
           whole, always}};
}

}  // namespace

std::vector<BenchSample> bench_samples() {
  BenchSideReport profiled = bench_side("onnxruntime", 0.003, 3), silent = bench_side("onnx-reference", 0.9, 4);
  profiled.profile = bench_profile();
  silent.unprofiled = "onnx-reference, while timing steps: this backend tells nothing of the time of nodes";
  BenchSideReport nested = bench_side("onnxruntime", 0.003, 3);
  nested.profile = nested_profile();
  BenchSideReport cached = bench_side("cpu", 1.126e-6, 12), slow = bench_side("reference", 0.0021, 13);
  cached.profile = cached_profile();
  cached.stationary = false;
  Benchmark disturbed = benchmark("models/digits.onnx", {bench_side("onnxruntime", 0.003, 3), failed_side("tvm")});
  disturbed.report.warnings = {"other programs used 0.50 processors while this was measured"};
  disturbed.report.reached_goal = false;
  disturbed.report.sides[0].verdict.reset();
  disturbed.report.sides[0].why = "the reference ran out of memory";
  Benchmark nothing = benchmark("models/digits.onnx", {failed_side("onnxruntime"), failed_side("openvino")});
  BenchSideReport coarse = bench_side("openvino", 0.004, 2);
  coarse.arithmetic = name_of(Profile::bfloat16);
  coarse.rounding = Profile::bfloat16;
  coarse.warnings = {"computes in bf16 on this device, option precision=f32 selects float"};
  return {{"one", {benchmark("models/digits.onnx", {bench_side("onnxruntime", 0.003, 1), coarse})}},
          {"profiled", {benchmark("models/digits.onnx", {profiled, silent})}},
          {"cached", {benchmark("models/digits.onnx", {cached, slow})}},
          {"nested", {benchmark("models/loops.onnx", {nested})}},
          {"ties", ties()},
          {"batches", batches()},
          {"device", {on_device()}},
          {"disturbed", {disturbed}},
          {"nothing", {nothing}},
          {"failures", failures()},
          compared(),
          {"hostile", hostile()}};
}

}  // namespace onnxkit::tests
