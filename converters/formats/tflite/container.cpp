#include "converters/formats/tflite/container.h"

#include <algorithm>

#include <fmt/format.h>

#include "tflite_generated.h"

namespace onnxkit::tflite {
namespace {

/// Tables refer to tables a few levels deep; a file that shares tables is verified once for each way to them.
constexpr flatbuffers::uoffset_t most_levels = 16;
constexpr flatbuffers::uoffset_t most_tables = 4'000'000;

}  // namespace

Result<const schema::Model*> verified_model(const MappedFile& file) {
  // Offsets have 32 bits, so tables end before 2 GiB; contents of buffers may lie behind.
  constexpr std::size_t most_bytes = FLATBUFFERS_MAX_BUFFER_SIZE - 1;
  const auto* start = reinterpret_cast<const std::uint8_t*>(file.bytes().data());
  const std::size_t size = std::min(file.bytes().size(), most_bytes);
  if (reinterpret_cast<std::uintptr_t>(start) % alignof(std::uint64_t) != 0)
    return make_error("malformed-model", "the model does not lie at an aligned address");
  flatbuffers::Verifier verifier(start, size, most_levels, most_tables);
  if (size < 8 || !schema::VerifyModelBuffer(verifier)) {
    Error error = make_error("malformed-model", "the tables of the TensorFlow Lite model are damaged");
    error.diagnostic.help = "an incomplete download looks so; download the file again";
    return error;
  }
  const schema::Model* model = schema::GetModel(start);
  constexpr std::uint32_t version = 3;
  if (model->version() != version)
    return make_error("not-supported", fmt::format("version {} of TensorFlow Lite models is unknown, {} is read",
                                                   model->version(), version));
  return model;
}

Result<std::span<const std::byte>> buffer_bytes(const MappedFile& file, const schema::Model& model,
                                                std::uint32_t buffer) {
  if (buffer == 0) return std::span<const std::byte>();
  const auto* buffers = model.buffers();
  const schema::Buffer* found = buffers && buffer < buffers->size() ? buffers->Get(buffer) : nullptr;
  if (!found) return make_error("malformed-model", fmt::format("buffer {} does not exist", buffer));
  if (found->data() && found->data()->size() > 0)
    return std::as_bytes(std::span(found->data()->data(), found->data()->size()));
  // Contents behind the tables; 0 and 1 stand for none.
  if (found->offset() <= 1 || found->size() <= 1) return std::span<const std::byte>();
  const std::uint64_t size = file.bytes().size();
  if (found->offset() > size || found->size() > size - found->offset())
    return make_error("malformed-model", fmt::format("buffer {} of {} bytes at {} ends behind the file of {} bytes",
                                                     buffer, found->size(), found->offset(), size));
  return file.bytes().subspan(found->offset(), found->size());
}

}  // namespace onnxkit::tflite
