// Any bytes: read_binary fails cleanly, or the model survives writing in binary and in text form.
#include <google/protobuf/stubs/logging.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "libonnxkit/wire/reader.h"
#include "libonnxkit/wire/text.h"
#include "libonnxkit/wire/writer.h"
#include "onnx.pb.h"

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

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto model = wire::read_binary(MappedFile::from_bytes(std::move(bytes)));
  if (!model) return 0;
  const std::string written = wire::to_bytes(*model);
  if (written.empty()) return 0;
  const auto again = wire::read_binary(MappedFile::from_bytes(written));
  if (!again || wire::to_bytes(*again) != written || wire::encoded_size(*model) != written.size()) std::abort();
  // Printing the numbers of large weights would only slow the search down.
  if (size > 1 << 16) return 0;
  const auto from_text = wire::parse_text(wire::print_text(*model), "text");
  if (!from_text || !same_message(written, wire::to_bytes(*from_text))) std::abort();
  return 0;
}
