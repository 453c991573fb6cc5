// Any bytes: read_binary fails cleanly, or the model survives writing in binary and in text form.
#include <google/protobuf/stubs/logging.h>

#include <cstdint>
#include <string>

#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/binary/writer.h"
#include "libonnxkit/wire/text.h"
#include "onnx.pb.h"
#include "tests/fuzz/property.h"

using namespace onnxkit;

namespace {

/// Whether `again` encodes the message that `written` does: numbers may be encoded in more than one way. True when libprotobuf cannot tell,
/// since it looks into weights, which ours leaves alone.
bool same_message(const std::string& written, const std::string& again) {
  if (written == again) return true;
  const google::protobuf::LogSilencer silence;
  onnx::ModelProto first, second;
  return !first.ParsePartialFromString(written) ||
         (second.ParsePartialFromString(again) &&
          first.SerializePartialAsString() == second.SerializePartialAsString());
}

}  // namespace

extern "C" int fuzz_reader(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto model = wire::read_binary(MappedFile::from_bytes(std::move(bytes)));
  if (!model) return 0;
  const std::string written = wire::to_bytes(*model);
  if (written.empty()) return 0;
  if (wire::encoded_size(*model) != written.size()) fuzz::broken("encoded_size is the length of what is written");
  const auto again = wire::read_binary(MappedFile::from_bytes(written));
  if (!again) fuzz::broken("what is written can be read", {{"error", again.error().diagnostic.message}});
  if (wire::to_bytes(*again) != written) fuzz::broken("what is written is read and written alike");
  // Printing the numbers of large weights would only slow the search down.
  if (size > 1 << 16) return 0;
  const std::string text = wire::print_text(*model);
  const auto from_text = wire::parse_text(text, "text");
  if (!from_text)
    fuzz::broken("what is printed can be parsed", {{"text", text}, {"error", from_text.error().diagnostic.message}});
  if (!same_message(written, wire::to_bytes(*from_text))) {
    fuzz::broken("what is printed is parsed as the same message",
                 {{"text", text}, {"text of what was parsed", wire::print_text(*from_text)}});
  }
  return 0;
}
