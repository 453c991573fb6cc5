// Sessions of the backend cuda that run more than once, on the libraries of the host: sessions LIBRARIES.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include <fmt/core.h>

#include "libonnxkit/backends/backends.h"
#include "libonnxkit/exec/perturbed.h"
#include "libonnxkit/exec/registry.h"
#include "libonnxkit/wire/text.h"

namespace {

namespace fs = std::filesystem;
using namespace onnxkit;

int failed = 0, passed = 0;

void check(bool holds, const char* what) {
  ++(holds ? passed : failed);
  if (!holds) fmt::print("failed: {}\n", what);
}

std::shared_ptr<const ir::Model> read(const char* text) {
  auto model = wire::parse_text(text, "test");
  check(model.ok(), "the model is read");
  return model ? std::make_shared<const ir::Model>(*std::move(model)) : nullptr;
}

/// Of the backend cuda, which keeps no kernels; null when it does not load.
std::unique_ptr<exec::Session> load(const std::shared_ptr<const ir::Model>& model,
                                    std::map<std::string, std::string> options = {}) {
  if (!model) return nullptr;
  options.emplace("cache", "off");
  auto session = all_backends().find("cuda", {})->make({})->load({.model = model}, {.options = std::move(options)});
  check(session.ok(), "the session loads");
  if (session) return *std::move(session);
  fmt::print("{}\n", session.error().diagnostic.message);
  return nullptr;
}

// The Dropout of a training runs on the host, between steps on the device; with a ratio of 0 it leaves its input as it is.
constexpr const char* model_text = R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[N] x) => (float[N] y) {
  axis = Constant <value = int64[1] {0}> ()
  a = Add (x, x)
  sums = CumSum (a, axis)
  one = Constant <value = int64[1] {1}> ()
  column = Unsqueeze (sums, one)
  ratio = Constant <value = float {0}> ()
  trains = Constant <value = bool {1}> ()
  same = Dropout (column, ratio, trains)
  b = Squeeze (same, one)
  y = Mul (b, b)
})";

std::map<std::string, int> calls_in(const fs::path& log) {
  std::map<std::string, int> counts;
  std::ifstream in(log);
  for (std::string name; std::getline(in, name);) ++counts[name];
  return counts;
}

Value numbers(std::int64_t count, std::vector<std::int64_t> dims = {}) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * sizeof(float));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto number = static_cast<float>(i + 1);
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof(float), &number, sizeof number);
  }
  if (dims.empty()) dims = {count};
  return *Tensor::from_bytes(ElementType::float32, std::move(dims), std::move(bytes));
}

/// Whether y is (2 + 4 + ... )^2.
bool is_right(const Result<exec::RunAnswer>& answer, std::int64_t count) {
  if (!answer || answer->outputs[0].value.tensor.size() != count) return false;
  const std::vector<double> found = to_reals(answer->outputs[0].value.tensor);
  double sum = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    sum += 2 * static_cast<double>(i + 1);
    if (found[i] != sum * sum) return false;
  }
  return true;
}

void run_all(const fs::path& folder) {
  const fs::path log = folder / "calls";
  ::setenv("ONNXKIT_CUDA_HOST_LOG", log.c_str(), 1);
  const auto session = load(read(model_text));
  if (!session) return;
  const auto run = [&](std::int64_t count, int repeat, std::stop_token stop = {}) {
    exec::RunRequest request;
    request.inputs = {{"x", numbers(count)}};
    request.repeat = repeat;
    request.stop = stop;
    return session->run(request);
  };
  const auto first = run(5, 1);
  check(is_right(first, 5), "five numbers");
  const auto one = calls_in(log);
  check(is_right(run(5, 3), 5), "five numbers again");
  auto more = calls_in(log);
  check(more["cuStreamBeginCapture_v2"] == one.at("cuStreamBeginCapture_v2"), "graphs are captured once for a size");
  check(more["cuGraphLaunch"] == 4 * one.at("cuGraphLaunch"), "and replayed");
  const auto larger = run(40, 1);
  check(is_right(larger, 40), "forty numbers");
  check(first && larger && first->device_bytes > 0U && first->device_bytes < larger->device_bytes,
        "the memory of both plans is told");
  more = calls_in(log);
  check(more["cuStreamBeginCapture_v2"] == 2 * one.at("cuStreamBeginCapture_v2"), "another size is captured");
  check(is_right(run(5, 1), 5), "the first size again");
  check(calls_in(log)["cuStreamBeginCapture_v2"] == 2 * one.at("cuStreamBeginCapture_v2"), "from what was kept");
  const auto last = run(1, 1);
  check(is_right(last, 1), "one number");
  check(last && larger && last->device_bytes > larger->device_bytes, "and what all of them hold");
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = run(5, 1, stop.get_token());
  check(!stopped && stopped.error().diagnostic.code == "cancelled", "a run that was cancelled");
  check(is_right(run(5, 1), 5), "a run behind it");
}

/// Sizes that go on changing compile kernels for the first three: what changes is a parameter then.
void grow(const fs::path& folder) {
  const fs::path log = folder / "calls";
  const auto session = load(read(model_text));
  if (!session) return;
  std::vector<int> compiled;
  bool are_right = true;
  for (std::int64_t count = 33; count < 41; ++count) {
    exec::RunRequest request;
    request.inputs = {{"x", numbers(count)}};
    const int before = calls_in(log)["nvrtcCompileProgram"];
    are_right = are_right && is_right(session->run(request), count);
    compiled.push_back(calls_in(log)["nvrtcCompileProgram"] - before);
  }
  check(are_right, "sizes that grow");
  check(compiled[0] == 1 && compiled[1] == 1 && compiled[2] == 1, "the first three compile kernels");
  check(std::vector<int>(compiled.begin() + 4, compiled.end()) == std::vector<int>(4), "later ones do not");
}

/// A profile has each step of the device and of the host with its time, and leaves the graphs of runs as they were.
void profile(const fs::path& folder) {
  const fs::path log = folder / "calls";
  const auto session = load(read(model_text));
  if (!session) return;
  exec::RunRequest request;
  request.inputs = {{"x", numbers(7)}};
  request.repeat = 3;
  const auto found = session->profile(request);
  if (!found) return check(false, "the profile is made");
  check(found->device == "gpu:0" && found->walls.size() == 3, "three profiled runs on the GPU");
  std::vector<std::string> ops;
  bool in_order = true;
  for (const exec::StepTime& step : found->steps) {
    ops.push_back(step.op);
    in_order = in_order && step.spans.size() == 3;
    for (const exec::StepSpan& span : step.spans) in_order = in_order && span.start && span.seconds >= 0;
  }
  const auto host = std::find(ops.begin(), ops.end(), "host Dropout");
  check(host != ops.end() && ops.front() == "map" && ops.back() == "map", "the steps in their order");
  check(in_order, "each with a time in each run");
  const auto before = calls_in(log);
  check(is_right(session->run(request), 7), "a run behind a profile");
  auto after = calls_in(log);
  check(after["cuStreamBeginCapture_v2"] == before.at("cuStreamBeginCapture_v2"), "captures nothing");
  check(after["cuEventRecordWithFlags"] == before.at("cuEventRecordWithFlags"), "and records no event");
}

Value waves(std::vector<std::int64_t> dims) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(dims[0] * dims[1]) * sizeof(float));
  for (std::size_t i = 0; i * sizeof(float) < bytes.size(); ++i) {
    const auto number = static_cast<float>(std::sin(0.7 * static_cast<double>(i)));
    std::memcpy(bytes.data() + i * sizeof(float), &number, sizeof number);
  }
  return *Tensor::from_bytes(ElementType::float32, std::move(dims), std::move(bytes));
}

// Three branches whose values would share memory in a chain, a value that is overwritten in place, and slices of one output.
constexpr const char* branches_text = R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[12, 40] x) => (float[12, 120] y, float[12, 40] z) {
  shape = Constant <value = int64[2] {40, 40}> ()
  weights = ConstantOfShape <value = float[1] {0.125}> (shape)
  a = Softmax (x)
  a2 = Softmax <axis = 0> (a)
  a3 = Softmax (a2)
  b = Softmax <axis = 0> (x)
  b2 = Softmax (b)
  c = MatMul (x, weights)
  c2 = Softmax (c)
  ab = Add (a3, b2)
  ab2 = Softmax (ab)
  y = Concat <axis = 1> (ab2, c2, b)
  order = Hardmax (c2)
  d = Softmax <axis = 0> (order)
  e = Sqrt (c2)
  z = Sub (d, e)
})";

/// Branches give what a chain gives, whatever order their graph leaves open; profiles have no branches.
void branch(const fs::path& folder) {
  const fs::path log = folder / "calls";
  const auto model = read(branches_text);
  // What a run before has left must not be right by chance.
  const Value inputs[] = {waves({12, 40}), numbers(12 * 40, {12, 40})};
  std::vector<std::vector<double>> wanted;
  for (const std::string streams : {"1", "2", "4", "measured"}) {
    for (const char* order : {"0", "1", "2", "3", "4", "5"}) {
      ::setenv("ONNXKIT_CUDA_HOST_ORDER", order, 1);
      auto before = calls_in(log);
      const auto session = load(model, {{"streams", streams}});
      if (!session) return;
      exec::RunRequest request;
      std::vector<std::vector<double>> found;
      for (const Value& x : inputs) {
        request.inputs = {{"x", x}};
        const auto answer = session->run(request);
        if (!answer) return check(false, "the model runs");
        for (const NamedValue& output : answer->outputs) found.push_back(to_reals(output.value.tensor));
      }
      if (wanted.empty()) wanted = found;
      check(found == wanted, "branches give what a chain gives");
      auto after = calls_in(log);
      check((after["cuStreamWaitEvent"] > before["cuStreamWaitEvent"]) == (streams != "1"), "captures fork");
      const auto profile = session->profile(request);
      check(profile && !profile->steps.empty(), "a profile is made");
      check(calls_in(log)["cuStreamWaitEvent"] == after["cuStreamWaitEvent"], "without branches");
    }
  }
  ::unsetenv("ONNXKIT_CUDA_HOST_ORDER");
}

constexpr const char* sum_text = R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[N] x) => (float[N] y, float[N] z) {
  y = Add (x, x)
  z = Neg (x)
})";

bool is_times(const Value& value, double factor, std::int64_t count) {
  const std::vector<double> found = to_reals(value.tensor);
  bool all = found.size() == static_cast<std::size_t>(count);
  for (std::size_t i = 0; all && i < found.size(); ++i) all = found[i] == factor * static_cast<double>(i + 1);
  return all;
}

/// Outputs of megabytes lie in memory that is used again, but not while somebody holds them; they outlive their session.
void large_values() {
  const auto model = read(sum_text);
  std::optional<Value> kept;
  const void* first = nullptr;
  constexpr std::int64_t count = 3 << 20, odd = count + 1;
  {
    const auto session = load(model);
    if (!session) return;
    for (const std::int64_t size : {count, count, odd}) {
      exec::RunRequest request;
      request.inputs = {{"x", numbers(size)}};
      const auto answer = session->run(request);
      if (!answer) return check(false, "a run over millions of numbers");
      const Value &y = answer->outputs[0].value, &z = answer->outputs[1].value;
      check(is_times(y, 2, size) && is_times(z, -1, size), "both outputs");
      if (!kept) {
        kept = y;
        first = z.tensor.bytes().data();
      } else if (size == count) {
        check(y.tensor.bytes().data() != kept->tensor.bytes().data(), "an output that is held keeps its memory");
        check(y.tensor.bytes().data() == first || z.tensor.bytes().data() == first, "the other's is used again");
      }
    }
  }
  check(kept && is_times(*kept, 2, count), "an output is what it was, its session gone");
}

constexpr const char* product_text = R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[64, 1024] x, float[1024, 1024] w) => (float[64, 1024] y) {
  y = MatMul (x, w)
})";

/// Exact outputs and one perturbed sample.
Result<std::vector<exec::Spread>> spreads_of(exec::Session& session) {
  exec::RunRequest request;
  request.inputs = {{"x", waves({64, 1024})}, {"w", waves({1024, 1024})}};
  return session.perturbed()->run(request, {.samples = 1});
}

/// Perturbed samples of a large product: the reference's, computed on the device.
void perturb(const fs::path& folder) {
  const fs::path log = folder / "calls";  // which the driver opened when it was first called
  const auto model = read(product_text);
  const auto session = load(model, {{"precision", "f64"}});
  auto reference = all_backends().make_perturbed()->load({.model = model}, {});
  if (!session || !reference || !session->perturbed()) return check(false, "precision=f64 has perturbed samples");
  auto before = calls_in(log);
  const auto found = spreads_of(*session), wanted = spreads_of(**reference);
  auto after = calls_in(log);
  check(after["cuGraphLaunch"] == before["cuGraphLaunch"] + 2,
        "the device multiplies for the exact run and for the sample");
  // x is copied by the graph, w in two parts of 4 MiB in front of it.
  check(after["cuMemcpyHtoDAsync_v2"] == before["cuMemcpyHtoDAsync_v2"] + 3, "and gets the matrix of both once");
  if (!found || !wanted) return check(false, "perturbed runs end well");
  const auto exact = to_reals(found->front().exact.tensor), right = to_reals(wanted->front().exact.tensor);
  const auto sample = to_reals(found->front().samples.front().tensor);
  double most = 0, moved = 0, largest = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    most = std::max(most, std::abs(exact[i] - right[i]));
    moved = std::max(moved, std::abs(sample[i] - right[i]));
    largest = std::max(largest, std::abs(right[i]));
  }
  check(most <= 1e-13 * largest, "the exact run equals the reference's within double rounding");
  check(moved > 1e-9 * largest && moved < 1e-5 * largest, "the sample has errors of float32");
}

// A constant that takes more than two of the blocks by which it is sent, one that two steps read, and a step of the host between them.
constexpr const char* weights_text = R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[12, 40] x, int64[N] at) => (float[12, 40] y, int64[N] z) {
  zero = Constant <value = int64 {0}> ()
  one = Constant <value = int64 {1}> ()
  many = Constant <value = int64 {5000000}> ()
  table = Range (zero, many, one)
  z = Gather (table, at)
  few = Constant <value = int64 {1600}> ()
  counted = Range (zero, few, one)
  reals = Cast <to = 1> (counted)
  waves = Sin (reals)
  shape = Constant <value = int64[2] {40, 40}> ()
  weights = Reshape (waves, shape)
  a = MatMul (x, weights)
  b = Softmax (a)
  ratio = Constant <value = float {0}> ()
  trains = Constant <value = bool {1}> ()
  c = Dropout (b, ratio, trains)
  d = Add (b, c)
  e = MatMul (d, weights)
  y = Softmax (e)
})";

Value positions_of(const std::vector<std::int64_t>& positions) {
  const auto bytes = std::as_bytes(std::span(positions));
  return *Tensor::from_bytes(ElementType::int64, {static_cast<std::int64_t>(positions.size())},
                             std::vector<std::byte>(bytes.begin(), bytes.end()));
}

/// Constants that are sent in each run give what those give that stay on the device.
void stream_weights(const fs::path& folder) {
  const fs::path log = folder / "calls";
  const auto model = read(weights_text);
  for (const std::string precision : {"f32", "f64", "f16"}) {
    std::vector<std::vector<double>> wanted;
    for (const std::string weights : {"usual", "streamed"}) {
      const auto session = load(model, {{"precision", precision}, {"weights", weights}});
      if (!session) return;
      exec::RunRequest request;
      request.inputs = {{"x", waves({12, 40})}, {"at", positions_of({0, 2097152, 4194304, 4999999, -1})}};
      for (int run = 0; run < 2; ++run) {
        ::setenv("ONNXKIT_CUDA_HOST_EARLY", run == 0 ? "0" : "1", 1);
        const int before = calls_in(log)["cuMemcpyHtoDAsync_v2"];
        const auto answer = session->run(request);
        if (!answer) return check(false, "the model runs");
        const bool sends = calls_in(log)["cuMemcpyHtoDAsync_v2"] > before;
        check(run == 0 || sends == (weights == "streamed"), "each run sends constants");
        std::vector<std::vector<double>> found;
        for (const NamedValue& output : answer->outputs) found.push_back(to_reals(output.value.tensor));
        if (wanted.empty()) wanted = found;
        check(found == wanted, "what is sent is what stays");
      }
      ::unsetenv("ONNXKIT_CUDA_HOST_EARLY");
      const auto profile = session->profile(request);
      if (!profile) return check(false, "the profile is made");
      const auto uploads = std::ranges::count(profile->steps, "upload", &exec::StepTime::op);
      check((uploads >= 2) == (weights == "streamed"), "profiles have the time of each");
    }
    check(wanted.back() == std::vector<double>({0, 2097152, 4194304, 4999999, 4999999}), "each element at its place");
  }
}

// A step without results reads a constant of the size of a value that is alive while the next one is sent.
constexpr const char* nothing_text = R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[40, 40] x, int64[0] at) => (float[0, 40] nothing, float[40, 40] y) {
  zero = Constant <value = int64 {0}> ()
  one = Constant <value = int64 {1}> ()
  count = Constant <value = int64 {1600}> ()
  counted = Range (zero, count, one)
  reals = Cast <to = 1> (counted)
  shape = Constant <value = int64[2] {40, 40}> ()
  weights = Reshape (reals, shape)
  others = Neg (weights)
  nothing = Gather (others, at)
  a = Softmax (x)
  b = MatMul (x, weights)
  y = Add (a, b)
})";

void send_for_nothing() {
  const auto model = read(nothing_text);
  std::optional<std::vector<double>> wanted;
  for (const std::string weights : {"usual", "streamed"}) {
    const auto session = load(model, {{"weights", weights}});
    if (!session) return;
    for (const char* early : {"0", "1"}) {
      ::setenv("ONNXKIT_CUDA_HOST_EARLY", early, 1);
      exec::RunRequest request;
      request.inputs = {{"x", waves({40, 40})}, {"at", positions_of({})}};
      const auto answer = session->run(request);
      if (!answer) return check(false, "the model runs");
      const std::vector<double> found = to_reals(answer->outputs[1].value.tensor);
      if (!wanted) wanted = found;
      check(found == *wanted, "what nobody reads is not sent to the place of another value");
    }
  }
  ::unsetenv("ONNXKIT_CUDA_HOST_EARLY");
}

}  // namespace

int main(int, char** argv) {
  ::setenv("ONNXKIT_CUDA_PATH", argv[1], 1);
  std::string pattern = (fs::temp_directory_path() / "onnxkit_sessions_XXXXXX").string();
  if (!::mkdtemp(pattern.data())) return 1;
  run_all(pattern);
  grow(pattern);
  profile(pattern);
  perturb(pattern);
  large_values();
  branch(pattern);
  stream_weights(pattern);
  send_for_nothing();
  fs::remove_all(pattern);
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
