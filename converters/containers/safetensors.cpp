#include "converters/containers/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "converters/containers/elem_names.h"
#include "converters/containers/json.h"
#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::containers {
namespace {

Error malformed_safetensors(std::string message) { return make_error("malformed-safetensors", std::move(message)); }

std::optional<std::uint64_t> header_size(std::string_view content) {
  std::uint64_t size = 0;
  if (content.size() < sizeof size) return std::nullopt;
  std::memcpy(&size, content.data(), sizeof size);
  if (size > content.size() - sizeof size) return std::nullopt;
  return size;
}

Result<StoredTensor> read_entry(Json entry, std::span<const std::byte> data) {
  StoredTensor tensor;
  tensor.name = entry.name();
  const std::string_view type = entry["dtype"].text().value_or("");
  tensor.elem = elem_named(type, &ElemNames::safetensors);
  if (tensor.elem == ElementType::undefined)
    return make_error("not-supported",
                      fmt::format("tensor {} has type {}, which ONNX does not have", quote(tensor.name), quote(type)));
  for (const Json size : entry["shape"]) tensor.dims.push_back(size.integer().value_or(-1));
  const auto count = checked_element_count(tensor.dims);
  const auto bytes = count ? packed_size(tensor.elem, *count) : std::nullopt;
  if (!bytes) return malformed_safetensors(fmt::format("the shape of tensor {} is none", quote(tensor.name)));
  std::vector<std::int64_t> range;
  for (const Json offset : entry["data_offsets"]) range.push_back(offset.integer().value_or(-1));
  const bool is_range =
      range.size() == 2 && range[0] >= 0 && range[1] >= range[0] && static_cast<std::uint64_t>(range[1]) <= data.size();
  if (!is_range)
    return malformed_safetensors(fmt::format("tensor {} reaches beyond the end of the file", quote(tensor.name)));
  if (static_cast<std::uint64_t>(range[1] - range[0]) != *bytes)
    return malformed_safetensors(
        fmt::format("tensor {} has {} bytes, which does not fit its shape", quote(tensor.name), range[1] - range[0]));
  tensor.bytes = data.subspan(static_cast<std::size_t>(range[0]), static_cast<std::size_t>(*bytes));
  return tensor;
}

}  // namespace

bool is_safetensors(const MappedFile& file) {
  const std::string_view content = file.view();
  return header_size(content) && content.substr(sizeof(std::uint64_t)).starts_with('{');
}

Result<StoredTensors> read_safetensors(const std::shared_ptr<const MappedFile>& file) {
  const auto size = header_size(file->view());
  if (!size) return malformed_safetensors("the header ends behind the file");
  const std::size_t begin = sizeof(std::uint64_t) + static_cast<std::size_t>(*size);
  const auto document =
      JsonDocument::parse(file->view().substr(sizeof(std::uint64_t), static_cast<std::size_t>(*size)));
  if (!document) return document.error();
  if (!(*document)->root().is_object()) return malformed_safetensors("the header is not an object");
  StoredTensors stored;
  for (const Json entry : (*document)->root()) {
    if (entry.name() == "__metadata__") continue;
    auto tensor = read_entry(entry, file->bytes().subspan(begin));
    if (!tensor) return std::move(tensor).error();
    stored.tensors.push_back(*std::move(tensor));
  }
  stored.files.push_back(file);
  return stored;
}

}  // namespace onnxkit::containers
