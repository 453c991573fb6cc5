#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "checker/infer/growing_inference.h"
#include "libonnxkit/ir/builder.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::foreign {

using checker::Dim;
using checker::Shape;

/// A value of the ONNX graph that is being built; an omitted one converts to false.
struct Val {
  const ir::Graph* graph = nullptr;
  ir::ValueId id = ir::ValueId::none;

  explicit operator bool() const { return id != ir::ValueId::none; }
  friend bool operator==(const Val&, const Val&) = default;
};

/// Builds an ONNX model node by node and knows at each step the types and small contents of what is there. Values of outer graphs may be
/// used in bodies. Every integer that stands for a size is a vector of one int64.
class OnnxBuilder {
 public:
  /// `model` has imports and the inputs of its main graph.
  OnnxBuilder(ir::Model& model, const spec::OpTable& table);

  // ---- nodes

  Val emit(std::string_view op, const std::vector<Val>& inputs, const std::vector<ir::Attr>& attributes = {});
  std::vector<Val> emit_many(std::size_t outputs, std::string_view op, const std::vector<Val>& inputs,
                             const std::vector<ir::Attr>& attributes = {});
  /// A node with bodies as attributes, which `close_body` gave.
  using Body = std::pair<std::string_view, std::unique_ptr<ir::Graph>>;
  std::vector<Val> emit_with_bodies(std::size_t outputs, std::string_view op, const std::vector<Val>& inputs,
                                    std::vector<Body> bodies, const std::vector<ir::Attr>& attributes = {});
  /// A value that nothing computes, in place of one that cannot be expressed, so that what reads it can still be looked at.
  Val placeholder(const checker::Type& type);
  /// Names of the nodes from now on, and what they remember of the framework's node.
  void set_origin(std::string_view name, std::string_view scope, std::string_view source);
  /// Adds to the metadata of the node that was emitted last.
  void annotate(std::string_view key, std::string_view text);

  // ---- constants

  Val integers(std::span<const std::int64_t> values);
  Val integers(std::initializer_list<std::int64_t> values) {
    return integers(std::span(values.begin(), values.size()));
  }
  /// The same with elements of another type of integers.
  Val integers(ElementType type, std::span<const std::int64_t> values);
  /// A tensor without axes. Integers are exact up to 2^53.
  Val scalar(ElementType type, double value);
  /// A tensor of a floating type; for small ones, as its numbers are copied.
  Val reals(ElementType type, std::vector<std::int64_t> dims, std::span<const double> values);
  Val scalar_integer(ElementType type, std::int64_t value);
  /// A tensor whose bytes stay where they are, as long as a file of the model holds them.
  Val initializer(std::string_view name, ElementType type, std::vector<std::int64_t> dims,
                  std::span<const std::byte> bytes);

  /// A tensor whose bytes the model takes over.
  Val owned_initializer(std::string_view name, ElementType type, std::vector<std::int64_t> dims, std::string bytes);
  /// The bytes of an initializer, as in raw_data; nullopt for other values.
  std::optional<std::span<const std::byte>> initializer_bytes(Val value) const;

  // ---- what is known

  const checker::Type& type(Val value);
  ElementType elem(Val value) { return type(value).elem; }
  /// Null when the rank is unknown.
  const Shape* shape(Val value);
  std::optional<std::size_t> rank(Val value);
  /// Of an axis whose size is a constant.
  std::optional<std::int64_t> size(Val value, std::size_t axis);
  /// The number of elements when all sizes are constants.
  std::optional<std::int64_t> element_count(Val value);
  /// Elements that are all known integers, of a scalar or a vector.
  std::optional<std::vector<std::int64_t>> constant_integers(Val value);
  /// The same where elements may be expressions; empty when unknown.
  Shape symbolic_integers(Val value);
  checker::DimPool& dims() { return inference_.dims(); }

  // ---- common compositions

  Val cast(Val value, ElementType type);
  Val reshape(Val value, std::span<const std::int64_t> sizes);
  Val reshape(Val value, std::initializer_list<std::int64_t> sizes) {
    return reshape(value, std::span(sizes.begin(), sizes.size()));
  }
  Val transpose(Val value, std::vector<std::int64_t> permutation);
  Val unsqueeze(Val value, std::vector<std::int64_t> axes);
  Val squeeze(Val value, std::vector<std::int64_t> axes);
  /// The size of an axis as a vector of one; a constant where it is known.
  Val size_of(Val value, std::int64_t axis);
  /// Vectors one behind the other; a constant where all are.
  Val joined(const std::vector<Val>& vectors);

  // ---- bodies

  struct BodyInput {
    std::string_view stem;
    checker::Type type;
  };
  /// Until `close_body` nodes go into a new graph inside the present one. Returns its inputs.
  std::vector<Val> open_body(std::string_view name, std::span<const BodyInput> inputs);
  std::unique_ptr<ir::Graph> close_body(const std::vector<Val>& outputs);

  // ---- the result

  /// Gives a value that this builder named itself another name, if it is free.
  void name_value(Val value, std::string_view name);
  /// Declares a value as an output of the main graph, with its type.
  void add_output(Val value, std::string_view name);
  /// Removes nodes and initializers that nothing needs.
  void remove_unused();
  ir::Graph& graph() { return *graphs_.back(); }
  ir::Model& model() { return model_; }
  /// What inference found wrong with nodes; the index is the number of nodes emitted at most.
  const std::vector<Diagnostic>& findings() const { return inference_.findings(); }

 private:
  ir::ValueId here(Val value);
  Val new_value(std::string_view stem);
  std::string_view unique(std::string_view stem);
  Val constant(std::string key, ir::Tensor tensor, std::string_view stem);
  ir::DeclaredType declared(const checker::Type& type);

  ir::Model& model_;
  checker::GrowingInference inference_;
  std::vector<ir::Graph*> graphs_;                      ///< the main graph, then the bodies that are open
  std::vector<std::unique_ptr<ir::Graph>> bodies_;      ///< those that are open
  std::vector<std::map<std::string, Val>> constants_;   ///< by graph: what has been made by content
  std::unordered_map<std::string, std::size_t> names_;  ///< of values, over all graphs; how often a stem was asked for
  std::unordered_set<std::string> own_names_;           ///< of values that may be named otherwise
  std::unordered_set<std::string> node_names_;
  std::string origin_name_, origin_stem_, origin_source_;
  std::size_t origin_nodes_ = 0;
};

}  // namespace onnxkit::foreign
