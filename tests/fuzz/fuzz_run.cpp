// Any model, in binary or text form, on made-up inputs and within small limits: the run ends, with outputs or with an error that has a code and a
// message. What the reference runs the backend cpu runs, too, with outputs of the same kinds, types and sizes, and with the same numbers but for rounding.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "onnxkit/diff.h"
#include "onnxkit/run.h"
#include "tests/fuzz/property.h"

using namespace onnxkit;

namespace {

bool is_limit(const std::string& code) {
  return code == "memory-limit" || code == "time-limit" || code == "iteration-limit" || code == "out-of-memory";
}

bool are_alike(const Value& a, const Value& b) {
  if (a.kind != b.kind || a.items.size() != b.items.size()) return false;
  if (a.is_tensor() && (a.tensor.type() != b.tensor.type() || a.tensor.dims() != b.tensor.dims())) return false;
  return std::equal(a.items.begin(), a.items.end(), b.items.begin(), are_alike);
}

/// Numbers at the ends of float32 overflow in one arithmetic and not in another.
bool is_tame(const Value& value) {
  constexpr double most = 1e15;
  if (value.is_tensor() && is_floating(value.tensor.type())) {
    const auto reals = to_reals(value.tensor);
    if (!std::all_of(reals.begin(), reals.end(), [](double x) { return std::abs(x) < most; })) return false;
  }
  return std::all_of(value.items.begin(), value.items.end(), is_tame);
}

/// The verdict on the numbers of the backend cpu; nothing where there is none.
void judge_cpu(const Model& model, const InputSet& inputs, const RunOptions& limits) {
  DiffSide reference, cpu;
  reference.backend = "reference";
  cpu.backend = "cpu";
  reference.model = cpu.model = std::make_shared<const Model>(model);
  DiffOptions options;
  options.limits = limits.limits;
  options.warmup = 0;
  const auto report = diff({reference, cpu}, {inputs}, options);
  if (!report || report->sides[1].failure) return;
  for (const OutputDiff& output : report->sides[1].outputs) {
    if (output.verdict == Verdict::not_rounding)
      fuzz::broken("the backend cpu computes what the reference does", {{"output", output.name}, {"why", output.why}});
  }
}

void check_cpu(const Model& model, const RunReport& report, RunOptions options) {
  std::vector<NamedValue> given;
  for (const RunInput& input : report.inputs) given.push_back({input.name, input.value});
  options.backend = "cpu";
  const auto answer = run(model, given, options);
  if (!answer) {
    if (is_limit(answer.error().diagnostic.code)) return;
    fuzz::broken("the backend cpu runs what the reference runs",
                 {{"code", answer.error().diagnostic.code}, {"message", answer.error().diagnostic.message}});
  }
  bool all_tame = true;
  for (std::size_t i = 0; i < report.outputs.size(); ++i) {
    if (!are_alike(report.outputs[i].value, answer->outputs[i].value))
      fuzz::broken("outputs of the backend cpu have the types and sizes of the reference's",
                   {{"output", report.outputs[i].name}});
    all_tame = all_tame && is_tame(report.outputs[i].value) && is_tame(answer->outputs[i].value);
  }
  for (const NamedValue& input : given) all_tame = all_tame && is_tame(input.value);
  if (all_tame) judge_cpu(model, {"made up", given}, options);
}

}  // namespace

extern "C" int fuzz_run(const std::uint8_t* data, std::size_t size) {
  auto model = read_model_bytes(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!model) return 0;
  RunOptions options;
  options.limits.threads = 1;
  options.limits.memory_bytes = 16 << 20;
  options.limits.time_ms = 500;
  options.limits.iterations = 20;
  const auto report = run(*model, {}, options);
  if (report) {
    check_cpu(*model, *report, options);
  } else if (report.error().diagnostic.code.empty() || report.error().diagnostic.message.empty()) {
    fuzz::broken("an error has a code and a message", {{"code", report.error().diagnostic.code}});
  }
  return 0;
}
