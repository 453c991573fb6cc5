#include "converters/formats/torchscript/module.h"

#include <algorithm>

#include <fmt/format.h>

namespace onnxkit::torchscript {
namespace {

using containers::Pickle;
using containers::TorchArchive;

/// "code/__torch__/torch/nn/modules/conv.py" as "__torch__.torch.nn.modules.conv"
std::string module_name(std::string_view path) {
  constexpr std::string_view folder = "code/", ending = ".py";
  std::string name(path.substr(folder.size(), path.size() - folder.size() - ending.size()));
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

Result<void> read_code(Module& module) {
  const std::string folder = module.archive.root() + "code/";
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 26;
  std::uint64_t total = 0;
  for (const wire::ZipEntry& entry : module.archive.zip().entries()) {
    if (!entry.name.starts_with(folder) || !entry.name.ends_with(".py")) continue;
    total += entry.size;
    if (total > most_bytes) return make_error("memory-limit", "the code of the model is too large");
    auto text = module.archive.zip().unpack(entry, most_bytes);
    if (!text) return std::move(text).error();
    const std::string path = entry.name.substr(module.archive.root().size());
    module.sources.push_back(std::make_unique<const std::string>(*std::move(text)));
    auto file = parse_source(*module.sources.back(), path);
    if (!file) return std::move(file).error();
    module.files.push_back(std::make_unique<const SourceFile>(*std::move(file)));
    const std::string name = module_name(path);
    for (const Class& made : module.files.back()->classes)
      module.classes.emplace(fmt::format("{}.{}", name, made.name), &made);
    for (const Function& made : module.files.back()->functions)
      module.functions.emplace(fmt::format("{}.{}", name, made.name), &made);
  }
  return {};
}

/// {"forward": [tensor ...]}, each container in a call that names its type.
Pickle without_tag(Pickle value) {
  return value.callee().global() == "torch.jit._pickle.restore_type_tag" ? value.arguments()[0] : value;
}

/// Reads the example inputs, whose numbers are not stored. What a pickle holds may hold itself.
class TracedInputReader {
 public:
  std::optional<TracedInput> read(Pickle value, int depth) {
    constexpr int deepest = 16;
    constexpr std::size_t most = 10'000;
    if (depth > deepest || ++count_ > most) return std::nullopt;
    const auto tag = value.callee().global();
    if (tag && tag->starts_with("torch.jit._pickle.")) return read(value.arguments()[0], depth + 1);
    TracedInput input;
    if (const auto record = TorchArchive::record_of(value)) {
      if (!record->is_complete) return std::nullopt;
      input.kind = Item::Kind::tensor;
      input.elem = record->elem;
      input.dims = record->view.sizes;
      return input;
    }
    input.kind = value.is_tuple()  ? Item::Kind::tuple
                 : value.is_list() ? Item::Kind::list
                 : value.is_dict() ? Item::Kind::dict
                                   : Item::Kind::unknown;
    if (input.kind == Item::Kind::unknown) return std::nullopt;
    for (std::size_t i = 0; i < value.size(); ++i) {
      auto part = read(value.is_dict() ? value.value(i) : value[i], depth + 1);
      const auto key = value.is_dict() ? value.key(i).text() : std::optional<std::string_view>("");
      if (!part || !key) return std::nullopt;
      input.parts.push_back(*std::move(part));
      if (value.is_dict()) input.keys.emplace_back(*key);
    }
    return input;
  }

 private:
  std::size_t count_ = 0;
};

/// Archives of older versions have none.
void read_traced_inputs(Module& module) {
  constexpr std::string_view name = "traced_inputs.pkl";
  if (!module.archive.zip().find(module.archive.root() + std::string(name))) return;
  const auto pickle = module.archive.pickle(name, true);
  if (!pickle) return;
  auto inputs = TracedInputReader().read(without_tag((*pickle)->root())["forward"], 0);
  if (inputs) module.traced_inputs = std::move(inputs->parts);
}

}  // namespace

bool is_torchscript(const std::shared_ptr<const MappedFile>& file) {
  if (!file->view().starts_with("PK")) return false;
  const auto archive = wire::ZipArchive::open(file);
  if (!archive || !TorchArchive::matches(*archive)) return false;
  return archive->find(containers::root_of(*archive) + "constants.pkl") != nullptr;
}

Result<Module> read_module(std::shared_ptr<const MappedFile> file) {
  auto archive = TorchArchive::open(std::move(file));
  if (!archive) return std::move(archive).error();
  Module module{*std::move(archive), {}, {}, {}, {}, {}, {}, {}};
  auto objects = module.archive.pickle("data.pkl", true);
  if (!objects) return std::move(objects).error();
  module.objects = *std::move(objects);
  auto constants = module.archive.pickle("constants.pkl", true);
  if (!constants) return std::move(constants).error();
  module.constants = *std::move(constants);
  if (auto read = read_code(module); !read) return std::move(read).error();
  if (!module.root().is_object()) return make_error("malformed-model", "the archive has no module");
  read_traced_inputs(module);
  return module;
}

}  // namespace onnxkit::torchscript
