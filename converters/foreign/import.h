#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "converters/foreign/call.h"
#include "converters/foreign/graph.h"
#include "converters/foreign/onnx_builder.h"
#include "converters/foreign/operators.h"
#include "converters/foreign/refusals.h"
#include "converters/foreign/trace.h"
#include "onnxkit/diagnostic.h"
#include "onnxkit/result.h"

namespace onnxkit::foreign {

/// Turns one node into ONNX, or refuses.
using MapNode = void (*)(Call& call);

/// Which operators of a framework can be turned into ONNX. Filled by the register functions of the mapping files.
class Mappings {
 public:
  void add(std::string_view op, MapNode map) { by_op_.insert_or_assign(op, map); }
  void add(std::initializer_list<std::string_view> ops, MapNode map) {
    for (const std::string_view op : ops) add(op, map);
  }
  /// Operators that are refused for a reason of their own, and what may help.
  struct Refused {
    std::string_view reason, help = {};
    bool is_free_of_effects = false;  ///< so that a node whose results nothing needs is left out, not refused
  };
  void refuse(std::initializer_list<std::string_view> ops, Refused why) {
    for (const std::string_view op : ops) refused_.insert_or_assign(op, why);
  }
  const std::map<std::string_view, Refused>& refused() const { return refused_; }
  /// How an operator of `add` is turned into ONNX where an operand is complex.
  void add_complex(std::initializer_list<std::string_view> ops, MapNode map) {
    for (const std::string_view op : ops) complex_.insert_or_assign(op, map);
  }
  /// Operators of `add` that do to the real and to the imaginary part of their operands what they do to real numbers.
  void add_by_part(std::initializer_list<std::string_view> ops) { by_part_.insert(ops); }
  /// Another name of an operator, which is read with the same arguments.
  void add_alias(std::string_view alias, std::string_view op) { aliases_.insert_or_assign(alias, op); }
  /// Null when there is none.
  MapNode find(std::string_view op) const { return find_in(by_op_, op); }
  MapNode find_complex(std::string_view op) const { return find_in(complex_, op); }
  bool is_by_part(std::string_view op) const { return by_part_.contains(own_name(op)); }
  const std::map<std::string_view, MapNode>& all() const { return by_op_; }
  /// All that something is known of, sorted.
  ReadOperators operators() const {
    ReadOperators known;
    for (const auto& [op, map] : by_op_) known.push_back({std::string(op), {}});
    for (const auto& [alias, op] : aliases_) known.push_back({std::string(alias), {}});
    for (const auto& [op, why] : refused_) known.push_back({std::string(op), std::string(why.reason)});
    std::sort(known.begin(), known.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return known;
  }

 private:
  std::string_view own_name(std::string_view op) const {
    const auto found = aliases_.find(op);
    return found == aliases_.end() ? op : found->second;
  }
  MapNode find_in(const std::map<std::string_view, MapNode>& maps, std::string_view op) const {
    const auto found = maps.find(own_name(op));
    return found == maps.end() ? nullptr : found->second;
  }

  std::map<std::string_view, MapNode> by_op_, complex_;
  std::map<std::string_view, std::string_view> aliases_;
  std::set<std::string_view> by_part_;
  std::map<std::string_view, Refused> refused_;
};

/// The opset in which mappings write: that of most exporters and runtimes of today. One that needs an operator of a later opset says so.
constexpr std::int64_t import_opset = 18;

/// The model in ONNX. Error code: unsupported-operator, then `findings` has one for each operator and reason, with the count of nodes and the
/// first of them. `trace` takes what became of each node.
Result<ir::Model> import_model(const Model& model, const Mappings& mappings, std::vector<Diagnostic>& findings,
                               Trace* trace = nullptr);

/// An ONNX model without nodes that has the inputs of `source`.
ir::Model empty_model(const Model& source, std::int64_t opset);

/// What of complex values a mapping is given and gives: nothing, or one part of each.
enum class ComplexPart { none, real, imaginary };

/// The state of an import, seen by Call.
class Importer {
 public:
  Importer(ir::Model& model, const Mappings& mappings, const spec::OpTable& table, Trace* trace)
      : mappings_(mappings),
        builder_(model, table),
        opset_(model.opset_imports.front().version.value_or(0)),
        trace_(trace) {}

  void add_inputs(const Model& model);
  /// Imports the nodes of a graph whose inputs and tensors have values.
  void import_nodes(const Graph& graph);
  void import_node(const Graph& graph, std::size_t index);
  std::vector<Val> import_inlined(const Graph& graph, std::vector<Val> inputs);

  /// Of a complex value the part at hand.
  Val value(const Graph& graph, ValueId id) const;
  void set_value(const Graph& graph, ValueId id, Val value);
  /// The imaginary part, which only complex values have.
  Val imaginary(const Graph& graph, ValueId id) const;
  void set_complex(const Graph& graph, ValueId id, const Complex& value);
  ComplexPart part() const { return part_; }
  /// Another value is the same one.
  void copy_value(const Graph& from, ValueId id, const Graph& to, ValueId copy);
  /// Whether the value has been imported and its type follows from no refused operator.
  bool knows(const Graph& graph, ValueId id) const { return value(graph, id) && !unknown_.contains({&graph, id}); }
  /// A reader that still writes the graph has added values.
  void make_room(const Graph& graph) {
    values_[&graph].resize(graph.values.size());
    needed_.erase(&graph);
  }
  void forget(const Graph& graph, ValueId id) { unknown_.emplace(&graph, id); }
  void refuse(std::string reason, std::string help);
  bool refused() const { return refused_; }
  std::int64_t opset() const { return opset_; }
  /// What mappings ask for: more than `opset` makes the model be imported again.
  std::int64_t needed_opset() const { return needed_opset_; }
  void need_opset(std::int64_t opset) { needed_opset_ = std::max(needed_opset_, opset); }
  OnnxBuilder& builder() { return builder_; }
  /// Adds the nodes of the result to the trace. To be called when it has all that it will have.
  void trace_results();
  /// What cannot be expressed.
  const Refusals& refusals() const { return refusals_; }

 private:
  bool is_needed(const Graph& graph, const Node& node);
  void map_node(const Graph& graph, const Node& node);
  void map_complex(const Graph& graph, const Node& node, MapNode map);
  bool reads_complex(const Graph& graph, const Node& node) const;
  void trace_made(std::size_t entry, std::size_t first);
  bool reads_unknown(const Graph& graph, const Node& node) const;
  void fill_in(const Graph& graph, const Node& node);
  void add_tensors(const Graph& graph);

  const Mappings& mappings_;
  OnnxBuilder builder_;
  std::int64_t opset_, needed_opset_ = 0;
  std::unordered_map<const Graph*, std::vector<Val>> values_;
  std::unordered_map<const Graph*, std::map<ValueId, Val>> imaginary_;
  ComplexPart part_ = ComplexPart::none;
  std::unordered_map<const Graph*, std::vector<bool>> needed_;  ///< values, of graphs where that was asked
  Refusals refusals_;
  const Node* node_ = nullptr;
  std::size_t node_index_ = 0;
  bool refused_ = false;
  /// Results of nodes that were refused and whose types no one knows, and what was made of them: by graph and value.
  std::set<std::pair<const Graph*, ValueId>> unknown_;
  Trace* trace_;
  std::size_t entry_ = 0;  ///< of the trace: the node at hand
  /// By graph and first result: the entry of the trace whose mapping emitted the node.
  std::map<std::pair<const ir::Graph*, ir::ValueId>, std::size_t> made_by_;
};

}  // namespace onnxkit::foreign
