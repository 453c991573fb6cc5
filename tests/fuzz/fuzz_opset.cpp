// Any model, moved to an opset that its bytes decide: refused with reasons, or converted. A model in which check finds no error, and that runs, stays free
// of errors and computes the same within small limits.
#include <cstdint>
#include <numeric>
#include <string>

#include "onnxkit/check.h"
#include "onnxkit/opset.h"
#include "tests/fuzz/property.h"

using namespace onnxkit;

namespace {

constexpr int newest_opset = 28;

Result<Model> read(const std::string& bytes) { return read_model_bytes(bytes, "fuzz"); }

std::string text_of(const Model& model) {
  std::string text;
  SaveOptions options;
  options.format = "text";
  (void)write_model(
      model, [&](std::string_view part) -> Result<void> { return text += part, Result<void>(); }, options);
  return text;
}

bool is_valid(const Model& model) {
  const auto report = check(model);
  return report && report->errors == 0;
}

bool runs(const Model& model, const VerifyOptions& limits) {
  const auto verified = verify_equal(model, model, limits);
  return verified && verified->verdict == Equality::equal;
}

}  // namespace

extern "C" int fuzz_opset(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto before = read(bytes);
  auto after = read(bytes);
  if (!before || !after) return 0;
  OpsetOptions options;
  options.opsets[""] = 1 + std::accumulate(data, data + size, std::uint64_t{0}) % newest_opset;
  const auto report = change_opset(*after, options);
  if (!report) return 0;
  VerifyOptions limits;
  limits.limits.threads = 1;
  limits.limits.memory_bytes = 16 << 20;
  limits.limits.time_ms = 300;
  const bool valid = is_valid(*before);
  const std::string target = std::to_string(options.opsets[""]);
  for (const Diagnostic& refusal : report->refusals) {
    if (refusal.code.empty() || refusal.message.empty())
      fuzz::broken("a refusal has a code and a message", {{"code", refusal.code}});
    // Notes hold what check finds in the result. What fails in every run may come to light only in other operators.
    if (valid && !refusal.notes.empty() && runs(*before, limits))
      fuzz::broken("a valid model stays valid",
                   {{"target", target}, {"before", text_of(*before)}, {"finding", refusal.message}});
  }
  if (!report->succeeded() || !valid) return 0;
  const auto verified = verify_equal(*before, *after, limits);
  if (verified && verified->verdict == Equality::different)
    fuzz::broken("a converted model computes the same", {{"target", target},
                                                         {"before", text_of(*before)},
                                                         {"after", text_of(*after)},
                                                         {"difference", verified->reason}});
  return 0;
}
