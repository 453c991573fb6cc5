// run_cases [--backend NAME] [--option NAME=VALUE]... [--every N] [--names FILE] [--corrections DIR] [--only TEXT]... FOLDER: a backend, the reference by default, against recorded runs.
//
// Every model.onnx below FOLDER is run on each test_data_set_*/input_*.pb beside it; outputs must agree with output_*.pb within the official
// tolerance (relative 1e-3, of bfloat16 2^-6, absolute 1e-7; densenet121 2e-3), but for the six cases of random_cases.cpp. --names: cases that
// must be there. --every: each N-th case. --option: of the backend. --corrections: outputs that replace recorded ones, CASE/output_N.pb (docs/semantics.md says why). --only: cases whose path holds TEXT. Other backends than the reference draw
// other random numbers: the six cases are not run then, and counted.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "libonnxkit/backends/backends.h"
#include "libonnxkit/compare/metrics/compare.h"
#include "libonnxkit/exec/registry.h"
#include "libonnxkit/wire/binary/reader.h"
#include "tests/official/data_set.h"
#include "tests/official/random_cases.h"
#include "tests/official/recorded.h"

namespace {

namespace fs = std::filesystem;
using namespace onnxkit;

struct Runner {
  std::shared_ptr<const spec::OpTable> table;
  std::shared_ptr<exec::SessionContext> context;
  std::unique_ptr<exec::Backend> backend;
  bool is_reference = true;
  std::size_t left_out = 0;
  std::map<std::string, std::string> options = {};
};

/// What is wrong with one case; empty when nothing is.
std::string run_case(const fs::path& folder, const fs::path& corrections, Runner& runner) {
  const auto file = MappedFile::open(folder / "model.onnx");
  if (!file) return "the model cannot be opened";
  auto read = wire::read_binary(*file);
  if (!read || !read->graph) return "the model cannot be read";
  const auto model = std::make_shared<ir::Model>(*std::move(read));
  model->path = folder / "model.onnx";
  const auto session = runner.backend->load(
      {.model = model}, {.context = runner.context, .table = runner.table, .options = runner.options});
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
    if (official::is_random_case(name) && !runner.is_reference) {
      ++runner.left_out;
      continue;
    }
    if (official::is_random_case(name)) {
      const std::string fault =
          official::judge_random_case(name, *model, *runner.table, set->inputs, set->outputs.at(0));
      if (!fault.empty()) return fault;
      continue;
    }
    exec::RunRequest request;
    for (std::size_t i = 0; i < set->inputs.size(); ++i)
      request.inputs.push_back({(*session)->inputs()[i].name, set->inputs[i]});
    const auto answer = (*session)->run(request);
    if (!answer) return tell(answer.error());
    for (std::size_t i = 0; i < answer->outputs.size(); ++i) {
      if (set->outputs[i].kind == ValueKind::none) return fmt::format("output {} has no recorded value", i);
      comparison::Tolerance tolerance = official::official_tolerance(set->outputs[i]);
      if (is_densenet) tolerance.relative = 2e-3;
      if (const auto differs = comparison::difference(set->outputs[i], answer->outputs[i].value, tolerance))
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
  std::vector<std::string> only, given;
  std::size_t every = 1, number = 0;
  std::string backend = "reference";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--names" && i + 1 < argc)
      names = argv[++i];
    else if (word == "--corrections" && i + 1 < argc)
      corrections = argv[++i];
    else if (word == "--backend" && i + 1 < argc)
      backend = argv[++i];
    else if (word == "--every" && i + 1 < argc)
      every = std::stoul(argv[++i]);
    else if (word == "--option" && i + 1 < argc)
      given.emplace_back(argv[++i]);
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
  const exec::BackendRegistry registry = all_backends();
  const auto entry = registry.find(backend, {});
  if (!entry) {
    fmt::print("no backend {}\n", backend);
    return 1;
  }
  Runner runner{std::make_shared<const spec::OpTable>(), std::make_shared<exec::SessionContext>(), entry->make({}),
                backend == "reference"};
  for (const std::string& option : given)
    runner.options[option.substr(0, option.find('='))] = option.substr(option.find('=') + 1);
  for (const std::string& name : cases) {
    const bool wanted = only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& part) {
                          return name.find(part) != std::string::npos;
                        });
    if (!wanted || number++ % every != 0) continue;
    const std::size_t left_out = runner.left_out;
    const std::string fault = run_case(folder / name, corrections / name, runner);
    if (fault.empty() && runner.left_out != left_out) continue;
    if (fault.empty()) {
      ++passed;
    } else {
      ++failed;
      fmt::print("{}: {}\n", name, fault);
    }
  }
  if (runner.left_out != 0) fmt::print("{} data sets of random operators were not run\n", runner.left_out);
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
