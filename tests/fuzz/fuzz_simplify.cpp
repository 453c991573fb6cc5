// Any model, simplified: an error with a code, or a model that check accepts as it did the one before, that is written and read, and that computes the same.
#include <cstdint>
#include <string>

#include "onnxkit/check.h"
#include "onnxkit/opset.h"
#include "onnxkit/simplify.h"
#include "tests/fuzz/property.h"

using namespace onnxkit;

namespace {

std::string written(const Model& model, const std::string& format) {
  std::string bytes;
  SaveOptions options;
  options.format = format;
  (void)write_model(
      model, [&](std::string_view part) -> Result<void> { return bytes += part, Result<void>(); }, options);
  return bytes;
}

}  // namespace

extern "C" int fuzz_simplify(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  auto model = read_model_bytes(bytes, "fuzz");
  if (!model) return 0;
  SimplifyOptions options;
  options.with = {"inline_functions"};
  options.limits = {.threads = 1, .memory_bytes = 16 << 20, .time_ms = 100, .iterations = 1000};
  std::optional<Model> before;
  const auto report = simplify(*model, options, &before);
  if (!report) {
    if (report.error().diagnostic.code.empty() || report.error().diagnostic.message.empty())
      fuzz::broken("an error has a code and a message");
    return 0;
  }
  const auto again = read_model_bytes(written(*model, "binary"), "fuzz");
  const auto checked = again ? check(*again) : again.error();
  if (!checked || checked->errors > 0)
    fuzz::broken("a valid model stays valid",
                 {{"before", written(*before, "text")},
                  {"after", written(*model, "text")},
                  {"finding", checked ? checked->diagnostics.front().message : checked.error().diagnostic.message}});
  VerifyOptions limits;
  limits.limits = {.threads = 1, .memory_bytes = 16 << 20, .time_ms = 300, .iterations = 0};
  const auto verified = verify_equal(*before, *again, limits);
  if (verified && verified->verdict == Equality::different)
    fuzz::broken(
        "a simplified model computes the same",
        {{"before", written(*before, "text")}, {"after", written(*model, "text")}, {"difference", verified->reason}});
  return 0;
}
