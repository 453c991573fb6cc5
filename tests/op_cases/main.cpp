// Runs the cases of testdata/ops through inference and, where they state contents, on the reference executor: op_cases [--coverage FILE] [--export DIR] FILE-OR-FOLDER...; see README.md for the form of a case.
// --coverage: which versions of which operators ran on which types goes to FILE. --export: cases
// of one node that ran become DIR/NAME/model.onnx with test_data_set_0, all values as inputs.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "checker/infer/inference.h"
#include "libonnxkit/backends/backends.h"
#include "libonnxkit/exec/registry.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/spec/op_table.h"
#include "tests/completeness/coverage.h"
#include "tests/op_cases/case.h"
#include "tests/op_cases/case_model.h"
#include "tests/op_cases/execute.h"
#include "tests/op_cases/tensor_values.h"

namespace {

using namespace onnxkit;
using namespace onnxkit::op_cases;
using checker::Dim;
using checker::Type;

/// Sizes agree when they are the same expression; "?" in a case stands for any size that is no constant.
bool same_dims(const Type& expected, const Type& found) {
  if (!expected.shape || !found.shape) return !expected.shape && !found.shape;
  return std::equal(expected.shape->begin(), expected.shape->end(), found.shape->begin(), found.shape->end(),
                    [](Dim a, Dim b) { return a.is_unknown() ? !b.is_constant() : a == b; });
}

bool same_type(const Type& expected, const Type& found) {
  const bool alike = expected.kind == found.kind && expected.elem == found.elem && same_dims(expected, found);
  if (!alike || !expected.element || !found.element) return alike && !expected.element && !found.element;
  return same_type(*expected.element, *found.element);
}

/// The case states a type without saying anything of its shape.
bool leaves_shape_open(const YAML::Node& node) {
  return node.IsMap() && node["type"] && !node["shape"].IsDefined() &&
         node["type"].as<std::string>().find('[') == std::string::npos;
}

void compare_type(const ValueSpec& output, const checker::ValueInfo& info, checker::InferredModel& inferred,
                  StringPool& strings, std::vector<std::string>& problems) {
  const ir::DeclaredType declared = declared_type(output, strings);
  if (declared.kind == ir::DeclaredType::Kind::none) return;
  const Type expected = checker::from_declared(declared, inferred.dims, [](std::size_t) { return Dim(); });
  Type found = info.type;
  if (leaves_shape_open(output.node)) found.shape.reset();
  if (same_type(expected, found)) return;
  problems.push_back(fmt::format("{} is {}, expected {}", output.name, to_string(info.type, inferred.dims),
                                 to_string(expected, inferred.dims)));
}

bool same_element(const YAML::Node& expected, const checker::Scalar& found, checker::DimPool& dims) {
  const auto text = expected.as<std::string>();
  if (text == "?" || text == "_") return found.is_unknown();
  double number = 0;
  if (YAML::convert<double>::decode(expected, number)) {
    const auto real = found.constant_real();
    if (!real || std::isnan(number)) return real && std::isnan(*real);
    return *real == number || std::fabs(*real - number) <= 1e-6 * std::max(1.0, std::fabs(number));
  }
  if (text == "true" || text == "false") return found.dim().is(text == "true" ? 1 : 0);
  return found.is_integer() && found.dim() == dims.from_dim_param(text);
}

/// `known` must be inferred; `values` need not, since most contents are left to the executors, but may not be contradicted.
void compare_content(const ValueSpec& output, const checker::ValueInfo& info, checker::InferredModel& inferred,
                     std::vector<std::string>& problems) {
  if (!output.node.IsMap()) return;
  const bool must_know = output.node["known"].IsDefined();
  const YAML::Node stated = must_know ? output.node["known"] : output.node["values"];
  if (!stated || (!must_know && !info.value)) return;
  if (!info.value) {
    problems.push_back(fmt::format("the content of {} is not known", output.name));
    return;
  }
  std::vector<std::int64_t> shape;
  const std::vector<YAML::Node> expected = flatten(stated, shape);
  const auto& found = info.value->elements;
  const bool same =
      expected.size() == found.size() &&
      std::equal(expected.begin(), expected.end(), found.begin(), [&](const YAML::Node& a, const checker::Scalar& b) {
        return same_element(a, b, inferred.dims) || (!must_know && b.is_unknown());
      });
  if (same) return;
  std::string text;
  for (const checker::Scalar& element : found) {
    const auto real = element.constant_real();
    text += (text.empty() ? "" : ", ") + (real ? fmt::format("{}", *real) : inferred.dims.to_string(element.dim()));
  }
  problems.push_back(fmt::format("{} holds [{}]", output.name, text));
}

void compare_findings(const Case& c, const std::vector<Diagnostic>& found, std::vector<std::string>& problems) {
  std::vector<const Diagnostic*> unexpected;
  for (const Diagnostic& diagnostic : found) unexpected.push_back(&diagnostic);
  for (const ExpectedFinding& expected : c.finds) {
    const auto match = std::find_if(unexpected.begin(), unexpected.end(), [&](const Diagnostic* d) {
      return d->code == expected.code && (expected.at.empty() || expected.at == d->location.item);
    });
    if (match == unexpected.end()) {
      problems.push_back(
          fmt::format("{}{}{} is not found", expected.code, expected.at.empty() ? "" : " at ", expected.at));
    } else {
      unexpected.erase(match);
    }
  }
  for (const Diagnostic* d : unexpected) {
    problems.push_back(fmt::format("finds {} at {}: {}; expected {}, found {}", d->code,
                                   d->location.item.empty() ? "the node" : d->location.item, d->message, d->expected,
                                   d->found));
  }
}

std::vector<std::string> run_at(const Case& c, const spec::OpTable& table, const spec::OpSchema& schema,
                                std::int64_t opset, completeness::Coverage& coverage, BackendUnderTest* under_test) {
  if (under_test)
    return can_run(c) ? run_on_backend(c, make_model(c, schema, opset), *under_test) : std::vector<std::string>();
  const ir::Model model = make_model(c, schema, opset);
  checker::Collector collector;
  checker::InferredModel inferred = infer_types(model, table, {}, collector);
  std::vector<std::string> problems;
  compare_findings(c, collector.diagnostics(), problems);
  if (problems.empty() && can_run(c) && run_on_reference(c, model, table, problems) && problems.empty())
    coverage.add(model, table, inferred);
  if (!c.checks_outputs) return problems;
  for (const ValueSpec& output : c.outputs) {
    if (output.omitted) continue;
    const checker::ValueInfo* info = inferred.find(*model.graph, model.graph->find(output.name));
    if (!info) {
      problems.push_back(fmt::format("nothing is known of {}", output.name));
      continue;
    }
    compare_type(output, *info, inferred, *model.strings, problems);
    compare_content(output, *info, inferred, problems);
  }
  return problems;
}

/// Where the operator changed inside the case's range, the range's start, and its end.
std::set<std::int64_t> opsets_of(const Case& c, const spec::OpTable& table) {
  const std::int64_t newest = std::min<std::int64_t>(c.last_opset, spec::newest_opset(ir::canonical_domain(c.domain)));
  std::set<std::int64_t> opsets;
  for (const spec::OpSchema* version : table.versions(ir::canonical_domain(c.domain), c.op)) {
    if (version->since_version >= c.first_opset && version->since_version <= newest)
      opsets.insert(version->since_version);
  }
  for (const std::int64_t end : {c.first_opset, newest}) {
    const spec::OpSchema* schema = table.find_with_additions(ir::canonical_domain(c.domain), c.op, end);
    if (schema && !table.is_removed(*schema) && end >= c.first_opset) opsets.insert(end);
  }
  return opsets;
}

struct Totals {
  std::size_t passed = 0, failed = 0, left_out = 0;
  bool adds_plainly = false;        ///< cases with exact sums are left out
  std::size_t every = 1, seen = 0;  ///< only each so many-th run of a case
  completeness::Coverage coverage;
  std::filesystem::path exported;
  std::optional<BackendUnderTest> under_test;
};

void fail(Totals& totals, const std::filesystem::path& file, const std::string& what, const std::string& problem) {
  ++totals.failed;
  fmt::print("{}: {}: {}\n", file.filename().string(), what, problem);
}

/// The case itself, or one for each type where it asks for all.
std::vector<Case> typed_cases(const Case& c, const spec::OpSchema& schema) {
  if (!c.every_type) return {c};
  std::vector<Case> typed;
  for (const ElementType type : completeness::first_input_types(schema)) typed.push_back(with_type(c, name_of(type)));
  return typed;
}

void run_typed(const std::filesystem::path& file, const Case& c, const spec::OpTable& table,
               const spec::OpSchema& schema, std::int64_t opset, Totals& totals) {
  const std::string what = fmt::format("{} \"{}\", opset {}", c.op, c.name, opset);
  try {
    const std::vector<std::string> problems =
        run_at(c, table, schema, opset, totals.coverage, totals.under_test ? &*totals.under_test : nullptr);
    if (problems.empty()) ++totals.passed;
    std::string text;
    for (const std::string& problem : problems) text += (text.empty() ? "" : "\n    ") + problem;
    if (!problems.empty()) fail(totals, file, what, text);
    if (problems.empty() && !totals.exported.empty() && can_run(c) && c.model.empty() && c.fails.empty())
      export_case(c, schema, opset, totals.exported / fmt::format("{:05}_{}", totals.passed, c.op));
  } catch (const YAML::Exception& e) {
    fail(totals, file, what, e.what());
  }
}

void run_case(const std::filesystem::path& file, const Case& c, const spec::OpTable& table, Totals& totals) {
  if (c.has_exact_sums && totals.adds_plainly) {
    ++totals.left_out;
    return;
  }
  const std::set<std::int64_t> opsets = opsets_of(c, table);
  if (opsets.empty()) return fail(totals, file, c.name, fmt::format("{} does not exist in these opsets", c.op));
  for (const std::int64_t opset : opsets) {
    const spec::OpSchema* schema = table.find_with_additions(ir::canonical_domain(c.domain), c.op, opset);
    if (!schema || table.is_removed(*schema)) continue;
    for (const Case& typed : typed_cases(c, *schema))
      if (totals.seen++ % totals.every == 0) run_typed(file, typed, table, *schema, opset, totals);
  }
}

void run_file(const std::filesystem::path& file, const spec::OpTable& table, Totals& totals) {
  try {
    for (const Case& c : read_cases(file)) run_case(file, c, table, totals);
  } catch (const YAML::Exception& e) {
    fail(totals, file, "cannot be read", e.what());
  }
}

/// Operators by what keeps them on the reference, from notes such as: node "y" (Unique) runs on the reference: REASON
std::map<std::string, std::set<std::string>> operators_by_reason(const std::set<std::string>& notes) {
  std::map<std::string, std::set<std::string>> by_reason;
  constexpr std::string_view middle = ") runs on the reference: ";
  for (const std::string& note : notes) {
    const std::size_t at = note.find(middle), open = note.rfind('(', at);
    if (at == std::string::npos || open == std::string::npos) continue;
    std::string reason = note.substr(at + middle.size());
    for (std::size_t quoted = reason.find('"'); quoted != std::string::npos; quoted = reason.find('"')) {
      const std::size_t end = reason.find('"', quoted + 1);
      if (end == std::string::npos) break;
      reason.erase(quoted, std::min(end + 2, reason.size()) - quoted);
    }
    by_reason[reason].insert(note.substr(open + 1, at - open - 1));
  }
  return by_reason;
}

/// The page must hold what the cases have shown; ONNXKIT_REBASE in the environment rewrites it.
void check_host_list(const std::filesystem::path& page, Totals& totals) {
  std::string text =
      "# Operators on the reference\n\n"
      "What keeps operators of the cases in `testdata/ops` from being steps of a plan of their own "
      "([plan.md](plan.md)), as\n"
      "`onnxkit run -b cpu -v` says it. Other cases of the same operators have steps. Generated: a test fails when it "
      "is stale.\n\n";
  for (const auto& [reason, operators] : operators_by_reason(totals.under_test->notes)) {
    text += fmt::format("- {}:\n", reason);
    std::string line = " ";
    for (const std::string& op : operators) {
      constexpr std::size_t widest = 115;
      if (line.size() + op.size() > widest) {
        text += line + "\n";
        line = " ";
      }
      line += " " + op + (op == *operators.rbegin() ? "" : ",");
    }
    text += line + "\n";
  }
  std::ifstream in(page);
  const std::string held((std::istreambuf_iterator<char>(in)), {});
  if (held == text) return;
  if (std::getenv("ONNXKIT_REBASE")) {
    std::ofstream(page) << text;
  } else {
    ++totals.failed;
    fmt::print("{} is stale: run again with ONNXKIT_REBASE in the environment\n", page.string());
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  std::filesystem::path coverage, exported, host_list;
  std::string backend;
  bool adds_plainly = false;
  std::size_t every = 1;
  for (int i = 1; i < argc; ++i) {
    if (argv[i] == std::string_view("--coverage") && i + 1 < argc) {
      coverage = argv[++i];
    } else if (argv[i] == std::string_view("--export") && i + 1 < argc) {
      exported = argv[++i];
    } else if (argv[i] == std::string_view("--backend") && i + 1 < argc) {
      backend = argv[++i];
    } else if (argv[i] == std::string_view("--host-list") && i + 1 < argc) {
      host_list = argv[++i];
    } else if (argv[i] == std::string_view("--every") && i + 1 < argc) {
      every = std::max(std::stoul(argv[++i]), 1UL);
    } else if (argv[i] == std::string_view("--plain-sums")) {
      adds_plainly = true;
    } else if (std::filesystem::is_directory(argv[i])) {
      for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
        if (entry.path().extension() == ".yaml") files.push_back(entry.path());
      }
    } else {
      files.emplace_back(argv[i]);
    }
  }
  std::sort(files.begin(), files.end());
  const spec::OpTable table;
  Totals totals;
  totals.exported = exported;
  totals.adds_plainly = adds_plainly;
  totals.every = every;
  const exec::BackendRegistry registry = all_backends();
  if (!backend.empty()) {
    const auto entry = registry.find(backend, {});
    if (!entry) {
      fmt::print("no backend {}\n", backend);
      return 1;
    }
    totals.under_test = {std::make_shared<const spec::OpTable>(), std::make_shared<exec::SessionContext>(),
                         entry->make({})};
  }
  for (const auto& file : files) run_file(file, table, totals);
  if (totals.under_test && !host_list.empty()) check_host_list(host_list, totals);
  if (!coverage.empty()) totals.coverage.write(coverage);
  if (totals.left_out != 0) fmt::print("{} cases with exact sums of float64 were left out\n", totals.left_out);
  fmt::print("{} passed, {} failed\n", totals.passed, totals.failed);
  return totals.failed == 0 && totals.passed > 0 ? 0 : 1;
}
