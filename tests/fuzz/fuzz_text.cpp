// Any text: parse_text fails with a location inside the text, or the model survives printing, and writing in binary form.
#include <cstdint>
#include <string>

#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/binary/writer.h"
#include "libonnxkit/wire/text.h"
#include "tests/fuzz/property.h"

using namespace onnxkit;

extern "C" int fuzz_text(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto model = wire::parse_text(text, "text");
  if (!model) {
    if (model.error().diagnostic.location.byte_offset.value_or(size + 1) > size)
      fuzz::broken("an error lies inside the text", {{"error", model.error().diagnostic.message}});
    return 0;
  }
  const std::string written = wire::to_bytes(*model);
  const std::string text_again = wire::print_text(*model);
  const auto printed = wire::parse_text(text_again, "printed");
  if (!printed) {
    fuzz::broken("what is printed can be parsed",
                 {{"text", text_again}, {"error", printed.error().diagnostic.message}});
  }
  if (wire::to_bytes(*printed) != written) {
    fuzz::broken("what is printed is parsed as the same message",
                 {{"text", text_again}, {"text of what was parsed", wire::print_text(*printed)}});
  }
  if (written.empty()) return 0;
  const auto read = wire::read_binary(MappedFile::from_bytes(written));
  if (!read) fuzz::broken("what is written can be read", {{"error", read.error().diagnostic.message}});
  return 0;
}
