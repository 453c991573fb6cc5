#pragma once

#include <functional>
#include <optional>
#include <string>

#include "libonnxkit/plan/dequantized_matrix.h"
#include "libonnxkit/plan/plan.h"
#include "libonnxkit/plan/steps.h"
#include "libonnxkit/plan/subject.h"
#include "libonnxkit/spec/node_attributes.h"
#include "libonnxkit/spec/version_registry.h"

namespace onnxkit::plan {

using spec::all_versions;
using spec::since;
using spec::versions;

class Lowerer;

/// Why a node is not lowered; empty when it is.
using Unlowered = std::optional<std::string>;

/// One node as its lowering sees it, and the steps that it writes. All sizes are known. Nothing that is emitted counts when the lowering gives a reason
/// or throws a Misfit, which is one.
class LowerCall : public spec::NodeAttributes {
 public:
  LowerCall(Lowerer& lowerer, std::size_t node_index, const spec::OpSchema& schema);

  const ir::Node& node() const { return *node_; }
  /// BuildOptions::exact.
  bool is_exact() const;
  std::int32_t since() const { return schema_->since_version; }
  std::size_t input_count() const { return node_->inputs.size(); }
  std::size_t output_count() const { return node_->outputs.size(); }
  bool has_input(std::size_t index) const {
    return index < node_->inputs.size() && node_->inputs[index] != ir::ValueId::none;
  }
  bool has_output(std::size_t index) const {
    return index < node_->outputs.size() && node_->outputs[index] != ir::ValueId::none;
  }

  /// Where an input lies. Its stored type may be narrower or wider than its element type: float16 and bfloat16 are stored as float32 inside plans.
  /// Precondition: has_input.
  const View& input(std::size_t index);
  ElementType input_type(std::size_t index) const;
  const Dims& input_dims(std::size_t index) { return input(index).dims; }
  ElementType output_type(std::size_t index) const;
  Dims output_dims(std::size_t index) const;
  /// The content of a constant input.
  std::optional<std::vector<std::int64_t>> constant_integers(std::size_t index) const;
  std::optional<double> constant_real(std::size_t index) const;
  std::optional<std::vector<double>> constant_reals(std::size_t index) const;
  bool is_constant(std::size_t index) const;
  /// The view lies in a constant, widened by its readers or taken in part.
  bool is_stored_constant(std::size_t index);
  /// Constant, or integers that follow from the sizes of the inputs.
  bool knows_content(std::size_t index) const;
  std::optional<Tensor> constant_content(std::size_t index) const;
  /// The factor b of a product, where the model stores it in few bits and all that is computed of it may be rounded.
  std::optional<DequantizedMatrix> dequantized_input(std::size_t index, bool transposed = false) const;

  /// float32 for float16, bfloat16 and float32; other types are stored as they are.
  static ElementType stored_type(ElementType type);
  /// A new tensor in the arena in row-major order, or in the order of axes of `like`.
  View make(ElementType stored, Dims dims);
  View make_like(ElementType stored, Dims dims, const View& like);
  /// For partial sums, which no precision stores narrower.
  View make_sums(ElementType stored, Dims dims);
  /// To be called before tables are made whose size a model names: Misfit where all nodes of a plan ask for too much. `count` entries of `bytes`.
  void spend_on_tables(std::int64_t count, std::uint64_t bytes);
  /// A constant of these numbers, float32.
  View constant(std::span<const float> values, Dims dims);
  View constant(std::span<const double> values, Dims dims);
  View constant(std::span<const std::int32_t> values, Dims dims);
  View constant(std::span<const std::int64_t> values, Dims dims);
  View constant(const Tensor& content);
  /// The constant that `make` gives, made once for all nodes of the plan that ask for this key: it says all that the numbers depend on.
  View shared_constant(const std::string& key, const std::function<View()>& make);
  /// A small constant as a new one of a type that holds its numbers; nothing for other views.
  std::optional<View> wider_constant(const View& view, ElementType type);
  /// The same elements in row-major order: the view itself, or a copy.
  View contiguous(const View& view);
  /// As float32: the view itself, or a conversion.
  View as_real(const View& view);

  /// The output is this view, of its sizes and stored type.
  void set_output(std::size_t index, View view);
  /// A new tensor for the output, which the next step writes.
  View make_output(std::size_t index);
  View make_output_like(std::size_t index, const View& like);

  template <class P>
  void emit(const StepKind& kind, std::vector<View> inputs, std::vector<View> outputs, P parameters) {
    emit_step(kind, std::move(inputs), std::move(outputs), std::make_shared<const P>(std::move(parameters)));
  }
  /// Of a kind that is told nothing beside its operands.
  void emit(const StepKind& kind, std::vector<View> inputs, std::vector<View> outputs) {
    emit_step(kind, std::move(inputs), std::move(outputs), nullptr);
  }
  /// Emits the step if the backend takes it.
  template <class P>
  bool emit_if_taken(const StepKind& kind, std::vector<View> inputs, std::vector<View> outputs, P parameters) {
    emit_step(kind, std::move(inputs), std::move(outputs), std::make_shared<const P>(std::move(parameters)));
    return keep_last_if_taken();
  }
  void emit_copy(const View& from, const View& to);
  /// output = expression(inputs), broadcast to the output's sizes.
  void emit_map(const Expression& expression, std::vector<View> inputs, const View& output);

 private:
  bool keep_last_if_taken();
  void emit_step(const StepKind& kind, std::vector<View> inputs, std::vector<View> outputs,
                 std::shared_ptr<const Parameters> parameters);

  Lowerer& lowerer_;
  const ir::Node* node_;
  const spec::OpSchema* schema_;
};

using Lowering = Unlowered (*)(LowerCall&);
struct LoweringTraits {
  std::string_view never = {};  ///< why the operator has no steps, whatever its inputs are; empty for others
  bool is_composed = false;     ///< the pass expand_operators writes it with others
  bool makes_values = false;    ///< of constants only: the pass fold_constants makes them
};

/// Filled by the register functions of the files in `lower/`. A row holds for the versions of an operator that it names.
class LoweringRegistry : public spec::VersionRegistry<Lowering, LoweringTraits> {};

/// All of lower/; made once.
const LoweringRegistry& lowering_registry();

}  // namespace onnxkit::plan
