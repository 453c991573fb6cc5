// Any model, in binary or text form: check reports what it finds.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "onnxkit/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto model = onnxkit::read_model_bytes(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!model) return 0;
  onnxkit::CheckOptions options;
  options.inspect_weights = true;
  const auto report = onnxkit::check(*model, options);
  if (!report) std::abort();
  for (const onnxkit::Diagnostic& diagnostic : report->diagnostics) {
    if (diagnostic.code.empty() || diagnostic.message.empty()) std::abort();
  }
  return 0;
}
