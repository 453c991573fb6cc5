// run_cases [--backend NAME] [--option NAME=VALUE]... [--every N] [--names FILE] [--corrections DIR] [--only TEXT]... [--without TEXT]... [--part I/N] [--after CASE] [--current FILE] [--seconds S] FOLDER
// A backend, the reference by default, against recorded runs.
//
// Every model.onnx below FOLDER is run on each test_data_set_*/input_*.pb beside it; outputs must agree with output_*.pb within the official
// tolerance (relative 1e-3, of bfloat16 2^-6, absolute 1e-7; densenet121 2e-3), but for the six cases of random_cases.cpp. --names: cases that
// must be there. --every: each N-th case. --option: of the backend. --corrections: outputs that replace recorded ones, CASE/output_N.pb (docs/semantics.md says why). --only, --without: cases whose path holds TEXT, or does not. --part: of N parts the I-th, from 0. --after: those behind
// this one. --current: the file gets the name of each case before it is run. --seconds: begins no case later than that. A device that was lost ends
// the run with exit status 2: nothing behind it could be believed. Other backends than the reference draw
// other random numbers: the six cases are not run then, and counted.
#include <algorithm>
#include <chrono>
#include <cstdio>
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

struct Arguments {
  fs::path folder, names, corrections, current;
  std::vector<std::string> only, without, options;
  std::size_t every = 1, part = 0, parts = 1;
  double seconds = 0;  ///< 0: no limit
  std::string backend = "reference", after;
};

Arguments arguments_of(int argc, char** argv) {
  Arguments given;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--names" && has_value) {
      given.names = argv[++i];
    } else if (word == "--corrections" && has_value) {
      given.corrections = argv[++i];
    } else if (word == "--backend" && has_value) {
      given.backend = argv[++i];
    } else if (word == "--every" && has_value) {
      given.every = std::stoul(argv[++i]);
    } else if (word == "--option" && has_value) {
      given.options.emplace_back(argv[++i]);
    } else if (word == "--only" && has_value) {
      given.only.emplace_back(argv[++i]);
    } else if (word == "--without" && has_value) {
      given.without.emplace_back(argv[++i]);
    } else if (word == "--after" && has_value) {
      given.after = argv[++i];
    } else if (word == "--current" && has_value) {
      given.current = argv[++i];
    } else if (word == "--seconds" && has_value) {
      given.seconds = std::stod(argv[++i]);
    } else if (word == "--part" && has_value) {
      const std::string part = argv[++i];
      given.part = std::stoul(part.substr(0, part.find('/')));
      given.parts = std::stoul(part.substr(part.find('/') + 1));
    } else {
      given.folder = word;
    }
  }
  return given;
}

/// Sorted names of the cases below a folder, those that were asked for.
std::vector<std::string> chosen(const Arguments& given, const std::vector<std::string>& cases) {
  std::vector<std::string> names;
  std::size_t number = 0, taken = 0;
  for (const std::string& name : cases) {
    const auto holds_one_of = [&name](const std::vector<std::string>& parts) {
      return std::any_of(parts.begin(), parts.end(),
                         [&](const std::string& part) { return name.find(part) != std::string::npos; });
    };
    const bool wanted = (given.only.empty() || holds_one_of(given.only)) && !holds_one_of(given.without);
    if (!wanted || number++ % given.every != 0 || taken++ % given.parts != given.part || name <= given.after) continue;
    names.push_back(name);
  }
  return names;
}

struct Counts {
  std::size_t passed = 0, failed = 0, late = 0;
  bool is_lost = false;
};

Counts run_all(const Arguments& given, const std::vector<std::string>& cases, Runner& runner) {
  Counts counts;
  const auto start = std::chrono::steady_clock::now();
  for (const std::string& name : cases) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    if (given.seconds != 0 && passed.count() > given.seconds) {
      ++counts.late;
      continue;
    }
    if (!given.current.empty()) std::ofstream(given.current) << name;
    const std::size_t left_out = runner.left_out;
    const std::string fault = run_case(given.folder / name, given.corrections / name, runner);
    if (fault.empty() && runner.left_out != left_out) continue;
    ++(fault.empty() ? counts.passed : counts.failed);
    if (!fault.empty()) fmt::print("{}: {}\n", name, fault);
    std::fflush(stdout);
    counts.is_lost = fault.starts_with("device-failed") && given.backend != "reference";
    if (counts.is_lost) break;
  }
  return counts;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments given = arguments_of(argc, argv);
  std::vector<std::string> cases;
  for (const auto& entry : fs::recursive_directory_iterator(given.folder)) {
    if (entry.path().filename() == "model.onnx")
      cases.push_back(fs::relative(entry.path().parent_path(), given.folder).string());
  }
  std::sort(cases.begin(), cases.end());
  std::size_t missing = 0;
  if (!given.names.empty()) {
    for (const std::string& name : lines_of(given.names)) {
      if (std::binary_search(cases.begin(), cases.end(), name)) continue;
      fmt::print("{}: missing\n", name);
      ++missing;
    }
  }
  const exec::BackendRegistry registry = all_backends();
  const auto entry = registry.find(given.backend, {});
  if (!entry) {
    fmt::print("no backend {}\n", given.backend);
    return 1;
  }
  Runner runner{std::make_shared<const spec::OpTable>(), std::make_shared<exec::SessionContext>(), entry->make({}),
                given.backend == "reference"};
  for (const std::string& option : given.options)
    runner.options[option.substr(0, option.find('='))] = option.substr(option.find('=') + 1);
  const Counts counts = run_all(given, chosen(given, cases), runner);
  if (runner.left_out != 0) fmt::print("{} data sets of random operators were not run\n", runner.left_out);
  if (counts.late != 0) fmt::print("{} cases were not reached\n", counts.late);
  fmt::print("{} passed, {} failed\n", counts.passed, counts.failed + missing);
  constexpr int lost = 2;
  if (counts.is_lost) return lost;
  return counts.failed + missing == 0 && counts.passed > 0 ? 0 : 1;
}
