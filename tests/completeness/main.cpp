// completeness [--also FILE]... [--most N] [--list] [--every N] FOLDER...: every version of every operator runs on every type of its first input.
//
// Each official case of one node below the FOLDERs is run again at every other version of its operator that takes the same node and means the same,
// and, at each of these versions, on every other element type of its first input. At another version the recorded outputs must come out; on another
// type what the widest type of its domain gives, rounded. Operator cases take part as op_cases --export
// writes them, and add what they ran (--also, written by op_cases --coverage).
// What is left over are holes: --list prints them, more than --most of them (0) is a failure. With --every N every N-th case runs, and
// holes are not told.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/compare/metrics/compare.h"
#include "libonnxkit/compare/metrics/elements.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/spec/op_table.h"
#include "libonnxkit/wire/binary/reader.h"
#include "reference/executor/executor.h"
#include "tests/completeness/coverage.h"
#include "tests/official/recorded.h"

namespace {

namespace fs = std::filesystem;
using namespace onnxkit;
using completeness::Coverage;

struct Case {
  ir::Model model;
  std::vector<Value> inputs, outputs;
  const ir::Node& node() const { return model.graph->nodes.front(); }
};

/// A case of one node without a body whose graph has no constants; nullopt for all others.
std::optional<Case> read_case(const fs::path& folder) {
  const auto file = MappedFile::open(folder / "model.onnx");
  auto model = file ? wire::read_binary(*file) : Result<ir::Model>(file.error());
  if (!model || !model->graph || model->graph->nodes.size() != 1 || !model->functions.empty()) return std::nullopt;
  const ir::Graph& graph = *model->graph;
  if (!graph.initializers.empty() || !graph.sparse_initializers.empty()) return std::nullopt;
  Case read{std::move(*model), {}, {}};
  const auto load = [&](const char* role, const std::vector<ir::ValueInfo>& infos, std::vector<Value>& values) {
    for (std::size_t i = 0; i < infos.size(); ++i) {
      auto value = official::read_recorded(folder / "test_data_set_0" / fmt::format("{}_{}.pb", role, i), infos[i]);
      if (!value) return false;
      values.push_back(*std::move(value));
    }
    return true;
  };
  if (!load("input", read.model.graph->inputs, read.inputs) || !load("output", read.model.graph->outputs, read.outputs))
    return std::nullopt;
  return read;
}

/// The imported opset of the node's domain; null when the model lacks it.
ir::OpsetImport* import_of(ir::Model& model) {
  for (ir::OpsetImport& import : model.opset_imports) {
    if (ir::canonical_domain(import.domain) == ir::canonical_domain(model.graph->nodes.front().domain)) return &import;
  }
  return nullptr;
}

/// Another version of an operator takes the node as it stands: attributes, arity and types.
bool takes(const spec::OpSchema& schema, const Case& c) {
  const ir::Node& node = c.node();
  for (const ir::Attribute& attribute : node.attributes) {
    const spec::AttributeSchema* known = schema.find_attribute(attribute.name);
    if (!known || static_cast<std::int32_t>(known->type) != attribute.type) return false;
  }
  for (const spec::AttributeSchema& attribute : schema.attributes) {
    if (attribute.required && !node.find_attribute(attribute.name)) return false;
  }
  if (node.inputs.size() < schema.min_inputs || node.inputs.size() > schema.max_inputs) return false;
  if (node.outputs.size() < schema.min_outputs || node.outputs.size() > schema.max_outputs) return false;
  std::size_t given = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == ir::ValueId::none) {
      if (schema.input_at(i)->arity != spec::Arity::optional) return false;
      continue;
    }
    const Value& value = c.inputs[std::min(given++, c.inputs.size() - 1)];
    if (value.is_tensor() &&
        !contains(schema.types_of(*schema.input_at(i)), spec::TypeForm::tensor, value.tensor.type()))
      return false;
  }
  given = 0;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == ir::ValueId::none) continue;
    const Value& value = c.outputs[given++];
    const spec::TypeSet& allowed = schema.types_of(*schema.output_at(i));
    if (value.is_tensor() && !contains(allowed, spec::TypeForm::tensor, value.tensor.type())) return false;
  }
  return true;
}

/// Some version from `older` (excluded) to `newer` changed defaults or meaning.
bool changed_between(const spec::OpTable& table, const spec::OpSchema& a, const spec::OpSchema& b) {
  const auto [older, newer] = std::minmax(a.since_version, b.since_version);
  const spec::OpSchema* previous = nullptr;
  for (const spec::OpSchema* version : table.versions(a.domain, a.name)) {
    if (previous && version->since_version > older && version->since_version <= newer) {
      if (!version->meaning_change.empty() || version->deprecated) return true;
      for (const spec::AttributeSchema& attribute : previous->attributes) {
        const spec::AttributeSchema* next = version->find_attribute(attribute.name);
        if (next ? default_text(*next) != default_text(attribute) : attribute.has_default) return true;
      }
    }
    previous = version;
  }
  return false;
}

template <class T>
Tensor packed(ElementType type, const std::vector<std::int64_t>& dims, const std::vector<double>& reals) {
  const auto all = std::make_unique<T[]>(reals.size());
  for (std::size_t i = 0; i < reals.size(); ++i) all[i] = static_cast<T>(reals[i]);
  std::vector<std::byte> bytes((reals.size() * static_cast<std::size_t>(storage_bits(type)) + 7) / 8);
  encode(type, std::span<const T>(all.get(), reals.size()), bytes);
  return *Tensor::from_bytes(type, dims, std::move(bytes));
}

/// The numbers of a tensor brought into the range of another type; nullopt for strings.
std::optional<Tensor> retyped(const Tensor& tensor, ElementType type) {
  if (tensor.type() == ElementType::string) return std::nullopt;
  std::vector<double> reals = to_reals(tensor);
  if (domain_of(tensor.type()) == Domain::complex) {
    for (std::int64_t i = 0; i < tensor.size(); ++i)
      reals.push_back(comparison::all_elements<std::complex<double>>(tensor)[static_cast<std::size_t>(i)].real());
  }
  switch (domain_of(type)) {
    case Domain::real: {
      const double most = largest_finite(type);
      for (double& x : reals) x = std::clamp(x, -most, most);
      return packed<double>(type, tensor.dims(), reals);
    }
    case Domain::integer:
    case Domain::natural: {
      const auto low = static_cast<double>(least_of(type)),
                 high = static_cast<double>(std::min(greatest_of(type), std::int64_t{1} << 53));
      for (double& x : reals) x = std::isnan(x) ? 0 : std::clamp(std::trunc(x), low, high);
      return domain_of(type) == Domain::integer ? packed<std::int64_t>(type, tensor.dims(), reals)
                                                : packed<std::uint64_t>(type, tensor.dims(), reals);
    }
    case Domain::boolean:
      return packed<bool>(type, tensor.dims(), reals);
    case Domain::complex:
      return packed<std::complex<double>>(type, tensor.dims(), reals);
    default: {
      std::vector<std::string> words(static_cast<std::size_t>(tensor.size()));
      for (std::size_t i = 0; i < reals.size(); ++i)
        words[i] = std::isnan(reals[i]) ? "NaN" : fmt::format("{}", reals[i]);
      return *Tensor::from_strings(tensor.dims(), std::move(words));
    }
  }
}

class Sweep {
 public:
  explicit Sweep(Coverage& coverage) : coverage_(coverage) {}
  std::size_t passed = 0, failed = 0;

  void run(const std::string& name, Case& c) {
    // Attributes hold their keys or values for one type only; numbers cut to integers make other steps, 0 among them; zero points are
    // packed by type.
    static constexpr std::string_view tied[] = {"LabelEncoder",    "Imputer", "OneHotEncoder",
                                                "TfIdfVectorizer", "Range",   "GatherBlockQuantized"};
    carries_over_ = std::find(std::begin(tied), std::end(tied), c.node().op_type.view()) == std::end(tied);
    ir::OpsetImport* import = import_of(c.model);
    const ir::Node& node = c.node();
    const spec::OpSchema* own =
        import ? table_.find_with_additions(node.domain, node.op_type, *import->version) : nullptr;
    if (!own || own->has_subgraph) return;
    for (const spec::OpSchema* schema : table_.versions(own->domain, own->name)) {
      if (table_.is_removed(*schema) || !takes(*schema, c) || changed_between(table_, *own, *schema)) continue;
      import->version = schema->since_version;
      if (schema == own)
        note(*schema, c.inputs);  // as recorded, it is run by tests/official/run_cases
      else if (carries_over_)
        at_version(name, c, *schema);
      if (carries_over_) at_other_types(name, c, *schema);
    }
  }

 private:
  Result<std::vector<Value>> outputs(const Case& c, const std::vector<Value>& inputs) {
    const auto session = reference::Executor::make(c.model, table_, {});
    reference::RunOptions options;
    options.threads = 1;
    return session ? (*session)->run(inputs, options) : Result<std::vector<Value>>(session.error());
  }

  void judge(const std::string& what, const std::string& fault) {
    ++(fault.empty() ? passed : failed);
    if (!fault.empty()) fmt::print("{}: {}\n", what, fault);
  }

  void at_version(const std::string& name, const Case& c, const spec::OpSchema& schema) {
    const auto got = outputs(c, c.inputs);
    std::string fault = got ? "" : got.error().diagnostic.message;
    for (std::size_t i = 0; got && !schema.non_deterministic && i < got->size() && fault.empty(); ++i)
      fault = comparison::difference(c.outputs[i], (*got)[i], official::official_tolerance(c.outputs[i])).value_or("");
    judge(fmt::format("{} at {}-{}", name, schema.name, schema.since_version), fault);
    if (fault.empty()) note(schema, c.inputs);
  }

  void note(const spec::OpSchema& schema, const std::vector<Value>& inputs) {
    const bool has_tensor = !inputs.empty() && inputs.front().is_tensor();
    coverage_.add(schema, has_tensor ? inputs.front().tensor.type() : ElementType::undefined);
  }

  /// Inputs whose type goes with that of the first one take the other type, too.
  std::optional<std::vector<Value>> with_type(const Case& c, const spec::OpSchema& schema, ElementType type) {
    std::vector<Value> inputs = c.inputs;
    std::size_t given = 0;
    for (std::size_t i = 0; i < c.node().inputs.size(); ++i) {
      if (c.node().inputs[i] == ir::ValueId::none) continue;
      Value& value = inputs[given++];
      if (schema.input_at(i)->constraint != schema.inputs.front().constraint) continue;
      if (!value.is_tensor()) return std::nullopt;
      auto other = retyped(value.tensor, type);
      if (!other) return std::nullopt;
      value = Value(*std::move(other));
    }
    return inputs;
  }

  void at_other_types(const std::string& name, Case& c, const spec::OpSchema& schema) {
    if (c.inputs.empty() || !c.inputs.front().is_tensor() || c.node().inputs.front() == ir::ValueId::none) return;
    note(schema, c.inputs);
    for (const ElementType type : completeness::first_input_types(schema)) {
      if (type == c.inputs.front().tensor.type() || type == ElementType::undefined) continue;
      const auto inputs = with_type(c, schema, type);
      if (!inputs) continue;
      std::vector<std::optional<std::int32_t>> declared;
      for (std::size_t i = 0; i < inputs->size(); ++i) {
        auto& info = c.model.graph->inputs[i];
        declared.push_back(info.type ? info.type->elem_type : std::nullopt);
        if (info.type && (*inputs)[i].is_tensor())
          info.type->elem_type = static_cast<std::int32_t>((*inputs)[i].tensor.type());
      }
      const auto got = outputs(c, *inputs);
      for (std::size_t i = 0; i < declared.size(); ++i) {
        if (c.model.graph->inputs[i].type) c.model.graph->inputs[i].type->elem_type = declared[i];
      }
      // What the schema allows and nothing defines, such as strings that are interpolated, is refused under a code of its own.
      if (!got && got.error().diagnostic.code == "undefined-for-type") {
        coverage_.refuse(schema, type);
        continue;
      }
      judge(fmt::format("{} at {}-{} on {}", name, schema.name, schema.since_version, name_of(type)),
            got ? "" : got.error().diagnostic.message);
      if (got) coverage_.add(schema, type);
    }
  }

  const spec::OpTable table_;
  Coverage& coverage_;
  bool carries_over_ = true;
};

/// A case of several nodes, which tests/official/run_cases runs.
void add_whole(const fs::path& folder, Coverage& coverage) {
  const auto file = MappedFile::open(folder / "model.onnx");
  const auto model = file ? wire::read_binary(*file) : Result<ir::Model>(file.error());
  if (!model) return;
  const spec::OpTable table;
  checker::Collector collector;
  coverage.add(*model, table, checker::infer_types(*model, table, {}, collector));
}

}  // namespace

int main(int argc, char** argv) {
  Coverage coverage;
  std::vector<fs::path> folders;
  std::size_t most = 0, every = 1;
  bool list = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--also" && i + 1 < argc)
      coverage.read(argv[++i]);
    else if (word == "--most" && i + 1 < argc)
      most = std::stoul(argv[++i]);
    else if (word == "--every" && i + 1 < argc)
      every = std::max(std::stoul(argv[++i]), 1UL);
    else if (word == "--list")
      list = true;
    else
      folders.emplace_back(word);
  }
  std::vector<fs::path> cases;
  for (const fs::path& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().filename() == "model.onnx") cases.push_back(entry.path().parent_path());
    }
  }
  std::sort(cases.begin(), cases.end());
  Sweep sweep(coverage);
  for (std::size_t i = 0; i < cases.size(); i += every) {
    if (auto c = read_case(cases[i]))
      sweep.run(cases[i].filename().string(), *c);
    else
      add_whole(cases[i], coverage);
  }
  if (every == 1) {
    const std::vector<std::string> holes = coverage.holes();
    for (std::size_t i = 0; list && i < holes.size(); ++i) fmt::print("hole: {}\n", holes[i]);
    fmt::print("{} holes of operators, versions and types\n", holes.size());
    if (holes.size() > most) ++sweep.failed;
  }
  fmt::print("{} passed, {} failed\n", sweep.passed, sweep.failed);
  return sweep.failed == 0 && sweep.passed > 0 ? 0 : 1;
}
