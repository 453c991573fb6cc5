// Any model, in binary or text form: infer fills in what it can, and what it wrote is what it infers again.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "onnxkit/infer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto model = onnxkit::read_model_bytes(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!model) return 0;
  const auto report = onnxkit::infer(*model);
  if (!report) std::abort();
  const auto again = onnxkit::infer(*model);
  if (!again || again->values.size() != report->values.size()) std::abort();
  for (const onnxkit::InferredValue& value : report->values) {
    if (!value.name.empty()) (void)onnxkit::why_unknown(*model, value.name);
    break;
  }
  return 0;
}
