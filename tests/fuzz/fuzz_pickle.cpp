// A pickle, a zip archive of torch.save or a safetensors file: an error with code and message, or tensors whose bytes fit their shapes.
#include <cstdint>
#include <string>

#include "converters/containers/safetensors.h"
#include "converters/containers/torch_archive.h"
#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/dtype/dtype.h"
#include "tests/fuzz/property.h"

using namespace onnxkit;

namespace {

void expect_message(const Error& error) {
  if (error.diagnostic.code.empty() || error.diagnostic.message.empty())
    fuzz::broken("an error has a code and a message");
}

void expect_tensors(const Result<containers::StoredTensors>& stored) {
  if (!stored) return expect_message(stored.error());
  unsigned sum = 0;
  for (const containers::StoredTensor& tensor : stored->tensors) {
    const auto count = checked_element_count(tensor.dims);
    if (!count || packed_size(tensor.elem, *count) != tensor.bytes.size())
      fuzz::broken("the bytes of a tensor fit its shape", {{"tensor", tensor.name}});
    if (!tensor.bytes.empty())
      sum += static_cast<unsigned>(tensor.bytes.front()) + static_cast<unsigned>(tensor.bytes.back());
  }
  volatile unsigned read = sum;  // so that the bytes are there
  (void)read;
}

}  // namespace

extern "C" int fuzz_pickle(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto file = MappedFile::from_bytes(bytes);
  if (bytes.starts_with("PK")) {
    expect_tensors(containers::read_torch_weights(file));
  } else if (containers::is_safetensors(*file)) {
    expect_tensors(containers::read_safetensors(file));
  } else {
    constexpr std::string_view names[] = {"collections.OrderedDict", "torch._utils._rebuild_tensor_v2",
                                          "torch.*Storage"};
    const auto document = containers::PickleDocument::parse(std::move(bytes), {.names = names, .prefix = "__torch__."});
    if (!document) expect_message(document.error());
  }
  return 0;
}
