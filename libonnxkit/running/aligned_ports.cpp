#include "libonnxkit/running/aligned_ports.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "libonnxkit/ir/builder.h"
#include "libonnxkit/ir/rename.h"

namespace onnxkit::running {
namespace {

std::vector<std::string_view> input_names(const ir::Graph& graph) {
  std::set<std::string_view> stored;
  for (const ir::Tensor& tensor : graph.initializers) stored.insert(tensor.name.view());
  std::vector<std::string_view> names;
  for (const ir::ValueInfo& input : graph.inputs)
    if (const auto name = graph.name_of(input.value); !stored.contains(name)) names.push_back(name);
  return names;
}

std::vector<std::string_view> output_names(const ir::Graph& graph) {
  std::vector<std::string_view> names;
  for (const ir::ValueInfo& output : graph.outputs) names.push_back(graph.name_of(output.value));
  return names;
}

using Wanted = std::map<std::string, std::string>;

bool are_same_in_another_order(std::vector<std::string_view> some, std::vector<std::string_view> others) {
  std::sort(some.begin(), some.end());
  std::sort(others.begin(), others.end());
  return some == others;
}

/// New names by old ones; a value that is wanted under two names, or a name for two values, takes the first.
void add_names(const std::vector<std::string_view>& from, const std::vector<std::string_view>& to, Wanted& wanted,
               std::set<std::string>& taken) {
  if (from.size() != to.size() || are_same_in_another_order(from, to)) return;
  for (std::size_t i = 0; i < from.size(); ++i)
    if (!wanted.contains(std::string(from[i])) && taken.insert(std::string(to[i])).second)
      wanted.emplace(from[i], to[i]);
}

}  // namespace

void align_ports(ir::Model& model, const ir::Model& other) {
  if (!model.graph || !other.graph) return;
  Wanted wanted;
  std::set<std::string> taken;
  add_names(input_names(*model.graph), input_names(*other.graph), wanted, taken);
  add_names(output_names(*model.graph), output_names(*other.graph), wanted, taken);
  std::erase_if(wanted, [](const auto& names) { return names.first == names.second; });
  ir::FreshNames fresh(model);
  // Two steps, since a new name may be the old one of another value.
  ir::Renames away, back;
  for (const auto& [from, to] : wanted) {
    const Text between = fresh.make(from);
    away.emplace(model.keep(from).view(), between);
    back.emplace(between.view(), model.keep(to));
  }
  for (const auto& [from, to] : wanted)
    if (!wanted.contains(to) && model.graph->find(to) != ir::ValueId::none)
      away.emplace(model.keep(to).view(), fresh.make(to));
  if (ir::rename_values(*model.graph, away)) ir::rename_values(*model.graph, back);
}

}  // namespace onnxkit::running
