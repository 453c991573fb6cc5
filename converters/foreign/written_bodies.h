#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "converters/foreign/export.h"
#include "converters/foreign/write_types.h"

// Branches and loops of frameworks that have them as operators with graphs.
namespace onnxkit::foreign {

TensorType scalar_type(ElementType elem);
TensorType of_unknown_shape(ElementType elem);

/// A node with one result, at the end of a graph that is put together.
ValueId add_node(Graph& graph, std::string_view op, const std::vector<Given>& given, std::string_view name,
                 const std::optional<TensorType>& type);
void add_graph(Node& node, std::string_view name, std::unique_ptr<Graph> graph);
void add_operands(Node& node, const std::vector<ValueId>& values);

/// The values of graphs around that either body reads.
std::vector<ValueId> captures_of(const WriteCall::Body& a, const WriteCall::Body& b);
/// Refuses a body that does not compute an output, or reads what is not a tensor.
bool has_values_of_tensors(WriteCall& call, const WriteCall::Body& body);

/// Operators whose operands are a condition and all captures, and what names their graphs.
struct BranchOperator {
  std::string_view op, then_name, else_name;
};
/// If, of bodies that were found to have values of tensors. `condition` is a scalar.
void write_branches(WriteCall& call, const BranchOperator& target, ValueId condition, WriteCall::Body then_body,
                    WriteCall::Body else_body);

/// Whether nothing bounds the rounds of a Loop that a tensor could have room for: no limit, or the huge one that exporters write for `while`.
bool has_open_rounds(const WriteCall& call);
/// A list of Scan, one number for each item, with its default where it is too short.
Ints item_list(const WriteCall& call, std::string_view name, std::size_t count);

/// A graph that is put together.
class Subgraph {
 public:
  Subgraph(WriteCall& call, Graph& graph) : call_(call), graph_(graph) {}

  ValueId node(std::string_view op, const std::vector<Given>& given, const TensorType& type);
  /// The same of a value that the graph has and nothing computes yet.
  void compute(ValueId result, std::string_view op, const std::vector<Given>& given);
  ValueId constant(ElementType elem, const Ints& values, Ints dims);

 private:
  WriteCall& call_;
  Graph& graph_;
};

struct LoopOperators {
  std::string_view loop, less, logical_and;  ///< the loop has the graphs `cond` and `body`
  bool takes_input_as_condition = false;     ///< a graph may give what it was given
};

/// A loop on its way: what it carries from round to round, in the loop's graph, its body and its condition.
class Rounds {
 public:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  Rounds(WriteCall& call, WriteCall::Body body);

  /// The input of the body, and what it computes, as the node of ONNX has them.
  ValueId input(std::size_t i) const { return inputs_[i]; }
  ValueId computed(std::size_t o) const { return results_[o].value; }
  Subgraph& inside() { return inside_; }
  Graph& graph() { return *body_.graph; }

  /// A value that the body takes and gives anew: its place among the carried ones.
  std::size_t carry(ValueId outer, ValueId inner, ValueId next, Type type);
  /// One that stays.
  ValueId keep(ValueId outer);
  void carry_captures();

  /// The loop, as long as the number of the round is below the limit, and the condition holds of the carried values there.
  std::vector<ValueId> write(const LoopOperators& target, std::size_t round, std::size_t limit,
                             std::optional<std::size_t> goes_on);

 private:
  std::unique_ptr<Graph> condition(const LoopOperators& target, std::size_t round, std::size_t limit,
                                   std::optional<std::size_t> goes_on);

  WriteCall& call_;
  WriteCall::Body body_;
  Subgraph inside_;
  std::vector<ValueId> inputs_;
  std::vector<Output> results_;
  std::vector<ValueId> outer_;
  std::vector<Type> types_;
};

}  // namespace onnxkit::foreign
