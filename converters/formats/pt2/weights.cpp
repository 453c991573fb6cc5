#include "converters/formats/pt2/weights.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include <fmt/format.h>

#include "converters/formats/pt2/dtype.h"
#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::pt2 {
namespace {

using containers::Json;
using containers::JsonDocument;

Error malformed_weight(std::string_view name, std::string_view what) {
  return make_error("malformed-model", fmt::format("weight {}: {}", quote(name), what));
}

/// Sizes, strides in elements and the offset of a tensor in its storage.
struct StridedView {
  std::vector<std::int64_t> sizes, strides;
  std::int64_t offset = 0;

  bool is_contiguous() const {
    std::int64_t expected = 1;
    for (std::size_t axis = sizes.size(); axis-- > 0;) {
      if (sizes[axis] != 1 && strides[axis] != expected) return false;
      expected *= std::max<std::int64_t>(sizes[axis], 1);
    }
    return true;
  }

  /// One behind the last element of the storage that is read; nullopt for negative numbers and overflow.
  std::optional<std::int64_t> end() const {
    std::int64_t last = offset;
    if (offset < 0) return std::nullopt;
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      if (sizes[axis] < 0 || strides[axis] < 0) return std::nullopt;
      if (sizes[axis] == 0) return offset;
      const auto reach = checked_mul(sizes[axis] - 1, strides[axis]);
      const auto sum = reach ? checked_add(last, *reach) : std::nullopt;
      if (!sum) return std::nullopt;
      last = *sum;
    }
    return checked_add<std::int64_t>(last, 1);
  }
};

std::optional<std::vector<std::int64_t>> constants_of(Json sizes) {
  std::vector<std::int64_t> values;
  for (const Json size : sizes) {
    const auto constant = size["as_int"].integer();
    if (!constant) return std::nullopt;
    values.push_back(*constant);
  }
  return values;
}

/// The elements of a view, one behind the other.
std::string gathered(std::span<const std::byte> storage, const StridedView& view, std::size_t width,
                     std::int64_t count) {
  std::string packed(static_cast<std::size_t>(count) * width, '\0');
  std::vector<std::int64_t> at(view.sizes.size(), 0);
  std::int64_t from = view.offset;
  for (std::int64_t n = 0; n < count; ++n) {
    std::memcpy(packed.data() + static_cast<std::size_t>(n) * width,
                storage.data() + static_cast<std::size_t>(from) * width, width);
    for (std::size_t axis = at.size(); axis-- > 0;) {
      from += view.strides[axis];
      if (++at[axis] < view.sizes[axis]) break;
      from -= view.strides[axis] * view.sizes[axis];
      at[axis] = 0;
    }
  }
  return packed;
}

class WeightReader {
 public:
  WeightReader(const wire::ZipArchive& archive, std::string root, foreign::Model& model)
      : archive_(archive), root_(std::move(root)), model_(model) {}

  /// Reads which entries hold which tensors. A file that is not there lists none.
  Result<void> add_config(const std::string& folder, const std::string& file) {
    const wire::ZipEntry* entry = archive_.find(root_ + folder + file);
    if (!entry) return {};
    constexpr std::uint64_t most = std::uint64_t{1} << 30;
    const auto text = archive_.unpack(*entry, most);
    if (!text) return text.error();
    auto document = JsonDocument::parse(*text);
    if (!document) return std::move(document).error();
    std::shared_ptr<const JsonDocument> kept = *std::move(document);
    for (const Json weight : kept->root()["config"]) configs_.emplace(weight.name(), std::pair(folder, weight));
    model_.documents.push_back(std::move(kept));
    return {};
  }

  Result<foreign::Tensor> read(const InputSpec& input) {
    const auto found = configs_.find(input.name);
    if (found == configs_.end()) return malformed_weight(input.name, "the archive does not have it");
    const auto& [folder, config] = found->second;
    if (config["use_pickle"].boolean().value_or(false))
      return make_error("not-supported",
                        fmt::format("weight {} is a pickled object, which is never read", quote(input.name)));
    const Json meta = config["tensor_meta"];
    foreign::Tensor tensor;
    tensor.value = input.value;
    tensor.name = input.name;
    tensor.elem = elem_of(meta["dtype"].integer().value_or(0));
    const auto width = packed_size(tensor.elem, 1);
    if (!width || *width == 0) return malformed_weight(input.name, "ONNX does not have its element type");
    auto sizes = constants_of(meta["sizes"]), strides = constants_of(meta["strides"]);
    if (!sizes || !strides || sizes->size() != strides->size())
      return malformed_weight(input.name, "its sizes are no numbers");
    const StridedView view{*std::move(sizes), *std::move(strides),
                           meta["storage_offset"]["as_int"].integer().value_or(0)};
    const auto storage = storage_of(folder, config["path_name"].text().value_or(""));
    if (!storage) return storage.error();
    tensor.dims = view.sizes;
    auto bytes = bytes_of(*storage, view, *width, input.name);
    if (!bytes) return std::move(bytes).error();
    tensor.bytes = *bytes;
    return tensor;
  }

 private:
  /// The bytes of a storage: in place, or unpacked once.
  Result<std::span<const std::byte>> storage_of(const std::string& folder, std::string_view path) {
    const std::string name = root_ + folder + std::string(path);
    const wire::ZipEntry* entry = archive_.find(name);
    if (!entry) return malformed_weight(name, "the archive has no such entry");
    if (entry->is_stored) return archive_.packed_bytes(*entry);
    if (const auto known = unpacked_.find(name); known != unpacked_.end()) return known->second;
    constexpr std::uint64_t most_expansion = 1100;  // deflate packs 1032 to 1 at best
    auto content = archive_.unpack(*entry, most_expansion * entry->packed_size);
    if (!content) return std::move(content).error();
    model_.files.push_back(MappedFile::from_bytes(*std::move(content)));
    return unpacked_.emplace(name, model_.files.back()->bytes()).first->second;
  }

  Result<std::span<const std::byte>> bytes_of(std::span<const std::byte> storage, const StridedView& view,
                                              std::size_t width, std::string_view name) {
    const auto end = view.end();
    const auto count = checked_element_count(view.sizes);
    const auto reach = end ? checked_mul(*end, static_cast<std::int64_t>(width)) : std::nullopt;
    if (!count || !reach || static_cast<std::uint64_t>(*reach) > storage.size())
      return malformed_weight(name, "it reaches beyond its storage");
    const std::size_t offset = static_cast<std::size_t>(view.offset) * width;
    if (view.is_contiguous())
      return storage.subspan(*count == 0 ? 0 : offset, static_cast<std::size_t>(*count) * width);
    // Strides of 0 repeat elements without end.
    constexpr std::int64_t most_repetition = 64, always_allowed = std::int64_t{1} << 20;
    if (*count > always_allowed && *count / most_repetition > static_cast<std::int64_t>(storage.size() / width))
      return make_error("memory-limit", fmt::format("weight {} repeats its storage too often", quote(name)));
    model_.files.push_back(MappedFile::from_bytes(gathered(storage, view, width, *count)));
    return model_.files.back()->bytes();
  }

  const wire::ZipArchive& archive_;
  std::string root_;
  foreign::Model& model_;
  std::unordered_map<std::string_view, std::pair<std::string, Json>> configs_;
  std::unordered_map<std::string, std::span<const std::byte>> unpacked_;
};

}  // namespace

Result<void> add_weights(const wire::ZipArchive& archive, const std::string& root, const std::string& name,
                         Program& program) {
  foreign::Model& model = program.model;
  model.files.push_back(archive.file());
  WeightReader reader(archive, root, model);
  if (auto read = reader.add_config("data/weights/", name + "_weights_config.json"); !read) return read;
  if (auto read = reader.add_config("data/constants/", name + "_constants_config.json"); !read) return read;
  std::vector<foreign::ValueId> inputs;
  for (const InputSpec& input : program.inputs) {
    if (input.kind == InputSpec::Kind::user) {
      if (input.value != foreign::ValueId::none) inputs.push_back(input.value);
      continue;
    }
    auto tensor = reader.read(input);
    if (!tensor) return std::move(tensor).error();
    model.graph.tensors.push_back(*std::move(tensor));
  }
  model.graph.inputs = std::move(inputs);
  return {};
}

}  // namespace onnxkit::pt2
