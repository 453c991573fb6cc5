// run_cases [--names FILE] [--corrections DIR] [--only TEXT]... FOLDER: the reference executor against recorded runs.
//
// Every model.onnx below FOLDER is run on each test_data_set_*/input_*.pb beside it; outputs must agree with output_*.pb within the official
// tolerance (relative 1e-3, of bfloat16 2^-6, absolute 1e-7; densenet121 2e-3), but for the six cases of random_cases.cpp. --names: cases that
// must be there. --corrections: outputs that replace recorded ones, CASE/output_N.pb (docs/semantics.md says why). --only: cases whose path holds TEXT.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "libonnxkit/compare/metrics/compare.h"
#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/external/external_data.h"
#include "reference/executor/executor.h"
#include "tests/official/data_set.h"
#include "tests/official/random_cases.h"
#include "tests/official/recorded.h"

namespace {

namespace fs = std::filesystem;
using namespace onnxkit;

/// What is wrong with one case; empty when nothing is.
std::string run_case(const fs::path& folder, const fs::path& corrections, const spec::OpTable& table) {
  const auto file = MappedFile::open(folder / "model.onnx");
  if (!file) return "the model cannot be opened";
  auto model = wire::read_binary(*file);
  if (!model || !model->graph) return "the model cannot be read";
  model->path = folder / "model.onnx";
  wire::ExternalData external(model->path);
  const auto session = reference::Executor::make(
      *model, table, {.external_bytes = [&external](const ir::Tensor& tensor) { return external.bytes(tensor); }});
  const auto tell = [](const Error& error) {
    return fmt::format("{} at {} ({}): {}", error.diagnostic.code, error.diagnostic.location.path(),
                       error.diagnostic.location.op, error.diagnostic.message);
  };
  if (!session) return tell(session.error());
  const bool is_densenet = folder.filename().string().find("densenet121") != std::string::npos;
  std::size_t sets = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory()) continue;
    ++sets;
    const auto set = official::read_official_set(*model->graph, entry.path(), corrections);
    if (!set) return set.error().diagnostic.message;
    const std::string name = folder.filename().string();
    if (official::is_random_case(name)) {
      const std::string fault = official::judge_random_case(name, *model, table, set->inputs, set->outputs.at(0));
      if (!fault.empty()) return fault;
      continue;
    }
    const auto outputs = (*session)->run(set->inputs, {});
    if (!outputs) return tell(outputs.error());
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      if (set->outputs[i].kind == ValueKind::none) return fmt::format("output {} has no recorded value", i);
      comparison::Tolerance tolerance = official::official_tolerance(set->outputs[i]);
      if (is_densenet) tolerance.relative = 2e-3;
      if (const auto differs = comparison::difference(set->outputs[i], (*outputs)[i], tolerance))
        return fmt::format("output {}: {}", i, *differs);
    }
  }
  return sets == 0 ? "no data set" : "";
}

std::vector<std::string> lines_of(const fs::path& path) {
  std::vector<std::string> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line[0] != '#') lines.push_back(line);
  }
  return lines;
}

}  // namespace

int main(int argc, char** argv) {
  fs::path folder, names, corrections;
  std::vector<std::string> only;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--names" && i + 1 < argc)
      names = argv[++i];
    else if (word == "--corrections" && i + 1 < argc)
      corrections = argv[++i];
    else if (word == "--only" && i + 1 < argc)
      only.push_back(argv[++i]);
    else
      folder = word;
  }
  std::vector<std::string> cases;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().filename() == "model.onnx")
      cases.push_back(fs::relative(entry.path().parent_path(), folder).string());
  }
  std::sort(cases.begin(), cases.end());
  std::size_t passed = 0, failed = 0;
  if (!names.empty()) {
    for (const std::string& name : lines_of(names)) {
      if (std::binary_search(cases.begin(), cases.end(), name)) continue;
      fmt::print("{}: missing\n", name);
      ++failed;
    }
  }
  const spec::OpTable table;
  for (const std::string& name : cases) {
    const bool wanted = only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& part) {
                          return name.find(part) != std::string::npos;
                        });
    if (!wanted) continue;
    const std::string fault = run_case(folder / name, corrections / name, table);
    if (fault.empty()) {
      ++passed;
    } else {
      ++failed;
      fmt::print("{}: {}\n", name, fault);
    }
  }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
