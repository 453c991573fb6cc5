#include "converters/formats/pt2/example_inputs.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "converters/containers/elem_names.h"
#include "converters/containers/pickle_writer.h"
#include "libonnxkit/base/checked.h"
#include "libonnxkit/wire/zip/writer.h"

namespace onnxkit::pt2 {
namespace {

std::string_view storage_of(ElementType elem) {
  return containers::name_of_elem(elem, &containers::ElemNames::torch_storage);
}

/// Bytes of one input; nullopt where it cannot be stored.
std::optional<std::size_t> bytes_of(const ExampleInput& input) {
  const auto count = checked_element_count(input.dims);
  if (!count || storage_of(input.elem).empty()) return std::nullopt;
  return checked_mul(static_cast<std::size_t>(*count), static_cast<std::size_t>(storage_bits(input.elem)) / 8);
}

}  // namespace

std::string example_inputs(const std::vector<ExampleInput>& inputs) {
  constexpr std::size_t most_bytes = std::size_t{16} << 20, alignment = 64;
  containers::PickleWriter pickle;
  std::vector<std::size_t> sizes;
  std::size_t total = 0;
  pickle.mark().mark();
  for (const ExampleInput& input : inputs) {
    const auto bytes = bytes_of(input);
    if (!bytes || *bytes > most_bytes - total) return {};
    pickle.tensor(storage_of(input.elem), sizes.size(), input.dims);
    sizes.push_back(*bytes);
    total += *bytes;
  }
  pickle.tuple().empty_dictionary().tuple();
  std::string archive;
  wire::ZipWriter zip([&](std::string_view bytes) {
    archive += bytes;
    return Result<void>();
  });
  bool is_written = zip.add("model/data.pkl", pickle.finished()) && zip.add("model/byteorder", "little");
  for (std::size_t i = 0; i < sizes.size() && is_written; ++i)
    is_written = static_cast<bool>(zip.add(fmt::format("model/data/{}", i), {std::string(sizes[i], '\0')}, alignment));
  is_written = is_written && zip.add("model/version", "3\n") && zip.finish();
  return is_written ? archive : std::string();
}

}  // namespace onnxkit::pt2
