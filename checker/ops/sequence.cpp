// Sequences of tensors: their element type, and their length where it can be told.
#include <algorithm>

#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

const Type* sequence_at(const InferContext& context, std::size_t input) {
  const Type* type = context.input_type(input);
  return type && type->kind == Type::Kind::sequence ? type : nullptr;
}

Type bare(ElementType elem) { return Type::tensor(elem); }

/// Beyond it no sequence is worth making.
constexpr std::int64_t max_position = std::int64_t{1} << 32;

Dim length_of(const Type* sequence) { return sequence ? sequence->length : Dim(); }

/// The constant position; reports index-range when the sequence is known to have none such. `past_end`: the end itself is a position.
bool position_is_wrong(InferContext& context, std::size_t input, Dim length, bool past_end) {
  // A vector of one element is common in practice and taken for a scalar.
  const Shape* shape = context.input_shape(input);
  if (shape && (shape->size() > 1 || (shape->size() == 1 && context.dims().never_equal(shape->front(), 1)))) {
    context.error({.code = "rank-mismatch",
                   .at = at_input(input),
                   .message = "the position must be a single number",
                   .expected = "a scalar",
                   .found = context.text(*shape)});
    return true;
  }
  const auto position = context.constant_integer(input);
  if (!position || length.is_unknown()) return false;
  const std::int64_t needed = *position < 0 ? -std::max(*position, -max_position) : *position + (past_end ? 0 : 1);
  if (*position < max_position) context.demand(SizeRelation::at_most, needed, length);
  if (!length.is_constant()) return false;
  const std::int64_t most = length.constant() - (past_end ? 0 : 1);
  if (*position >= -length.constant() && *position <= most) return false;
  context.error(
      {.code = "index-range",
       .at = at_input(input),
       .message = fmt::format("position {1} is outside a sequence of {0} elements", length.constant(), *position),
       .expected = fmt::format("{} to {}", -length.constant(), most),
       .found = std::to_string(*position)});
  return true;
}

void infer_empty(InferContext& context) {
  const std::int64_t number = context.find_integer("dtype").value_or(static_cast<std::int64_t>(ElementType::float32));
  if (number <= 0 || number >= element_type_count) {
    context.error({.code = "attribute-value",
                   .at = at_attribute("dtype"),
                   .message = "no element type has this number",
                   .expected = "a TensorProto.DataType",
                   .found = std::to_string(number)});
    return;
  }
  context.set_type(0, Type::sequence(bare(static_cast<ElementType>(number)), 0));
}

void infer_construct(InferContext& context) {
  std::optional<Type> element;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    const Type* type = context.input_type(i);
    if (!type) return;
    element = element ? join(*element, *type, UnknownDim{}) : *type;
  }
  if (element)
    context.set_type(0, Type::sequence(std::move(*element), static_cast<std::int64_t>(context.input_count())));
}

void infer_insert(InferContext& context) {
  const Type* sequence = sequence_at(context, 0);
  const Type* tensor = context.input_type(1);
  if (!sequence || !tensor) return;
  const Type added = Type::sequence(*tensor, 1);
  if (!same_structure(*sequence, added)) {
    context.error({.code = "type-mismatch",
                   .at = at_input(1),
                   .message = "the tensor does not have the sequence's element type",
                   .expected = to_string(*sequence->element, context.dims()),
                   .found = to_string(*tensor, context.dims())});
    return;
  }
  const Dim length = sequence->length;
  if (context.has_input(2)) position_is_wrong(context, 2, length, true);
  Type result = join(*sequence, added, UnknownDim{});
  result.length = context.dims().add(length, 1);
  context.set_type(0, std::move(result));
}

void infer_erase(InferContext& context) {
  const Type* sequence = sequence_at(context, 0);
  if (!sequence) return;
  Type result = *sequence;
  if (result.length.is(0)) {
    context.error({.code = "index-range",
                   .at = at_input(0),
                   .message = "an empty sequence has no element to erase",
                   .expected = "an element",
                   .found = "none"});
    return;
  }
  if (context.has_input(1)) position_is_wrong(context, 1, result.length, false);
  result.length = context.dims().sub(result.length, 1);
  context.set_type(0, std::move(result));
}

void infer_at(InferContext& context) {
  const Type* sequence = sequence_at(context, 0);
  if (!sequence || !sequence->element || position_is_wrong(context, 1, sequence->length, false)) return;
  Type element = *sequence->element;
  if (element.shape) {
    for (Dim& size : *element.shape) {
      if (size.is_unknown()) size = context.data_dependent("element", "the elements of the sequence differ in size");
    }
  }
  context.lose_shape(0, "the elements of the sequence differ in rank, or their ranks are unknown");
  context.set_type(0, std::move(element));
}

void infer_length(InferContext& context) {
  context.set_tensor(0, ElementType::int64, {});
  const Dim length = length_of(sequence_at(context, 0));
  if (!length.is_unknown()) context.set_value(0, Constant::scalar(ElementType::int64, Scalar::integer(length)));
}

// ---- SplitToSequence, ConcatFromSequence

struct Pieces {
  Dim size;  ///< of each piece, unknown when they differ
  Dim count;
};

/// What `split` says; nullopt when it is provably wrong.
std::optional<Pieces> pieces_of(InferContext& context, Dim total) {
  DimPool& dims = context.dims();
  if (!context.has_input(1)) return Pieces{1, total};
  const auto rank = context.input_rank(1);
  const Constant* split = context.input_value(1);
  if (!rank) return Pieces{};
  if (*rank == 0) {
    const Dim size = split && !split->elements.empty() ? split->elements.front().dim() : Dim();
    if (size.is_constant() && size.constant() <= 0) {
      context.error({.code = "split-sizes",
                     .at = at_input(1),
                     .message = "chunks must have at least one element",
                     .expected = "1 or more",
                     .found = context.text(size)});
      return std::nullopt;
    }
    const bool even = !total.is_unknown() && !size.is_unknown() && dims.exact_div(total, size).has_value();
    return Pieces{even ? size : Dim(), dims.ceil_div(total, size)};
  }
  if (rank_differs(context, 1, 1)) return std::nullopt;
  const Dim count = context.input_shape(1)->front();
  if (!split) return Pieces{{}, count};
  Dim sum = 0;
  Dim common = split->elements.empty() ? Dim() : split->elements.front().dim();
  for (const Scalar& size : split->elements) {
    sum = dims.add(sum, size.dim());
    if (!(size.dim() == common)) common = {};
  }
  if (context.sizes_clash(sum, total)) {
    context.error({.code = "split-sizes",
                   .at = at_input(1),
                   .message = "the sizes of the pieces do not add up to the size of the axis",
                   .expected = context.text(total),
                   .found = context.text(sum)});
    return std::nullopt;
  }
  return Pieces{common, count};
}

void infer_split_sequence(InferContext& context) {
  const Type* input = context.input_type(0);
  if (!input) return;
  if (!input->shape) return context.set_type(0, Type::sequence(bare(input->elem)));
  Shape shape = *input->shape;
  const auto axis = resolve_axis(context, context.integer("axis"), shape.size(), at_attribute("axis"));
  if (!axis) return;
  const auto pieces = pieces_of(context, shape[*axis]);
  if (!pieces) return;
  const bool squeeze = !context.has_input(1) && context.integer("keepdims", 1) == 0;
  if (squeeze) {
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*axis));
  } else {
    shape[*axis] = pieces->size;
  }
  context.set_type(0, Type::sequence(Type::tensor(input->elem, std::move(shape)), pieces->count));
}

void infer_concat_sequence(InferContext& context) {
  const Type* sequence = sequence_at(context, 0);
  if (!sequence || !sequence->element || !sequence->element->is_tensor()) return;
  context.set_elem(0, sequence->element->elem);
  context.lose_shape(0, "the elements of the sequence differ in rank, or their ranks are unknown");
  if (!sequence->element->shape) return;
  Shape shape = *sequence->element->shape;
  const bool stacks = context.integer("new_axis") != 0;
  const auto axis =
      resolve_axis(context, context.integer("axis"), shape.size() + (stacks ? 1 : 0), at_attribute("axis"));
  if (!axis) return;
  Dim total = stacks ? sequence->length : context.dims().mul(sequence->length, shape[*axis]);
  if (total.is_unknown())
    total = context.data_dependent("concat", "the sequence's length or the sizes of its elements");
  if (stacks) {
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*axis), total);
  } else {
    shape[*axis] = total;
  }
  context.set_shape(0, std::move(shape));
}

}  // namespace

void register_sequence(InferRegistry& registry) {
  registry.add("SequenceEmpty", all_versions(), infer_empty, {.type_attributes = {"dtype"}});
  registry.add("SequenceConstruct", all_versions(), infer_construct);
  registry.add("SequenceInsert", all_versions(), infer_insert,
               {.inputs = {{0, Role::moved}, {0, Role::like_input, 1}}});
  registry.add("SequenceErase", all_versions(), infer_erase, {.inputs = {{0, Role::moved}}});
  registry.add("SequenceAt", all_versions(), infer_at, {.inputs = {{0, Role::like_output}}});
  registry.add("SequenceLength", all_versions(), infer_length);
  registry.add("SplitToSequence", all_versions(), infer_split_sequence, {.inputs = {{1, Role::pieces}}});
  registry.add("ConcatFromSequence", all_versions(), infer_concat_sequence, {.inputs = {{0, Role::joined}}});
}

}  // namespace onnxkit::checker
