// infer_outputs [--contents | --symbolic] [--open] [--least-exact N] FOLDER: inference against recorded runs.
//
// For every model.onnx below FOLDER, what the file declares of its results is forgotten and inferred again. A recorded output
// (test_data_set_*/output_*.pb) that the inferred type does not admit is a failure, so is an error found in the model.
// --contents: the recorded inputs are constants of the model, so that sizes that follow from their contents must come out right too.
// --symbolic: every size of an input is a name, so that the expressions that come out are evaluated at the recorded sizes.
// --least-exact: as many outputs must be known exactly; the number only grows.
// --open: list the outputs whose type or sizes stay unknown.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "checker/infer/inference.h"
#include "libonnxkit/spec/op_table.h"
#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/external/external_data.h"
#include "tests/official/recorded.h"

namespace {

namespace fs = std::filesystem;
using namespace onnxkit;
using checker::Dim;
using checker::Type;

struct Options {
  bool contents = false;
  bool symbolic = false;
  bool list_open = false;
  std::size_t least_exact = 0;
  fs::path folder;
};

struct Totals {
  std::size_t passed = 0, failed = 0;
  std::size_t outputs = 0, exact = 0, data_dependent = 0;
};

using Sizes = std::map<std::string, std::int64_t, std::less<>>;

/// Sizes of the symbols that stand alone in the declared inputs.
void bind_symbols(const Type& type, const Value& recorded, const checker::DimPool& dims, Sizes& sizes) {
  if (!type.shape || !recorded.is_tensor() || type.shape->size() != recorded.tensor.dims().size()) return;
  for (std::size_t axis = 0; axis < recorded.tensor.dims().size(); ++axis) {
    const Dim dim = (*type.shape)[axis];
    const auto symbols = dims.symbols_in(dim);
    if (symbols.size() == 1 && dims.symbol(symbols[0]).name == dims.to_string(dim))
      sizes.try_emplace(dims.symbol(symbols[0]).name, recorded.tensor.dims()[axis]);
  }
}

bool admits(Dim dim, std::int64_t size, const checker::DimPool& dims, const Sizes& sizes) {
  if (dim.is_unknown()) return true;
  const auto value = dims.evaluate(dim, [&](std::string_view name) -> std::optional<std::int64_t> {
    const auto known = sizes.find(name);
    return known == sizes.end() ? std::nullopt : std::optional(known->second);
  });
  return !value || *value == size;
}

Type::Kind kind_of(const Value& recorded) {
  switch (recorded.kind) {
    case ValueKind::tensor:
      return Type::Kind::tensor;
    case ValueKind::sequence:
      return Type::Kind::sequence;
    case ValueKind::optional:
      return Type::Kind::optional;
    case ValueKind::map:
      return Type::Kind::map;
    default:
      return Type::Kind::unknown;
  }
}

bool admits(const Type& type, const Value& recorded, const checker::DimPool& dims, const Sizes& sizes) {
  if (type.is_unknown() || recorded.kind == ValueKind::none) return true;
  if (type.kind != kind_of(recorded)) return false;
  if (type.kind == Type::Kind::map) return true;
  if (type.kind != Type::Kind::tensor) {
    return std::all_of(recorded.items.begin(), recorded.items.end(),
                       [&](const Value& item) { return !type.element || admits(*type.element, item, dims, sizes); });
  }
  if (type.elem != ElementType::undefined && type.elem != recorded.tensor.type()) return false;
  if (!type.shape) return true;
  const std::vector<std::int64_t>& recorded_dims = recorded.tensor.dims();
  return std::equal(type.shape->begin(), type.shape->end(), recorded_dims.begin(), recorded_dims.end(),
                    [&](Dim dim, std::int64_t size) { return admits(dim, size, dims, sizes); });
}

bool depends_on_data(const Type& type, const checker::DimPool& dims) {
  if (type.element && depends_on_data(*type.element, dims)) return true;
  return type.shape && std::any_of(type.shape->begin(), type.shape->end(),
                                   [&](Dim d) { return dims.has_origin(d, ir::SymbolOrigin::data_dependent); });
}

/// Leaves of what the file declares only the inputs, in bodies too.
void forget_results(ir::Graph& graph) {
  graph.value_infos.clear();
  for (ir::ValueInfo& output : graph.outputs) output.type.reset();
  for (ir::Node& node : graph.nodes) {
    for (ir::Attribute& attribute : node.attributes) {
      if (auto* body = std::get_if<std::unique_ptr<ir::Graph>>(&attribute.payload); body && *body)
        forget_results(**body);
    }
  }
}

/// Gives each size of the inputs a name of its own.
void name_sizes(ir::Model& model) {
  for (ir::ValueInfo& input : model.graph->inputs) {
    if (!input.type || !input.type->shape) continue;
    std::size_t axis = 0;
    for (ir::DeclaredDim& dim : input.type->shape->dims) {
      dim.value.reset();
      dim.param = model.keep(fmt::format("size_{}_{}", ir::index_of(input.value), axis++));
    }
  }
}

/// What is missing has kind none.
std::vector<Value> read_all(const fs::path& data_set, std::string_view role, const std::vector<ir::ValueInfo>& infos,
                            const std::vector<std::size_t>& which, std::vector<std::string>& problems) {
  std::vector<Value> values;
  for (std::size_t i = 0; i < which.size(); ++i) {
    values.emplace_back();
    const fs::path file = data_set / fmt::format("{}_{}.pb", role, i);
    if (!fs::exists(file)) continue;
    auto value = official::read_recorded(file, infos[which[i]]);
    if (value) values.back() = *std::move(value);
    if (!value) problems.push_back(value.error().diagnostic.message);
  }
  return values;
}

/// Graph inputs that a run feeds: those that are no initializers, or all when as many files are there.
std::vector<std::size_t> fed_inputs(const ir::Graph& graph, const fs::path& data_set) {
  std::vector<std::size_t> fed, all;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const std::string_view name = graph.name_of(graph.inputs[i].value);
    const bool has_default = std::any_of(graph.initializers.begin(), graph.initializers.end(),
                                         [&](const ir::Tensor& tensor) { return tensor.name.view() == name; });
    all.push_back(i);
    if (!has_default) fed.push_back(i);
  }
  return fs::exists(data_set / fmt::format("input_{}.pb", fed.size())) ? all : fed;
}

/// Turns the graph inputs that were recorded as tensors into initializers, which view into `recorded`.
void fix_inputs(ir::Model& model, const std::vector<std::size_t>& fed, const std::vector<Value>& recorded) {
  ir::Graph& graph = *model.graph;
  for (std::size_t i = fed.size(); i-- > 0;) {
    if (!recorded[i].is_tensor()) continue;
    const ir::ValueId value = graph.inputs[fed[i]].value;
    std::erase_if(graph.initializers, [&](const ir::Tensor& t) { return t.name.view() == graph.name_of(value); });
    const Tensor& held = recorded[i].tensor;
    ir::Tensor tensor;
    tensor.name = model.keep(graph.name_of(value));
    tensor.dims = held.dims();
    tensor.data_type = static_cast<std::int32_t>(held.type());
    for (const std::string& string : held.strings()) tensor.string_data.emplace_back(string);
    const std::span<const std::byte> bytes = held.bytes();
    if (held.type() != ElementType::string)
      tensor.raw_data = Text(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    graph.initializers.push_back(std::move(tensor));
    graph.inputs.erase(graph.inputs.begin() + static_cast<std::ptrdiff_t>(fed[i]));
  }
}

void compare(const Options& options, const std::string& name, const ir::Model& model,
             const checker::InferredModel& inferred, const Sizes& sizes, const std::vector<Value>& outputs,
             std::vector<std::string>& problems, Totals& totals) {
  const ir::Graph& graph = *model.graph;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].kind == ValueKind::none) continue;
    const checker::ValueInfo* info = inferred.find(graph, graph.outputs[i].value);
    const Type type = info ? info->type : Type{};
    const std::string_view value = graph.name_of(graph.outputs[i].value);
    ++totals.outputs;
    if (!admits(type, outputs[i], inferred.dims, sizes)) {
      problems.push_back(fmt::format("{} is inferred as {}, but was {}", value, to_string(type, inferred.dims),
                                     type_text(outputs[i])));
    } else if (is_fully_known(type, inferred.dims) && !depends_on_data(type, inferred.dims)) {
      ++totals.exact;
    } else {
      const bool by_data = is_fully_known(type, inferred.dims);
      if (by_data) ++totals.data_dependent;
      if (!options.list_open) continue;
      const auto facts_of = inferred.graphs.find(&graph);
      const auto loss = facts_of->second.losses.find(static_cast<std::uint32_t>(graph.outputs[i].value));
      fmt::print("{}: {} is {}{} {}\n", name, value, to_string(type, inferred.dims), by_data ? ", depends on data" : "",
                 loss == facts_of->second.losses.end() ? "" : loss->second.reason);
    }
  }
}

void run_data_set(const Options& options, const spec::OpTable& table, const fs::path& folder, const fs::path& data_set,
                  Totals& totals) {
  const std::string name = fs::relative(folder, options.folder).string();
  const auto file = MappedFile::open(folder / "model.onnx");
  auto model = file ? wire::read_binary(*file, folder / "model.onnx") : Result<ir::Model>(file.error());
  if (!model || !model->graph) {
    ++totals.failed;
    fmt::print("{}: cannot be read\n", name);
    return;
  }
  ir::Graph& graph = *model->graph;
  const std::vector<std::size_t> fed = fed_inputs(graph, data_set);
  std::vector<std::size_t> all_outputs(graph.outputs.size());
  std::iota(all_outputs.begin(), all_outputs.end(), std::size_t{0});
  std::vector<std::string> problems;
  const std::vector<Value> inputs = read_all(data_set, "input", graph.inputs, fed, problems);
  const std::vector<Value> outputs = read_all(data_set, "output", graph.outputs, all_outputs, problems);
  std::vector<ir::ValueId> fed_values;
  for (const std::size_t i : fed) fed_values.push_back(graph.inputs[i].value);
  forget_results(graph);
  if (options.symbolic) name_sizes(*model);
  if (options.contents) fix_inputs(*model, fed, inputs);

  wire::ExternalData external(model->path);
  checker::InferenceOptions how;
  how.external_bytes = [&](const ir::Tensor& tensor) { return external.bytes(tensor); };
  checker::Collector collector;
  const checker::InferredModel inferred = infer_types(*model, table, how, collector);
  for (const Diagnostic& d : collector.diagnostics()) {
    if (d.severity == Severity::error)
      problems.push_back(fmt::format("{} at {}: {}; expected {}, found {}", d.code, d.location.path(), d.message,
                                     d.expected, d.found));
  }
  Sizes sizes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (const auto* info = inferred.find(graph, fed_values[i]))
      bind_symbols(info->type, inputs[i], inferred.dims, sizes);
  }
  compare(options, name, *model, inferred, sizes, outputs, problems, totals);
  ++(problems.empty() ? totals.passed : totals.failed);
  for (const std::string& problem : problems) fmt::print("{}: {}\n", name, problem);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--contents") {
      options.contents = true;
    } else if (word == "--least-exact" && i + 1 < argc) {
      options.least_exact = std::strtoull(argv[++i], nullptr, 10);
    } else if (word == "--symbolic") {
      options.symbolic = true;
    } else if (word == "--open") {
      options.list_open = true;
    } else {
      options.folder = word;
    }
  }
  if (!fs::is_directory(options.folder)) {
    fmt::print("infer_outputs: no folder of cases\n0 passed, 1 failed\n");
    return 1;
  }
  std::vector<fs::path> data_sets;
  for (const auto& entry : fs::recursive_directory_iterator(options.folder)) {
    const bool is_data_set = entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_");
    if (is_data_set && fs::exists(entry.path().parent_path() / "model.onnx")) data_sets.push_back(entry.path());
  }
  std::sort(data_sets.begin(), data_sets.end());
  const spec::OpTable table;
  Totals totals;
  for (const fs::path& data_set : data_sets) run_data_set(options, table, data_set.parent_path(), data_set, totals);
  fmt::print("{} outputs: {} exact, {} depend on data, {} not fully known\n", totals.outputs, totals.exact,
             totals.data_dependent, totals.outputs - totals.exact - totals.data_dependent);
  if (totals.exact < options.least_exact) {
    ++totals.failed;
    fmt::print("{} exact outputs are fewer than the {} that were reached before\n", totals.exact, options.least_exact);
  }
  fmt::print("{} passed, {} failed\n", totals.passed, totals.failed);
  return totals.failed == 0 && totals.passed > 0 ? 0 : 1;
}
