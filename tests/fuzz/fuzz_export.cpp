// Any model, sound or not, in every format of other frameworks that is written: it is written, or refused with a code and a reason.
#include <cstdint>
#include <string>

#include "libonnxkit/formats/frame/registry.h"
#include "libonnxkit/wire/binary/reader.h"
#include "tests/fuzz/property.h"

using namespace onnxkit;

extern "C" int fuzz_export(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto model = wire::read_binary(MappedFile::from_bytes(bytes));
  if (!model) return 0;
  for (const formats::Format& format : formats::registry().formats()) {
    if (!format.try_write) continue;
    std::vector<Diagnostic> refusals;
    SaveOptions options;
    options.refusals = &refusals;
    const auto written = format.try_write(*model, options);
    if (!written) refusals.push_back(written.error().diagnostic);
    for (const Diagnostic& refusal : refusals)
      if (refusal.code.empty() || refusal.message.empty())
        fuzz::broken("a refusal has a code and a message", {{"format", format.name}, {"code", refusal.code}});
  }
  return 0;
}
