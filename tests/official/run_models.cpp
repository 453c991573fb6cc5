// run_models FOLDER: the reference executor against recorded runs of exported models.
//
// FOLDER/manifest.json lists models with the tolerances of their recorded outputs: |got - want| <= atol + rtol * |want|. In a
// test_data_set_N, input_K.pb is the K-th input without an initializer, further ones replace the initializer that they name; an optional
// is stored as its content. Each model also runs on made-up inputs.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include "libonnxkit/compare/metrics/compare.h"
#include "libonnxkit/inputs/generate.h"
#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/external/external_data.h"
#include "reference/executor/executor.h"
#include "tests/official/data_set.h"

namespace {

namespace fs = std::filesystem;
using namespace onnxkit;

std::string run_model(const fs::path& path, const comparison::Tolerance& tolerance, const spec::OpTable& table) {
  const auto file = MappedFile::open(path);
  if (!file) return "the model cannot be opened";
  auto model = wire::read_binary(*file);
  if (!model || !model->graph) return "the model cannot be read";
  model->path = path;
  wire::ExternalData external(path);
  const auto tell = [](const Error& error) {
    std::string text = fmt::format("{} at {} ({}): {}", error.diagnostic.code, error.diagnostic.location.path(),
                                   error.diagnostic.location.op, error.diagnostic.message);
    for (const std::string& note : error.diagnostic.notes) text += "\n    " + note;
    return text;
  };
  const auto session = reference::Executor::make(
      *model, table, {.external_bytes = [&external](const ir::Tensor& tensor) { return external.bytes(tensor); }});
  if (!session) return tell(session.error());
  std::size_t sets = 0;
  for (const auto& entry : fs::directory_iterator(path.parent_path())) {
    if (!entry.is_directory() || !entry.path().filename().string().starts_with("test_data_set_")) continue;
    ++sets;
    const auto set = official::read_exported_set(*model->graph, entry.path());
    if (!set) return set.error().diagnostic.message;
    const auto outputs = (*session)->run(set->inputs, {});
    if (!outputs) return tell(outputs.error());
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      if (const auto differs = comparison::difference(set->outputs[i], (*outputs)[i], tolerance))
        return fmt::format("{}, output {}: {}", entry.path().filename().string(), i, *differs);
    }
  }
  if (sets == 0) return "no recorded data";
  const auto made = inputs::generate_inputs(*model, table, {}, {});
  if (!made) return tell(made.error());
  std::vector<Value> inputs;
  for (const inputs::GeneratedInput& input : made->inputs) inputs.push_back(input.value);
  const auto outputs = (*session)->run(inputs, {});
  return outputs ? "" : "on made-up inputs: " + tell(outputs.error());
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
    const comparison::Tolerance tolerance = {entry["rtol"].as<double>(), entry["atol"].as<double>(), 0};
    const fs::path path = folder / entry["folder"].as<std::string>() / name;
    const std::string fault = run_model(path, tolerance, table);
    ++(fault.empty() ? passed : failed);
    if (!fault.empty()) fmt::print("{}: {}\n", entry["folder"].as<std::string>(), fault);
  }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
