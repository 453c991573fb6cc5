#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "checker/infer/inference.h"
#include "converters/foreign/graph.h"
#include "converters/foreign/places.h"
#include "converters/foreign/refusals.h"
#include "converters/foreign/trace.h"
#include "converters/foreign/write_call.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/uses.h"
#include "libonnxkit/spec/op_table.h"
#include "libonnxkit/wire/external/external_data.h"
#include "onnxkit/diagnostic.h"
#include "onnxkit/result.h"

namespace onnxkit::foreign {

/// Writes one node of ONNX with operators of another framework, or refuses.
using WriteNode = void (*)(WriteCall& call);

/// Which operators of ONNX a framework can express. Filled by the register functions of the files in `write/`.
class Writers {
 public:
  /// The name of an operator of ai.onnx; of other domains "domain::name".
  void add(std::string_view op, WriteNode write) { by_op_.insert_or_assign(op, write); }
  void add(std::initializer_list<std::string_view> ops, WriteNode write) {
    for (const std::string_view op : ops) add(op, write);
  }
  /// Null when there is none.
  WriteNode find(std::string_view op) const {
    const auto found = by_op_.find(op);
    return found == by_op_.end() ? nullptr : found->second;
  }
  /// Why operators have none, and what its user can do.
  struct Refusal {
    std::string_view reason, help;
  };
  void refuse(std::initializer_list<std::string_view> ops, Refusal refusal) {
    for (const std::string_view op : ops) refusals_.insert_or_assign(op, refusal);
  }
  /// Null where nothing is known beyond that there is no mapping.
  const Refusal* refusal(std::string_view op) const {
    const auto found = refusals_.find(op);
    return found == refusals_.end() ? nullptr : &found->second;
  }
  /// What every node must pass before its mapping sees it: refuses types that no operator of the framework takes. Null when there is nothing.
  void set_condition(WriteNode check) { condition_ = check; }
  WriteNode condition() const { return condition_; }
  /// TensorFlow's when none is set.
  void set_dialect(const Dialect& dialect) { dialect_ = dialect; }
  const Dialect& dialect() const { return dialect_; }
  const std::map<std::string_view, WriteNode>& all() const { return by_op_; }
  /// The operators that have one, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [op, map] : by_op_) names.emplace_back(op);
    return names;
  }

 private:
  std::map<std::string_view, WriteNode> by_op_;
  std::map<std::string_view, Refusal> refusals_;
  WriteNode condition_ = nullptr;
  Dialect dialect_;
};

/// The model as a graph of another framework, `framework` by name. Text and weights of the result view into `model`, which must outlive it. Error
/// codes: unsupported-operator (then `findings` has one for each operator and reason, with the count of nodes and the first of them, by
/// `places` where they are given), and those of external data. `trace` takes what became of each node; what was made of it is added by
/// add_results, when the graph is final.
Result<Model> export_model(const ir::Model& model, const Writers& writers, std::string_view framework,
                           std::vector<Diagnostic>& findings, const NodePlaces* places = nullptr,
                           Trace* trace = nullptr);

/// Integers, or booleans as 0 and 1, as they lie in raw_data.
void encode_integers(ElementType elem, std::span<const std::int64_t> values, std::span<std::byte> bytes);

/// One graph on its way. Bodies are closed: what they read of graphs around them becomes an input of theirs.
struct WriteFrame {
  const ir::Graph* source = nullptr;
  Graph* graph = nullptr;
  WriteFrame* outer = nullptr;
  bool owns_constants = false;    ///< stored tensors of outer graphs are those of this one, too
  std::optional<ir::Uses> uses;   ///< of the source
  std::vector<ValueId> values;    ///< by ir::ValueId
  std::deque<Type> types;         ///< by foreign ValueId; mappings hold on to one while they emit others
  std::vector<ValueId> captures;  ///< of the outer graph; the last inputs of this one
  std::unordered_map<std::string_view, ValueId> captured;  ///< by name: the inputs here
  std::map<std::string, ValueId> known;                    ///< what mappings made once for all
};

/// Whether a value of the graph, or of one around it, has an axis of that size.
bool has_size(const WriteFrame& frame, Dim size);

/// The state of an export, seen by WriteCall.
class Exporter {
 public:
  Exporter(const ir::Model& model, const Writers& writers, std::string_view framework, const NodePlaces* places,
           Trace* trace);

  Result<Model> run(std::vector<Diagnostic>& findings);

 private:
  friend class WriteCall;

  Graph write_graph(WriteFrame& frame, const ir::Graph& source);
  void add_inputs(WriteFrame& frame);
  void add_initializers(WriteFrame& frame);
  void write_node(WriteFrame& frame, std::size_t index);
  std::size_t add_entry(const WriteFrame& frame, const ir::Node& node);
  void stand_in(WriteFrame& frame, const ir::Node& node, std::size_t nodes);
  bool write_known(WriteFrame& frame, const ir::Node& node);
  void add_outputs(WriteFrame& frame);
  void declare_types(WriteFrame& frame);
  TensorType declared(const Type& type);

  /// none when nothing computes it.
  ValueId value(WriteFrame& frame, ir::ValueId id);
  ValueId captured(WriteFrame& frame, std::string_view name);
  /// A value of the graph around this one, as an input here.
  ValueId capture(WriteFrame& frame, ValueId outer, std::string_view name);
  ValueId new_value(WriteFrame& frame, std::string_view name, Type type);
  ValueId add_tensor(WriteFrame& frame, std::string_view name, ElementType elem, std::vector<std::int64_t> dims,
                     std::span<const std::byte> bytes);
  void give_results(WriteFrame& frame, const ir::Node& node, const std::vector<ValueId>& values);
  std::string_view unique(std::string_view stem);
  std::optional<std::span<const std::byte>> bytes_of(const ir::Tensor& tensor);
  const checker::ValueInfo* known_of(const WriteFrame& frame, ir::ValueId id) const;
  /// A value that a node reads: the graph that has it, which may be one around the node's, and its place there.
  struct Owner {
    const WriteFrame* frame = nullptr;
    ir::ValueId id = ir::ValueId::none;
  };
  static Owner owner_of(const WriteFrame& frame, ir::ValueId id);
  const checker::ValueInfo* known_of_input(const WriteFrame& frame, ir::ValueId id) const;
  /// nullopt when the value is no stored tensor.
  std::optional<Tensor> stored(WriteFrame& frame, ir::ValueId id);
  /// A value of the graph, else of one around it as an input here, with an axis of that size.
  std::pair<ValueId, std::size_t> with_size(WriteFrame& frame, Dim size);
  void refuse(std::string reason, std::string help);
  /// Contents that have been copied need no memory of the mapped file.
  void forget(std::span<const std::byte> bytes) const;

  const ir::Model& source_;
  const Writers& writers_;
  const NodePlaces* places_;
  Trace* trace_;
  spec::OpTable table_;
  wire::ExternalData data_;
  checker::InferredModel inferred_;
  Model model_;
  std::unordered_set<std::string_view> names_;
  std::unordered_map<std::string_view, std::size_t> stems_;  ///< how often a name was asked for
  std::vector<Refusal> refusals_;                            ///< a node "refused k" stands in for a node
  std::optional<Error> fault_;
  const ir::Node* node_ = nullptr;
  std::size_t node_index_ = 0;
  std::size_t first_value_ = 0;  ///< of those that the node at hand adds
  std::optional<std::size_t> refused_;
};

}  // namespace onnxkit::foreign
