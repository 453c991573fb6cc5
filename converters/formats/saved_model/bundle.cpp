#include "converters/formats/saved_model/bundle.h"

#include <fmt/format.h>

#include "converters/containers/crc32c.h"
#include "converters/containers/protobuf.h"
#include "converters/containers/sorted_table.h"
#include "converters/formats/saved_model/dtype.h"
#include "converters/formats/saved_model/graph_def.h"
#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::saved_model {
namespace {

using containers::ProtoFields;

Error damaged_variable(std::string_view key, std::string_view what) {
  return make_error("malformed-model", fmt::format("variable {}: {}", quote(key), what));
}

/// BundleHeaderProto: how many shards there are; their bytes must be little-endian.
Result<std::int64_t> shards_of(std::string_view header) {
  bool damaged = false;
  std::int64_t shards = 0, endianness = 0;
  for (ProtoFields field(header, damaged); field.next();) {
    if (field.number() == 1) shards = field.integer();
    if (field.number() == 2) endianness = field.integer();
  }
  constexpr std::int64_t most = 99'999;  // five digits in the names of files
  if (damaged || shards < 1 || shards > most)
    return make_error("malformed-model", "the header of variables is damaged");
  if (endianness != 0) return make_error("not-supported", "the variables are not little-endian");
  return shards;
}

/// BundleEntryProto.
struct BundleEntry {
  std::int64_t type = 0, shard = 0, offset = 0, size = 0;
  std::vector<std::int64_t> dims;
  std::uint32_t checksum = 0;
  bool is_sliced = false, damaged = false;
};
BundleEntry read_bundle_entry(std::string_view message) {
  BundleEntry entry;
  for (ProtoFields field(message, entry.damaged); field.next();) {
    if (field.number() == 1) entry.type = field.integer();
    if (field.number() == 2)
      entry.dims = read_shape(field.bytes(), entry.damaged).value_or(std::vector<std::int64_t>{-1});
    if (field.number() == 3) entry.shard = field.integer();
    if (field.number() == 4) entry.offset = field.integer();
    if (field.number() == 5) entry.size = field.integer();
    if (field.number() == 6) field.fixed<std::uint32_t>([&](std::uint32_t crc) { entry.checksum = crc; });
    if (field.number() == 7) entry.is_sliced = true;
  }
  return entry;
}

}  // namespace

Result<VariablesBundle> VariablesBundle::open(const std::filesystem::path& model_folder) {
  VariablesBundle bundle;
  bundle.folder_ = model_folder;
  std::error_code status;
  const std::filesystem::path index = std::filesystem::path("variables") / "variables.index";
  if (!std::filesystem::exists(model_folder / index, status)) return bundle;
  const auto file = MappedFile::open_beneath(model_folder, index);
  if (!file) return file.error();
  auto entries = containers::read_sorted_table((*file)->view());
  if (!entries) return std::move(entries).error();
  if (entries->empty() || !entries->front().first.empty())
    return make_error("malformed-model", "the table of variables has no header");
  const auto shards = shards_of(entries->front().second);
  if (!shards) return shards.error();
  bundle.shards_ = *shards;
  for (auto& [key, value] : *entries) bundle.entries_.emplace(std::move(key), std::string(value));
  return bundle;
}

Result<std::shared_ptr<const MappedFile>> VariablesBundle::shard(std::int64_t number) {
  if (const auto known = open_.find(number); known != open_.end()) return known->second;
  const std::string name = fmt::format("variables.data-{:05}-of-{:05}", number, shards_);
  auto file = MappedFile::open_beneath(folder_, std::filesystem::path("variables") / name);
  if (file) open_.emplace(number, *file);
  return file;
}

Result<StoredTensor> VariablesBundle::tensor(std::string_view key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return damaged_variable(key, "it is not in the table of variables");
  const BundleEntry entry = read_bundle_entry(found->second);
  if (entry.damaged || entry.shard < 0 || entry.shard >= shards_ || entry.offset < 0 || entry.size < 0)
    return damaged_variable(key, "its entry is damaged");
  if (entry.is_sliced) return make_error("not-supported", fmt::format("variable {} is stored in slices", quote(key)));
  StoredTensor tensor{elem_of(entry.type), entry.dims, {}};
  if (tensor.elem == ElementType::undefined || tensor.elem == ElementType::string)
    return make_error("not-supported", fmt::format("variable {} is not a tensor of numbers", quote(key)));
  const auto count = checked_element_count(tensor.dims);
  const auto wanted = count ? packed_size(tensor.elem, *count) : std::nullopt;
  if (!wanted || static_cast<std::uint64_t>(*wanted) != static_cast<std::uint64_t>(entry.size))
    return damaged_variable(key, fmt::format("its {} bytes do not fit its shape", entry.size));
  const auto file = shard(entry.shard);
  if (!file) return file.error();
  const std::span<const std::byte> bytes = (*file)->bytes();
  const auto offset = static_cast<std::uint64_t>(entry.offset), size = static_cast<std::uint64_t>(entry.size);
  if (offset > bytes.size() || size > bytes.size() - offset)
    return damaged_variable(
        key, fmt::format("its {} bytes at {} end behind the file of {} bytes", size, offset, bytes.size()));
  tensor.bytes = bytes.subspan(offset, size);
  if (containers::masked_crc(containers::crc32c(tensor.bytes)) != entry.checksum)
    return damaged_variable(key, "its checksum differs");
  return tensor;
}

std::vector<std::shared_ptr<const MappedFile>> VariablesBundle::files() const {
  std::vector<std::shared_ptr<const MappedFile>> files;
  for (const auto& [number, file] : open_) files.push_back(file);
  return files;
}

}  // namespace onnxkit::saved_model
