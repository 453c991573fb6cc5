// Any bytes as a file of values (.npy, .npz, or one of four messages): reading fails cleanly, or what is read survives writing.
#include <cstdint>
#include <string>

#include "libonnxkit/wire/values/npz.h"
#include "libonnxkit/wire/values/tensor_proto.h"
#include "tests/fuzz/property.h"

using namespace onnxkit;

namespace {

void check_array(const Result<Tensor>& tensor) {
  if (!tensor) return;
  const auto written = wire::write_npy(*tensor);
  if (!written) fuzz::broken("what is read can be written", {{"error", written.error().diagnostic.message}});
  const auto again = wire::read_npy(MappedFile::from_bytes(*written));
  if (!again) fuzz::broken("what is written can be read", {{"error", again.error().diagnostic.message}});
  if (wire::write_npy(*again).ok() && *wire::write_npy(*again) != *written)
    fuzz::broken("what is written is read and written alike");
}

void check_archive(const std::shared_ptr<const MappedFile>& file) {
  const auto values = wire::read_npz(file);
  if (!values) return;
  const auto written = wire::write_npz(*values, {.compress = true});
  if (!written) fuzz::broken("what is read can be written", {{"error", written.error().diagnostic.message}});
  const auto again = wire::read_npz(MappedFile::from_bytes(*written));
  if (!again || again->size() != values->size()) fuzz::broken("what is written can be read");
}

void check_message(const std::shared_ptr<const MappedFile>& file, ValueKind kind) {
  const auto read = wire::read_value(file, kind);
  if (!read) return;
  const std::string written = wire::write_value(read->value, read->name);
  const auto again = wire::read_value(MappedFile::from_bytes(written), kind);
  if (!again) fuzz::broken("what is written can be read", {{"error", again.error().diagnostic.message}});
  if (wire::write_value(again->value, again->name) != written)
    fuzz::broken("what is written is read and written alike");
}

}  // namespace

extern "C" int fuzz_values(const std::uint8_t* data, std::size_t size) {
  const auto file = MappedFile::from_bytes({reinterpret_cast<const char*>(data), size});
  if (file->view().starts_with("PK")) {
    check_archive(file);
  } else if (file->view().starts_with("\x93NUMPY")) {
    for (const ElementType voids : {ElementType::undefined, ElementType::int4, ElementType::bfloat16})
      check_array(wire::read_npy(file, {.void_type = voids}));
  } else {
    for (const ValueKind kind : {ValueKind::tensor, ValueKind::sequence, ValueKind::optional, ValueKind::map})
      check_message(file, kind);
  }
  return 0;
}
