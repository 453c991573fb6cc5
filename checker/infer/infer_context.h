#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checker/infer/constant.h"
#include "checker/infer/type.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/node_attributes.h"
#include "libonnxkit/spec/op_schema.h"

namespace onnxkit::checker {

class Inference;
struct Frame;

/// Which part of the node a finding is about.
struct Where {
  enum class Kind : std::uint8_t { node, input, output, attribute, body_output };
  Kind kind = Kind::node;
  std::size_t index = 0;
  std::string_view name;
};
inline Where at_node() { return {}; }
inline Where at_input(std::size_t index) { return {.kind = Where::Kind::input, .index = index, .name = {}}; }
inline Where at_attribute(std::string_view name) { return {.kind = Where::Kind::attribute, .index = 0, .name = name}; }

/// Output `index` of the graph that attribute `name` holds.
inline Where at_body_output(std::string_view name, std::size_t index) {
  return {.kind = Where::Kind::body_output, .index = index, .name = name};
}

/// What an inference function says is wrong. The context adds file, graph, node and names.
struct Finding {
  std::string_view code;
  Where at;
  std::string message;
  std::string expected = {};
  std::string found = {};
  std::string note = {};
  std::string help = {};
};

/// Whether what is wrong inside a body is reported; loops infer theirs several times before the types settle.
enum class Reporting : std::uint8_t { on, off };

/// What a node needs of two sizes a and b.
enum class SizeRelation : std::uint8_t {
  equal,
  stretched,  ///< a is b or 1
  broadcast,  ///< equal, or one of them is 1
  at_most,    ///< a <= b
};

/// Result of one output of a subgraph or function body.
struct BodyOutput {
  Type type;
  std::optional<Constant> value;
};

/// What an inference function sees of one node, and where it puts its answers.
/// Inputs: what is known is non-null; an omitted input and an input of unknown type look alike except for has_input.
/// Outputs: element types that the schema determines (type variables bound by inputs, single-type constraints) are already set.
class InferContext : public spec::NodeAttributes {
 public:
  const ir::Node& node() const { return *node_; }
  const spec::OpSchema& schema() const { return *schema_; }
  /// since_version of the operator version in force.
  std::int32_t since() const { return schema_->since_version; }

  std::size_t input_count() const { return node_->inputs.size(); }
  std::size_t output_count() const { return node_->outputs.size(); }
  bool has_input(std::size_t index) const;
  bool has_output(std::size_t index) const;
  /// "" when omitted.
  std::string_view input_name(std::size_t index) const;

  /// Null when omitted or nothing at all is known.
  const Type* input_type(std::size_t index) const;
  /// `undefined` when unknown.
  ElementType input_elem(std::size_t index) const;
  /// Null when omitted, not a tensor, or of unknown rank.
  const Shape* input_shape(std::size_t index) const;
  std::optional<std::size_t> input_rank(std::size_t index) const;
  /// Content of a small tensor when all or part of it is known (constants and propagated shape arithmetic); null otherwise.
  const Constant* input_value(std::size_t index);
  /// input_value as constant int64s; nullopt unless all elements are constants.
  std::optional<std::vector<std::int64_t>> constant_integers(std::size_t index);
  /// The constant single element of a scalar or one-element tensor.
  std::optional<std::int64_t> constant_integer(std::size_t index);
  std::optional<std::vector<double>> constant_reals(std::size_t index);

  /// Content of a tensor attribute, up to Constant::max_elements.
  std::optional<Constant> tensor_content(const ir::Tensor& tensor) const;

  // ---- answers (outputs that the node omits are ignored)

  void set_type(std::size_t output, Type type);
  void set_elem(std::size_t output, ElementType elem);
  /// Makes the output a tensor of this shape, keeping its element type. Unknown Dims become lost symbols.
  void set_shape(std::size_t output, Shape shape);
  void set_tensor(std::size_t output, ElementType elem, Shape shape);
  /// Output type and shape are those of an input.
  void copy_type(std::size_t input, std::size_t output);
  void copy_shape(std::size_t input, std::size_t output);
  /// Content, for small tensors; sets shape and element type too.
  void set_value(std::size_t output, Constant value);
  const Type& output_type(std::size_t output) const { return outputs_[output].type; }
  /// Says why the shape of an output cannot be known; `infer --why` shows it.
  void lose_shape(std::size_t output, std::string reason);
  /// The same where what is not known is the content of an input. Sizes that stay unknown truly depend on data when the model's caller
  /// decides that content.
  void lose_shape_to_content(std::size_t output, std::size_t input, std::string reason);

  /// "upgrade to opset 19" where a later version of the operator can give this type as its first output; else empty.
  std::string help_to_give(ElementType type);

  /// Every finding of a node is kept; one call does not stop the function.
  void error(Finding finding);
  void warning(Finding finding);

  /// Notes what this node needs of two sizes, for who chooses the sizes that the model leaves open.
  void demand(SizeRelation relation, Dim a, Dim b);
  /// Demands that two sizes are equal; true when they never are, which the caller reports.
  bool sizes_clash(Dim a, Dim b);
  /// Demands that two sizes are equal. Reports dim-name-conflict when a named size would have to be two different constants: as an error when one
  /// axis would have to be both, as a warning when only the name says that two axes are equal.
  void need_equal(Dim a, Dim b, Where at);

  // ---- symbolic arithmetic

  DimPool& dims();
  /// A new symbol for a size that truly depends on data; `stem` names it ("nonzero").
  Dim data_dependent(std::string_view stem, std::string reason);
  /// A new symbol for a size that is the content of an input: data-dependent when the model's caller decides it, else lost.
  Dim size_from_content(std::size_t input, std::string_view stem, std::string reason);
  /// A new symbol for a size that inference cannot follow.
  Dim lost(std::string reason);
  std::string text(std::span<const Dim> shape);
  std::string text(Dim dim);

  // ---- bodies

  /// Infers a graph attribute with these input types and, where given, contents. Reports subgraph-arity / subgraph-types against the
  /// attribute when the body's inputs do not fit, and answers nullopt then or when there is no such graph.
  std::optional<std::vector<BodyOutput>> infer_body(std::string_view attribute, std::span<const Type> inputs,
                                                    std::span<const Constant* const> values = {},
                                                    Reporting reporting = Reporting::on);

 private:
  friend class Inference;
  struct Output {
    Type type;
    std::optional<Constant> value;
    std::string loss;
    bool depends_on_data = false;
    std::optional<std::size_t> content_input = {};  ///< its unknown content leaves the shape open
  };
  InferContext(Inference& inference, Frame& frame, std::size_t node_index, const spec::OpSchema& schema);
  bool is_from_data(std::size_t input) const;
  void add_finding(Finding finding, bool is_error);

  Inference& inference_;
  Frame& frame_;
  std::size_t node_index_;
  const ir::Node* node_;
  const spec::OpSchema* schema_;
  std::vector<Output> outputs_;
};

}  // namespace onnxkit::checker
