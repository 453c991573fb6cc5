#include "libonnxkit/diff/verdict_reasons.h"

#include <algorithm>

#include <fmt/core.h>

namespace onnxkit::diffing {

void refuse_moved(const std::vector<std::string>& moved, std::vector<OutputDiff>& outputs) {
  for (OutputDiff& output : outputs) {
    if (std::find(moved.begin(), moved.end(), output.name) == moved.end()) continue;
    output.verdict = Verdict::mismatch;
    output.why = "the axes differ in order";
  }
}

void report_absent(const std::map<std::string, std::string>& absent, std::vector<OutputDiff>& outputs) {
  for (OutputDiff& output : outputs) {
    const auto found = absent.find(output.name);
    if (found == absent.end() || output.verdict == Verdict::identical) continue;
    output.verdict = Verdict::mismatch;
    output.why = found->second;
  }
}

void leave_random(std::vector<OutputDiff>& outputs, const std::map<std::string, Draw>& random, bool is_one_backend) {
  for (OutputDiff& output : outputs) {
    const auto draw = random.find(output.name.substr(0, output.name.find_first_of("[")));
    if (draw == random.end() || (draw->second.seeded && is_one_backend)) continue;
    if (output.verdict != Verdict::not_rounding && output.verdict != Verdict::rounding &&
        output.verdict != Verdict::undecidable)
      continue;
    output.verdict = Verdict::not_compared;
    output.profile.reset();
    output.why =
        draw->second.seeded
            ? fmt::format("it is computed from {}, which draws different numbers on every backend", draw->second.op)
            : fmt::format("it is computed from {} without a seed, which draws different numbers on every side",
                          draw->second.op);
  }
}

void report_quantized(std::vector<OutputDiff>& outputs) {
  for (OutputDiff& output : outputs) {
    if (output.verdict == Verdict::not_rounding && output.why.empty())
      output.why =
          "the model is quantized, and its quantization error exceeds rounding; a tolerance or the task's metrics show "
          "whether it matters";
  }
}

}  // namespace onnxkit::diffing
