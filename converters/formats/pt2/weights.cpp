#include "converters/formats/pt2/weights.h"

#include <unordered_map>

#include <fmt/format.h>

#include "converters/containers/strided.h"
#include "converters/containers/torch_archive.h"
#include "converters/formats/pt2/dtype.h"

namespace onnxkit::pt2 {
namespace {

using containers::Json;
using containers::JsonDocument;

Error malformed_weight(std::string_view name, std::string_view what) {
  return make_error("malformed-model", fmt::format("weight {}: {}", quote(name), what));
}

std::optional<std::vector<std::int64_t>> constants_of(Json sizes) {
  std::vector<std::int64_t> values;
  for (const Json size : sizes) {
    const auto constant = size["as_int"].integer();
    if (!constant) return std::nullopt;
    values.push_back(*constant);
  }
  return values;
}

class WeightReader {
 public:
  WeightReader(const wire::ZipArchive& archive, std::string root, foreign::Model& model)
      : archive_(archive), root_(std::move(root)), model_(model), budget_(archive.file()->bytes().size()) {}

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
    auto sizes = constants_of(meta["sizes"]), strides = constants_of(meta["strides"]);
    if (!sizes || !strides || sizes->size() != strides->size())
      return malformed_weight(input.name, "its sizes are no numbers");
    const containers::StridedView view{*std::move(sizes), *std::move(strides),
                                       meta["storage_offset"]["as_int"].integer().value_or(0)};
    const auto storage = storage_of(folder, config["path_name"].text().value_or(""));
    if (!storage) return storage.error();
    tensor.dims = view.sizes;
    auto dense = containers::dense_bytes(*storage, view, tensor.elem, budget_, input.name);
    if (!dense) return std::move(dense).error();
    if (dense->copy) model_.files.push_back(std::move(dense->copy));
    tensor.bytes = dense->bytes;
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
    auto content = archive_.unpack(*entry, containers::most_unpacked(*entry));
    if (!content) return std::move(content).error();
    model_.files.push_back(MappedFile::from_bytes(*std::move(content)));
    return unpacked_.emplace(name, model_.files.back()->bytes()).first->second;
  }

  const wire::ZipArchive& archive_;
  std::string root_;
  foreign::Model& model_;
  containers::CopyBudget budget_;
  std::unordered_map<std::string_view, std::pair<std::string, Json>> configs_;
  std::unordered_map<std::string, std::span<const std::byte>> unpacked_;
};

/// The tensors of archives that lie in an archive.
class PickledWeights {
 public:
  explicit PickledWeights(foreign::Model& model) : model_(model) {}

  /// What is not there, or empty, has no tensors.
  Result<void> add(const wire::ZipArchive& archive, const std::string& name) {
    const wire::ZipEntry* entry = archive.find(name);
    if (!entry || entry->size == 0) return {};
    auto zip = archive.open_inner(*entry, containers::most_unpacked(*entry));
    if (!zip) return std::move(zip).error();
    auto inner = containers::TorchArchive::open(*std::move(zip));
    if (!inner) return std::move(inner).error();
    auto pickle = inner->pickle("data.pkl", false);
    if (!pickle) return std::move(pickle).error();
    const containers::Pickle tensors = (*pickle)->root();
    for (std::size_t i = 0; tensors.is_dict() && i < tensors.size(); ++i)
      if (const auto key = tensors.key(i).text()) places_.emplace(*key, Place{parts_.size(), tensors.value(i)});
    parts_.push_back({*std::move(inner), *std::move(pickle)});
    return {};
  }

  Result<foreign::Tensor> read(const InputSpec& input) {
    const auto found = places_.find(input.name);
    if (found == places_.end()) return malformed_weight(input.name, "the archive does not have it");
    auto stored = parts_[found->second.part].archive.tensor(found->second.value, input.name);
    if (!stored) return std::move(stored).error();
    if (!*stored)
      return make_error("not-supported",
                        fmt::format("weight {} is a pickled object, which is never read", quote(input.name)));
    foreign::Tensor tensor;
    tensor.value = input.value;
    tensor.name = input.name;
    tensor.elem = (*stored)->elem;
    tensor.dims = (*stored)->dims;
    tensor.bytes = (*stored)->bytes;
    return tensor;
  }

  void keep_files() {
    for (const Part& part : parts_)
      model_.files.insert(model_.files.end(), part.archive.files().begin(), part.archive.files().end());
  }

 private:
  struct Part {
    containers::TorchArchive archive;
    std::unique_ptr<const containers::PickleDocument> pickle;
  };
  struct Place {
    std::size_t part = 0;
    containers::Pickle value;
  };

  foreign::Model& model_;
  std::vector<Part> parts_;
  std::unordered_map<std::string_view, Place> places_;  ///< names lie in the pickles
};

/// Gives each input that is no argument its tensor.
template <typename Weights>
Result<void> attach(Weights& weights, Program& program) {
  foreign::Graph& graph = program.model.graph;
  std::vector<foreign::ValueId> inputs;
  for (const InputSpec& input : program.inputs) {
    if (input.kind == InputSpec::Kind::user) {
      if (input.value != foreign::ValueId::none) inputs.push_back(input.value);
      continue;
    }
    auto tensor = weights.read(input);
    if (!tensor) return std::move(tensor).error();
    graph.tensors.push_back(*std::move(tensor));
  }
  graph.inputs = std::move(inputs);
  return {};
}

}  // namespace

Result<void> add_weights(const wire::ZipArchive& archive, const std::string& root, const std::string& name,
                         Program& program) {
  foreign::Model& model = program.model;
  model.files.push_back(archive.file());
  WeightReader reader(archive, root, model);
  if (auto read = reader.add_config("data/weights/", name + "_weights_config.json"); !read) return read;
  if (auto read = reader.add_config("data/constants/", name + "_constants_config.json"); !read) return read;
  return attach(reader, program);
}

Result<void> add_pickled_weights(const wire::ZipArchive& archive, const std::string& root, Program& program) {
  PickledWeights weights(program.model);
  for (const std::string_view entry : {"serialized_state_dict.pt", "serialized_constants.pt"})
    if (auto read = weights.add(archive, root + std::string(entry)); !read) return read;
  auto attached = attach(weights, program);
  weights.keep_files();
  return attached;
}

}  // namespace onnxkit::pt2
