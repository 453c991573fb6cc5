#include "libonnxkit/inputs/compared_numbers.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "libonnxkit/inputs/readers.h"
#include "libonnxkit/ir/order.h"
#include "libonnxkit/ir/tensor/tensor_data.h"

namespace onnxkit::inputs {
namespace {

using checker::InferTraits;
using checker::InputRole;
using checker::Role;
using ir::ValueId;

/// Columns beyond this and larger constants are not worth it.
constexpr std::int64_t most_columns = 1 << 16;
constexpr std::uint64_t most_numbers = 1 << 20;

class ComparedNumbersTracer {
 public:
  ComparedNumbersTracer(const ir::Model& model, const spec::OpTable& table)
      : table_(table), readers_(model, [this](const Reader& reader) { read(reader); }) {}

  ComparedNumbers trace(const ir::Model& model, ValueId input) {
    readers_.follow(*model.graph, model.opset_imports, input, "main");
    return std::move(found_);
  }

 private:
  void read(const Reader& reader) {
    const auto& [graph, opsets, node, input, where, place] = reader;
    follow_into_bodies(reader);
    const InferTraits& traits = checker::traits_of(node, opsets, table_);
    for (const InputRole& role : traits.inputs) {
      if (role.input != input) continue;
      if (role.role == Role::moved) {
        for (const ValueId output : node.outputs) readers_.follow(graph, opsets, output, where);
      }
      if (role.role == Role::compared) {
        traits.numbers ? take(traits.numbers(node)) : take_constant(graph, node, role.other);
        const bool is_any = !found_.of_all.empty() || !found_.of_columns.empty();
        if (is_any && found_.at.empty()) found_.at = fmt::format("{} ({})", place, node.op_type.view());
      }
    }
  }

  /// Of nodes that give a body its inputs in their order.
  void follow_into_bodies(const Reader& reader) {
    const ir::Node& node = reader.node;
    ir::for_each_subgraph(node, [&](const ir::Graph& body, std::size_t) {
      if (body.inputs.size() != node.inputs.size()) return;
      for (std::size_t k = 0; k < node.inputs.size(); ++k) {
        if (const ir::Tensor* constant = constant_of(reader.graph, node.inputs[k]))
          constants_[{&body, body.inputs[k].value}] = constant;
      }
      readers_.follow(body, reader.opsets, body.inputs[reader.input].value, reader.place);
    });
  }

  const ir::Tensor* constant_of(const ir::Graph& graph, ValueId id) const {
    if (id == ValueId::none) return nullptr;
    const auto bound = constants_.find({&graph, id});
    return bound == constants_.end() ? initializer_of(graph, id) : bound->second;
  }

  std::vector<double>& numbers_of(std::int64_t column) {
    const auto at = static_cast<std::size_t>(column);
    if (at >= found_.of_columns.size()) found_.of_columns.resize(at + 1);
    return found_.of_columns[at];
  }

  void take(const std::vector<checker::ComparedNumber>& numbers) {
    for (const checker::ComparedNumber& number : numbers) {
      if (!std::isfinite(number.number) || number.column >= most_columns) continue;
      (number.column < 0 ? found_.of_all : numbers_of(number.column)).push_back(number.number);
    }
  }

  /// The last axis of the constant are columns; one of size 1 is compared with all.
  void take_constant(const ir::Graph& graph, const ir::Node& node, std::size_t input) {
    const ir::Tensor* tensor = input < node.inputs.size() ? constant_of(graph, node.inputs[input]) : nullptr;
    auto reader = tensor ? ir::ElementReader::open(*tensor) : std::nullopt;
    if (!reader || reader->count() == 0 || reader->count() > most_numbers || !is_floating(reader->type())) return;
    std::vector<double> elements(reader->count());
    elements.resize(reader->read(elements));
    const std::int64_t columns = tensor->dims.empty() ? 1 : tensor->dims.back();
    std::vector<checker::ComparedNumber> numbers;
    for (std::size_t i = 0; i < elements.size(); ++i)
      numbers.push_back({columns == 1 ? -1 : static_cast<std::int64_t>(i) % columns, elements[i]});
    take(numbers);
  }

  const spec::OpTable& table_;
  Readers readers_;
  ComparedNumbers found_;
  std::map<std::pair<const ir::Graph*, ValueId>, const ir::Tensor*> constants_;  ///< that inputs of bodies stand for
};

}  // namespace

std::optional<ComparedNumbers> compared_numbers(const ir::Model& model, const spec::OpTable& table, ValueId input) {
  ComparedNumbers found = ComparedNumbersTracer(model, table).trace(model, input);
  for (std::vector<double>& column : found.of_columns) std::sort(column.begin(), column.end());
  std::sort(found.of_all.begin(), found.of_all.end());
  return found.at.empty() ? std::nullopt : std::optional(std::move(found));
}

}  // namespace onnxkit::inputs
