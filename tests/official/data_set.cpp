#include "tests/official/data_set.h"

#include <set>
#include <string>

#include <fmt/core.h>

#include "libonnxkit/exec/value_desc.h"
#include "libonnxkit/wire/values/tensor_proto.h"
#include "tests/official/recorded.h"

namespace onnxkit::official {
namespace {

namespace fs = std::filesystem;

/// The k-th file of a role; kind none when there is none.
Result<Value> read_file(const fs::path& folder, const char* role, std::size_t k, const ir::ValueInfo& info) {
  const fs::path path = folder / fmt::format("{}_{}.pb", role, k);
  return fs::exists(path) ? read_recorded(path, info) : Result<Value>(Value());
}

/// The recorded value of something that is declared as `info`.
Result<NamedValue> read_content(const fs::path& path, const ir::ValueInfo& info) {
  const ir::DeclaredType::Kind kind = info.type ? info.type->kind : ir::DeclaredType::Kind::tensor;
  const auto file = MappedFile::open(path);
  if (!file) return file.error();
  if (kind != ir::DeclaredType::Kind::optional) {
    auto value = read_recorded(path, info);
    if (!value) return value.error();
    const auto named = wire::read_value(*file, value->kind);
    return NamedValue{named ? named->name : "", *std::move(value)};
  }
  auto content = wire::read_value(*file, ValueKind::tensor);
  if (!content) return content;
  return NamedValue{content->name, Value::optional(std::move(content->value))};
}

/// The recorded inputs in their locations.
Result<std::vector<Value>> read_inputs(const ir::Graph& graph, const fs::path& folder) {
  const std::set<std::string_view> defaults = exec::default_names(graph);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (!defaults.contains(graph.name_of(graph.inputs[i].value))) open.push_back(i);
  }
  std::vector<Value> inputs(graph.inputs.size());
  const ir::ValueInfo unlisted;
  for (std::size_t k = 0; fs::exists(folder / fmt::format("input_{}.pb", k)); ++k) {
    const fs::path path = folder / fmt::format("input_{}.pb", k);
    const auto value = read_content(path, k < open.size() ? graph.inputs[open[k]] : unlisted);
    if (!value)
      return make_error(ErrorKind::input, "unreadable", path.string() + ": " + value.error().diagnostic.message);
    std::size_t at = k < open.size() ? open[k] : graph.inputs.size();
    for (std::size_t i = 0; k >= open.size() && i < graph.inputs.size(); ++i) {
      if (graph.name_of(graph.inputs[i].value) == value->name) at = i;
    }
    if (at == graph.inputs.size()) return make_error(ErrorKind::input, "unreadable", path.string() + ": no such input");
    inputs[at] = value->value;
  }
  return inputs;
}

}  // namespace

Result<DataSet> read_official_set(const ir::Graph& graph, const std::filesystem::path& folder,
                                  const std::filesystem::path& corrections) {
  const std::set<std::string_view> defaults = exec::default_names(graph);
  DataSet set;
  std::size_t given = 0;
  for (const ir::ValueInfo& info : graph.inputs) {
    const bool has_default = defaults.contains(graph.name_of(info.value));
    auto value = has_default ? Result<Value>(Value()) : read_file(folder, "input", given++, info);
    if (!value) return value.error();
    set.inputs.push_back(*std::move(value));
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const bool corrected = fs::exists(corrections / fmt::format("output_{}.pb", i));
    auto value = read_file(corrected ? corrections : folder, "output", i, graph.outputs[i]);
    if (!value) return value.error();
    set.outputs.push_back(*std::move(value));
  }
  return set;
}

Result<DataSet> read_exported_set(const ir::Graph& graph, const fs::path& folder) {
  auto inputs = read_inputs(graph, folder);
  if (!inputs) return inputs.error();
  DataSet set{*std::move(inputs), {}};
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const fs::path recorded = folder / fmt::format("output_{}.pb", i);
    auto expected = read_content(recorded, graph.outputs[i]);
    if (!expected)
      return make_error(ErrorKind::input, "unreadable", recorded.string() + ": " + expected.error().diagnostic.message);
    set.outputs.push_back(std::move(expected->value));
  }
  return set;
}

}  // namespace onnxkit::official
