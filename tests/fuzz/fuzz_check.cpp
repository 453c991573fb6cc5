// Any model, in binary or text form: check reports what it finds.
#include <cstdint>
#include <string>

#include "onnxkit/check.h"
#include "tests/fuzz/property.h"

extern "C" int fuzz_check(const std::uint8_t* data, std::size_t size) {
  const auto model = onnxkit::read_model_bytes(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!model) return 0;
  onnxkit::CheckOptions options;
  options.inspect_weights = true;
  const auto report = onnxkit::check(*model, options);
  if (!report) onnxkit::fuzz::broken("check reports", {{"error", report.error().diagnostic.message}});
  for (const onnxkit::Diagnostic& diagnostic : report->diagnostics) {
    if (diagnostic.code.empty() || diagnostic.message.empty()) {
      onnxkit::fuzz::broken("a diagnostic has a code and a message",
                            {{"code", diagnostic.code}, {"message", diagnostic.message}});
    }
  }
  return 0;
}
