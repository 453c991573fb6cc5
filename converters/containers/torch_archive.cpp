#include "converters/containers/torch_archive.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "converters/containers/elem_names.h"
namespace onnxkit::containers {
namespace {

using wire::ZipArchive;
using wire::ZipEntry;

/// All that weights need. None of them is ever looked up: they are names that the reader below gives a meaning.
constexpr std::array<std::string_view, 16> weight_names = {
    "collections.OrderedDict",
    "torch._utils._rebuild_tensor",
    "torch._utils._rebuild_tensor_v2",
    "torch._utils._rebuild_tensor_v3",
    "torch._utils._rebuild_parameter",
    "torch._utils._rebuild_parameter_with_state",
    "torch.*Storage",
    "torch.Size",
    "torch.device",
    "torch.jit._pickle.restore_type_tag",
    "torch.jit._pickle.build_intlist",
    "torch.jit._pickle.build_doublelist",
    "torch.jit._pickle.build_boollist",
    "torch.jit._pickle.build_tensorlist",
    "torch.float*",
    "torch.uint*",
};

constexpr std::string_view class_prefix = "__torch__.";

/// By the class of a storage, or the type itself where it has none (_rebuild_tensor_v3).
ElementType type_named(std::optional<std::string_view> name) {
  constexpr std::string_view module = "torch.";
  if (!name || !name->starts_with(module)) return ElementType::undefined;
  const std::string_view word = name->substr(module.size());
  const ElementType stored = elem_named(word, &ElemNames::torch_storage);
  return stored != ElementType::undefined ? stored : elem_named(word, &ElemNames::torch_dtype);
}

std::optional<std::vector<std::int64_t>> integers_of(Pickle list) {
  // A torch.Size is a call with a tuple.
  if (list.callee().global() == "torch.Size") list = list.arguments()[0];
  if (!list.is_tuple() && !list.is_list()) return std::nullopt;
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto value = list[i].integer();
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

Error malformed_tensor(std::string_view name, std::string_view what) {
  return make_error("malformed-model", fmt::format("weight {}: {}", quote(name), what));
}

}  // namespace

std::string root_of(const ZipArchive& archive) {
  if (archive.entries().empty()) return {};
  const std::string& first = archive.entries().front().name;
  return first.substr(0, first.find('/') + 1);
}

std::uint64_t most_unpacked(const ZipEntry& entry) {
  constexpr std::uint64_t small = std::uint64_t{1} << 26, most_expansion = 64;
  return std::max(small, most_expansion * entry.packed_size);
}

Result<void> check_byte_order(const ZipArchive& archive, const std::string& root) {
  const ZipEntry* entry = archive.find(root + "byteorder");
  if (!entry) return {};
  constexpr std::uint64_t most = 64;
  const auto order = archive.unpack(*entry, most);
  if (!order) return order.error();
  if (order->starts_with("little")) return {};
  return make_error("not-supported", "the weights are not little-endian");
}

bool TorchArchive::matches(const ZipArchive& archive) { return archive.find(root_of(archive) + "data.pkl") != nullptr; }

Result<TorchArchive> TorchArchive::open(std::shared_ptr<const MappedFile> file) {
  auto zip = ZipArchive::open(std::move(file));
  if (!zip) return std::move(zip).error();
  return open(*std::move(zip));
}

Result<TorchArchive> TorchArchive::open(ZipArchive zip) {
  TorchArchive archive(std::move(zip));
  if (auto order = check_byte_order(archive.zip_, archive.root_); !order) return std::move(order).error();
  return archive;
}

Result<std::unique_ptr<const PickleDocument>> TorchArchive::pickle(std::string_view name, bool has_classes) const {
  const ZipEntry* entry = zip_.find(root_ + std::string(name));
  if (!entry) return make_error("malformed-model", fmt::format("the archive has no entry {}", quote(name)));
  constexpr std::uint64_t most = std::uint64_t{1} << 28;
  auto bytes = zip_.unpack(*entry, most);
  if (!bytes) return std::move(bytes).error();
  return PickleDocument::parse(*std::move(bytes),
                               {.names = weight_names, .prefix = has_classes ? class_prefix : std::string_view()});
}

Result<std::span<const std::byte>> TorchArchive::storage(const std::string& path) {
  const ZipEntry* entry = zip_.find(path);
  if (!entry) return malformed_tensor(path, "the archive has no such entry");
  if (entry->is_stored) return zip_.packed_bytes(*entry);
  if (const auto known = unpacked_.find(path); known != unpacked_.end()) return known->second;
  auto content = zip_.unpack(*entry, most_unpacked(*entry));
  if (!content) return std::move(content).error();
  files_.push_back(MappedFile::from_bytes(*std::move(content)));
  return unpacked_.emplace(path, files_.back()->bytes()).first->second;
}

std::optional<TensorRecord> TorchArchive::record_of(Pickle value) {
  auto callee = value.callee().global();
  if (callee && callee->starts_with("torch._utils._rebuild_parameter")) {
    value = value.arguments()[0];
    callee = value.callee().global();
  }
  if (!callee || !callee->starts_with("torch._utils._rebuild_tensor")) return std::nullopt;
  const Pickle arguments = value.arguments(), id = arguments[0].persistent_id();
  TensorRecord record;
  if (id[0].text() == "storage") record.storage = id[2].text().value_or("");
  record.elem = type_named(callee->ends_with("_v3") ? arguments[6].global() : id[1].global());
  auto sizes = integers_of(arguments[2]), strides = integers_of(arguments[3]);
  const auto offset = arguments[1].integer();
  record.is_complete = !record.storage.empty() && sizes && strides && offset;
  if (record.is_complete) record.view = {*std::move(sizes), *std::move(strides), *offset};
  return record;
}

Result<std::optional<StoredTensor>> TorchArchive::tensor(Pickle value, std::string_view name, std::string_view folder) {
  const auto record = record_of(value);
  if (!record) return std::optional<StoredTensor>();
  if (!record->is_complete) return malformed_tensor(name, "it has no storage, or its sizes are no numbers");
  const auto bytes = storage(fmt::format("{}{}{}", root_, folder, record->storage));
  if (!bytes) return bytes.error();
  auto dense = dense_bytes(*bytes, record->view, record->elem, budget_, name);
  if (!dense) return std::move(dense).error();
  if (dense->copy) files_.push_back(std::move(dense->copy));
  return std::optional(StoredTensor{std::string(name), record->elem, record->view.sizes, dense->bytes});
}

namespace {

/// Gathers the tensors of nested dicts and modules.
class WeightWalk {
 public:
  explicit WeightWalk(TorchArchive& archive) : archive_(archive) {}

  Result<StoredTensors> run(Pickle root) {
    if (auto done = visit(state_of(root), ""); !done) return std::move(done).error();
    StoredTensors stored;
    stored.tensors = std::move(tensors_);
    stored.files = archive_.files();
    return stored;
  }

 private:
  /// The part of a checkpoint that is the module's.
  static Pickle state_of(Pickle root) {
    for (const std::string_view name : {"state_dict", "model_state_dict", "model", "module"})
      if (const Pickle inner = root[name]; inner.is_dict()) return inner;
    return root;
  }

  Result<void> visit(Pickle value, const std::string& path) {
    constexpr std::size_t deepest = 100, most_values = std::size_t{1} << 22;
    if (depth_ == deepest || ++visited_ > most_values)
      return make_error("nesting-depth", "the pickle holds values in one another too often");
    auto tensor = archive_.tensor(value, path);
    if (!tensor) return std::move(tensor).error();
    if (*tensor) {
      tensors_.push_back(**std::move(tensor));
      return {};
    }
    const Pickle parts = value.is_object() ? value.state() : value;
    ++depth_;
    for (std::size_t i = 0; parts.is_dict() && i < parts.size(); ++i) {
      std::string name(parts.key(i).text().value_or(""));
      if (const auto number = parts.key(i).integer()) name = std::to_string(*number);
      if (auto done = visit(parts.value(i), path.empty() ? name : path + "." + name); !done) return done;
    }
    --depth_;
    return {};
  }

  TorchArchive& archive_;
  std::vector<StoredTensor> tensors_;
  std::size_t depth_ = 0, visited_ = 0;
};

}  // namespace

Result<StoredTensors> read_torch_weights(const std::shared_ptr<const MappedFile>& file) {
  auto archive = TorchArchive::open(file);
  if (!archive) return std::move(archive).error();
  const bool is_script = archive->zip().find(archive->root() + "constants.pkl") != nullptr;
  const auto pickle = archive->pickle("data.pkl", is_script);
  if (!pickle) return pickle.error();
  return WeightWalk(*archive).run((*pickle)->root());
}

}  // namespace onnxkit::containers
