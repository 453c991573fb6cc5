#include "libonnxkit/inputs/known_elements.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/inputs/readers.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/ir/tensor/tensor_data.h"

namespace onnxkit::inputs {
namespace {

using checker::InputRole;
using checker::Role;
using ir::ValueId;

constexpr std::size_t most_known = 1 << 16, most_compared = 64;
constexpr std::int64_t most_columns_of_words = 1 << 12;

class KnownElementsTracer {
 public:
  KnownElementsTracer(const ir::Model& model, const spec::OpTable& table)
      : table_(table), readers_(model, [this](const Reader& reader) { read(reader); }) {}

  KnownElements trace(const ir::Model& model, ValueId input) {
    readers_.follow(*model.graph, model.opset_imports, input, "main");
    return std::move(found_);
  }

 private:
  void read(const Reader& reader) {
    const auto& [graph, opsets, node, input, where, place] = reader;
    take_attributes(node);
    bool is_moved = changes_text(node) && input == 0;
    for (const InputRole& role : checker::traits_of(node, opsets, table_).inputs) {
      if (role.input != input) continue;
      is_moved = is_moved || role.role == Role::moved;
      if (role.role == Role::compared) take_integers(graph, node, role.other);
    }
    if (found_.at.empty() && (found_.has_words() || !found_.numbers.empty()))
      found_.at = fmt::format("{} ({})", place, node.op_type.view());
    if (!is_moved) return;
    found_.is_split = found_.is_split || node.op_type == "Tokenizer";
    const std::optional<std::int64_t> column = column_;
    if (takes_columns(node) && !column_) column_ = taken_column(graph, node);
    for (const ValueId output : node.outputs) readers_.follow(graph, opsets, output, where);
    column_ = column;
  }

  /// Of rows with a number of columns.
  static bool takes_columns(const ir::Node& node) {
    if (node.op_type == "ArrayFeatureExtractor") return true;
    const ir::Attribute* axis = node.op_type == "Gather" ? node.find_attribute("axis") : nullptr;
    const auto* number = axis ? axis->as<std::int64_t>() : nullptr;
    return number && (*number == 1 || *number == -1);
  }

  static std::optional<std::int64_t> taken_column(const ir::Graph& graph, const ir::Node& node) {
    const auto places = integers_of(graph, node, 1);
    const bool is_one = places.size() == 1 && places[0] >= 0 && places[0] < most_columns_of_words;
    return is_one ? std::optional(places[0]) : std::nullopt;
  }

  std::vector<std::string>& words() {
    if (!column_) return found_.words;
    const auto column = static_cast<std::size_t>(*column_);
    if (column >= found_.words_of_columns.size()) found_.words_of_columns.resize(column + 1);
    return found_.words_of_columns[column];
  }

  static bool changes_text(const ir::Node& node) {
    constexpr std::array<std::string_view, 3> names = {"StringNormalizer", "Tokenizer", "ArrayFeatureExtractor"};
    return std::find(names.begin(), names.end(), node.op_type.view()) != names.end();
  }

  void take_attributes(const ir::Node& node) {
    constexpr std::array<std::string_view, 5> names = {"cats_strings", "keys_strings", "pool_strings", "cats_int64s",
                                                       "keys_int64s"};
    for (const std::string_view name : names) {
      const ir::Attribute* attribute = node.find_attribute(name);
      if (!attribute) continue;
      if (const auto* texts = attribute->as<std::vector<Text>>())
        for (std::size_t i = 0; i < texts->size() && words().size() < most_known; ++i)
          words().emplace_back((*texts)[i].view());
      if (const auto* numbers = attribute->as<std::vector<std::int64_t>>())
        for (std::size_t i = 0; i < numbers->size() && found_.numbers.size() < most_known; ++i)
          found_.numbers.push_back((*numbers)[i]);
      found_.are_compared = found_.are_compared && !attribute->as<std::vector<std::int64_t>>();
    }
    const ir::Attribute* zeros = node.op_type == "OneHotEncoder" ? node.find_attribute("zeros") : nullptr;
    const auto* gives_zeros = zeros ? zeros->as<std::int64_t>() : nullptr;
    if (gives_zeros && *gives_zeros == 0) found_.has_others = false;
  }

  /// Of an initializer or a Constant with few elements; empty for others.
  static std::vector<std::int64_t> integers_of(const ir::Graph& graph, const ir::Node& node, std::size_t input) {
    const ValueId id = input < node.inputs.size() ? node.inputs[input] : ValueId::none;
    const ir::Tensor* const tensor = id == ValueId::none ? nullptr : stored(graph, id);
    auto reader = tensor ? ir::ElementReader::open(*tensor) : std::nullopt;
    if (!reader || reader->count() > most_compared || is_floating(reader->type())) return {};
    std::vector<std::int64_t> numbers(reader->count());
    numbers.resize(reader->read(numbers));
    return numbers;
  }

  static const ir::Tensor* stored(const ir::Graph& graph, ValueId id) {
    if (const ir::Tensor* tensor = initializer_of(graph, id)) return tensor;
    for (const ir::Node& node : graph.nodes) {
      const ir::Attribute* value = node.op_type == "Constant" ? node.find_attribute("value") : nullptr;
      if (value && ir::first_output(node) == id) return value->tensor();
    }
    return nullptr;
  }

  void take_integers(const ir::Graph& graph, const ir::Node& node, std::size_t input) {
    const auto numbers = integers_of(graph, node, input);
    found_.numbers.insert(found_.numbers.end(), numbers.begin(), numbers.end());
  }

  const spec::OpTable& table_;
  Readers readers_;
  KnownElements found_;
  std::optional<std::int64_t> column_;  ///< of the input that the value at hand is
};

}  // namespace

std::optional<KnownElements> known_elements(const ir::Model& model, const spec::OpTable& table, ValueId input) {
  KnownElements found = KnownElementsTracer(model, table).trace(model, input);
  return found.at.empty() ? std::nullopt : std::optional(std::move(found));
}

}  // namespace onnxkit::inputs
