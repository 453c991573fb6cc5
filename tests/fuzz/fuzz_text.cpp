// Any text: parse_text fails with a place inside the text, or the model survives printing, and writing in binary form.
#include <cstdint>
#include <cstdlib>

#include "libonnxkit/wire/reader.h"
#include "libonnxkit/wire/text.h"
#include "libonnxkit/wire/writer.h"

using namespace onnxkit;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto model = wire::parse_text(text, "text");
  if (!model) {
    if (model.error().diagnostic.place.byte_offset.value_or(size + 1) > size) std::abort();
    return 0;
  }
  const std::string written = wire::to_bytes(*model);
  const auto printed = wire::parse_text(wire::print_text(*model), "printed");
  if (!printed || wire::to_bytes(*printed) != written) std::abort();
  if (!written.empty() && !wire::read_binary(MappedFile::from_bytes(written))) std::abort();
  return 0;
}
