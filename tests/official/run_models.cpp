// run_models FOLDER: the reference executor against recorded runs of exported models.
//
// FOLDER/manifest.json lists models with the tolerances of their recorded outputs: |got - want| <= atol + rtol * |want|. In a
// test_data_set_N, input_K.pb is the K-th input without an initializer, further ones replace the initializer that they name; an optional
// is stored as its content.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include "libonnxkit/exec/compare.h"
#include "libonnxkit/exec/ports.h"
#include "libonnxkit/wire/external_data.h"
#include "libonnxkit/wire/reader.h"
#include "libonnxkit/wire/tensor_proto.h"
#include "reference/backend.h"
#include "tests/official/recorded.h"

namespace {

namespace fs = std::filesystem;
using namespace onnxkit;

/// The recorded value of something that is declared as `info`.
Result<NamedValue> read_value(const fs::path& path, const ir::ValueInfo& info) {
  const ir::DeclaredType::Kind kind = info.type ? info.type->kind : ir::DeclaredType::Kind::tensor;
  const auto file = MappedFile::open(path);
  if (!file) return file.error();
  if (kind != ir::DeclaredType::Kind::optional) {
    auto value = official::read_recorded(path, info);
    if (!value) return value.error();
    const auto named = wire::read_value(*file, value->kind);
    return NamedValue{named ? named->name : "", *std::move(value)};
  }
  auto content = wire::read_value(*file, ValueKind::tensor);
  if (!content) return content;
  return NamedValue{content->name, Value::optional(std::move(content->value))};
}

/// Puts the recorded inputs in their places; what is wrong, or nothing.
std::string read_inputs(const ir::Graph& graph, const fs::path& folder, std::vector<Value>& inputs) {
  const std::set<std::string_view> defaults = exec::default_names(graph);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (!defaults.contains(graph.name_of(graph.inputs[i].value))) open.push_back(i);
  }
  inputs.assign(graph.inputs.size(), {});
  const ir::ValueInfo unlisted;
  for (std::size_t k = 0; fs::exists(folder / fmt::format("input_{}.pb", k)); ++k) {
    const fs::path path = folder / fmt::format("input_{}.pb", k);
    const auto value = read_value(path, k < open.size() ? graph.inputs[open[k]] : unlisted);
    if (!value) return path.string() + ": " + value.error().diagnostic.message;
    std::size_t at = k < open.size() ? open[k] : graph.inputs.size();
    for (std::size_t i = 0; k >= open.size() && i < graph.inputs.size(); ++i) {
      if (graph.name_of(graph.inputs[i].value) == value->name) at = i;
    }
    if (at == graph.inputs.size()) return path.string() + ": no such input";
    inputs[at] = value->value;
  }
  return "";
}

std::string run_model(const fs::path& path, const exec::Tolerance& tolerance, const spec::OpTable& table) {
  const auto file = MappedFile::open(path);
  if (!file) return "the model cannot be opened";
  auto model = wire::read_binary(*file);
  if (!model || !model->graph) return "the model cannot be read";
  model->path = path;
  wire::ExternalData external(path);
  const auto tell = [](const Error& error) {
    std::string text = fmt::format("{} at {} ({}): {}", error.diagnostic.code, error.diagnostic.place.path(),
                                   error.diagnostic.place.op, error.diagnostic.message);
    for (const std::string& note : error.diagnostic.notes) text += "\n    " + note;
    return text;
  };
  const auto session = reference::ReferenceBackend().prepare(
      *model, table, {.external_bytes = [&external](const ir::Tensor& tensor) { return external.bytes(tensor); }});
  if (!session) return tell(session.error());
  std::size_t sets = 0;
  for (const auto& entry : fs::directory_iterator(path.parent_path())) {
    if (!entry.is_directory() || !entry.path().filename().string().starts_with("test_data_set_")) continue;
    ++sets;
    std::vector<Value> inputs;
    if (const std::string fault = read_inputs(*model->graph, entry.path(), inputs); !fault.empty()) return fault;
    const auto outputs = (*session)->run(inputs, {});
    if (!outputs) return tell(outputs.error());
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      const fs::path recorded = entry.path() / fmt::format("output_{}.pb", i);
      const auto expected = read_value(recorded, model->graph->outputs[i]);
      if (!expected) return recorded.string() + ": " + expected.error().diagnostic.message;
      if (const auto differs = exec::difference(expected->value, (*outputs)[i], tolerance))
        return fmt::format("{}, output {}: {}", entry.path().filename().string(), i, *differs);
    }
  }
  return sets == 0 ? "no recorded data" : "";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const fs::path folder = argv[1];
  const spec::OpTable table;
  std::size_t passed = 0, failed = 0;
  for (const YAML::Node& entry : YAML::LoadFile((folder / "manifest.json").string())["models"]) {
    const auto name = entry["model"] ? entry["model"].as<std::string>() : std::string();
    if (!name.ends_with(".onnx")) continue;
    const exec::Tolerance tolerance = {entry["rtol"].as<double>(), entry["atol"].as<double>(), 0};
    const fs::path path = folder / entry["folder"].as<std::string>() / name;
    const std::string fault = run_model(path, tolerance, table);
    ++(fault.empty() ? passed : failed);
    if (!fault.empty()) fmt::print("{}: {}\n", entry["folder"].as<std::string>(), fault);
  }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
