// Any model, in binary or text form, on made-up inputs and within small limits: the run ends, with outputs or with an error that has a code and a
// message.
#include <cstdint>
#include <string>

#include "onnxkit/run.h"
#include "tests/fuzz/property.h"

using namespace onnxkit;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto model = read_model_bytes(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!model) return 0;
  RunOptions options;
  options.limits.threads = 1;
  options.limits.memory_bytes = 16 << 20;
  options.limits.time_ms = 500;
  options.limits.iterations = 20;
  const auto report = run(*model, {}, options);
  if (!report && (report.error().diagnostic.code.empty() || report.error().diagnostic.message.empty()))
    fuzz::broken("an error has a code and a message", {{"code", report.error().diagnostic.code}});
  return 0;
}
