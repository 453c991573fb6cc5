// Any model, in binary or text form: infer fills in what it can, and what it wrote is what it infers again.
#include <cstdint>
#include <string>

#include "onnxkit/infer.h"
#include "tests/fuzz/property.h"

extern "C" int fuzz_infer(const std::uint8_t* data, std::size_t size) {
  auto model = onnxkit::read_model_bytes(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!model) return 0;
  const auto report = onnxkit::infer(*model);
  if (!report) onnxkit::fuzz::broken("infer reports", {{"error", report.error().diagnostic.message}});
  const auto again = onnxkit::infer(*model);
  if (!again) onnxkit::fuzz::broken("infer reports again", {{"error", again.error().diagnostic.message}});
  if (again->values.size() != report->values.size()) onnxkit::fuzz::broken("the completed model has as many values");
  if (!report->values.empty()) (void)onnxkit::why_unknown(*model, report->values.front().name);
  return 0;
}
