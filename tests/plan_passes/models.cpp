#include "tests/plan_passes/models.h"

#include <fstream>
#include <iterator>

#include "libonnxkit/inputs/generate.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/patch.h"
#include "libonnxkit/ir/uses.h"
#include "libonnxkit/plan/build.h"
#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/text.h"
#include "tests/official/data_set.h"

namespace onnxkit::plan_cases {

namespace fs = std::filesystem;

const std::shared_ptr<const spec::OpTable>& table() {
  static const auto made = std::make_shared<const spec::OpTable>();
  return made;
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<Value> made_up(const ir::Model& model) {
  std::vector<Value> inputs;
  if (const auto made = inputs::generate_inputs(model, *table(), {}, {})) {
    for (const inputs::GeneratedInput& input : made->inputs) inputs.push_back(input.value);
  }
  return inputs;
}

namespace {

/// As a plan sees it: inputs have the sizes of their values, and an initializer is a constant unless a value is given.
void fix_inputs(ir::Model& model, std::vector<Value>& inputs) {
  ir::Graph& graph = *model.graph;
  const ir::InitializerTable stored(graph);
  ir::Patch patch(graph);
  std::vector<ir::ValueInfo> kept;
  std::vector<Value> given;
  inputs.resize(graph.inputs.size());
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    ir::ValueInfo& input = graph.inputs[i];
    const bool is_given = inputs[i].kind != ValueKind::none;
    if (stored.contains(input.value) && !is_given) continue;
    if (stored.contains(input.value)) patch.drop_initializer(input.value);
    kept.push_back(ir::clone(input));
    given.push_back(inputs[i]);
    auto& type = kept.back().type;
    if (!inputs[i].is_tensor() || !type || type->kind != ir::DeclaredType::Kind::tensor) continue;
    type->shape.emplace();
    for (const std::int64_t size : inputs[i].tensor.dims()) type->shape->dims.emplace_back().value = size;
  }
  ir::splice(graph, std::move(patch));
  graph.inputs = std::move(kept);
  inputs = std::move(given);
  graph.value_infos.clear();
  for (ir::ValueInfo& output : graph.outputs) {
    if (output.type && output.type->kind == ir::DeclaredType::Kind::tensor) output.type->shape.reset();
  }
}

Result<ir::Model> read(const fs::path& path) {
  if (path.extension() == ".onnxtxt") return wire::parse_text(content_of(path), "test");
  const auto file = MappedFile::open(path);
  if (!file) return file.error();
  auto model = wire::read_binary(*file);
  if (model) model->path = path;
  return model;
}

}  // namespace

std::optional<Loaded> load_as_is(const fs::path& path) {
  auto model = read(path);
  if (!model || !model->graph) return std::nullopt;
  Loaded loaded{*std::move(model), {}};
  const fs::path set = path.parent_path() / "test_data_set_0";
  if (fs::exists(set)) {
    if (auto data = official::read_exported_set(*loaded.model.graph, set)) loaded.inputs = std::move(data->inputs);
  } else {
    loaded.inputs = made_up(loaded.model);
  }
  return loaded;
}

std::optional<Loaded> load(const fs::path& path) {
  auto loaded = load_as_is(path);
  if (!loaded) return std::nullopt;
  loaded->model = plan::newest(loaded->model);
  loaded->model.path = path;
  loaded->model.ir_version = spec::newest_ir_version();  // in which initializers need not be inputs
  fix_inputs(loaded->model, loaded->inputs);
  return loaded;
}

}  // namespace onnxkit::plan_cases
