// Sequences of tensors. Versions differ in element types only.
#include <algorithm>

#include <fmt/core.h>

#include "reference/kernels/axes.h"
#include "reference/kernels/select.h"

namespace onnxkit::reference {
namespace {

const Value& sequence_at(const KernelContext& context, std::size_t index) {
  const Value& value = context.value(index);
  require(value.kind == ValueKind::sequence, [&] { return fmt::format("input {} is not a sequence", index); });
  return value;
}

/// Undefined when neither an element nor a declaration tells.
ElementType element_type_of(const Value& sequence) {
  if (sequence.items.empty() || !sequence.items.front().is_tensor()) return sequence.declared;
  return sequence.items.front().tensor.type();
}

/// A position counted from the front; `end`: how many positions there are.
std::ptrdiff_t position_sequence(const KernelContext& context, std::size_t index, std::size_t length, std::size_t end) {
  const std::int64_t given = context.input(index).integer();
  const auto count = static_cast<std::int64_t>(length);
  const std::int64_t counted = given < 0 ? given + count : given;
  require(given >= -count && counted < static_cast<std::int64_t>(end),
          [&] { return fmt::format("position {1} is outside a sequence of {0} elements", length, given); });
  return static_cast<std::ptrdiff_t>(counted);
}

void sequence_empty(KernelContext& context) {
  const std::int64_t type = context.integer("dtype", static_cast<std::int64_t>(ElementType::float32));
  require(type > 0 && type < element_type_count, "dtype is not an element type");
  context.set_output(0, Value::sequence({}, static_cast<ElementType>(type)));
}

void sequence_construct(KernelContext& context) {
  std::vector<Value> items;
  for (const Tensor* tensor : context.inputs_from()) {
    require(tensor->type() == context.input(0).type(), "the tensors have different element types");
    items.emplace_back(*tensor);
  }
  context.set_output(0, Value::sequence(std::move(items), context.input(0).type()));
}

void sequence_insert(KernelContext& context) {
  Value sequence = sequence_at(context, 0);
  const Tensor& tensor = context.input(1);
  const ElementType type = element_type_of(sequence);
  require(type == ElementType::undefined || type == tensor.type(),
          "the tensor does not have the sequence's element type");
  const std::size_t length = sequence.items.size();
  const auto at =
      context.has_input(2) ? position_sequence(context, 2, length, length + 1) : static_cast<std::ptrdiff_t>(length);
  sequence.items.insert(sequence.items.begin() + at, tensor);
  context.set_output(0, std::move(sequence));
}

void sequence_erase(KernelContext& context) {
  Value sequence = sequence_at(context, 0);
  const std::size_t length = sequence.items.size();
  require(length > 0, "an empty sequence has no element to erase");
  const auto at =
      context.has_input(1) ? position_sequence(context, 1, length, length) : static_cast<std::ptrdiff_t>(length - 1);
  sequence.declared = element_type_of(sequence);
  sequence.items.erase(sequence.items.begin() + at);
  context.set_output(0, std::move(sequence));
}

void sequence_at(KernelContext& context) {
  const std::vector<Value>& items = sequence_at(context, 0).items;
  context.set_output(0, items[static_cast<std::size_t>(position_sequence(context, 1, items.size(), items.size()))]);
}

void sequence_length(KernelContext& context) {
  Tensor length = context.make(ElementType::int64, {});
  length.write<std::int64_t>()[0] = static_cast<std::int64_t>(sequence_at(context, 0).items.size());
  context.set_output(0, std::move(length));
}

/// Sizes of the pieces that an axis is split into. A scalar is the size of all but perhaps the last.
std::vector<std::int64_t> piece_sizes_sequence(const Tensor& split, std::int64_t total) {
  if (split.rank() > 0) {
    require(split.rank() == 1, "split must be a scalar or a list");
    const std::vector<std::int64_t> sizes = split.integers();
    std::int64_t rest = total;
    for (const std::int64_t size : sizes) {
      require(0 <= size && size <= rest, "the sizes of the pieces do not add up to the size of the axis");
      rest -= size;
    }
    require(rest == 0, "the sizes of the pieces do not add up to the size of the axis");
    return sizes;
  }
  const std::int64_t size = split.integer();
  require(size > 0, "chunks must have at least one element");
  std::vector<std::int64_t> sizes;
  for (std::int64_t at = 0; at < total; at += std::min(size, total - at)) sizes.push_back(std::min(size, total - at));
  return sizes;
}

void split_to_sequence(KernelContext& context) {
  const Tensor& x = context.input(0);
  const std::int64_t axis = normalize_axis(context.integer("axis"), x.rank());
  const Tensor* split = context.find_input(1);
  const bool squeeze = !split && context.integer("keepdims", 1) == 0;
  Reservation reserved(context.memory());
  const auto sizes = split ? piece_sizes_sequence(*split, x.dim(axis))
                           : std::vector<std::int64_t>(static_cast<std::size_t>(x.dim(axis)), 1);
  std::vector<Value> items;
  std::int64_t at = 0;
  for (const std::int64_t size : sizes) {
    reserved.take(list_element_bytes);
    Tensor piece = slice_axis(context, x, axis, at, at + size);
    at += size;
    if (squeeze) {
      Dims dims = piece.dims();
      dims.erase(dims.begin() + axis);
      piece = piece.reshaped(std::move(dims));
    }
    items.emplace_back(std::move(piece));
  }
  context.set_output(0, Value::sequence(std::move(items), x.type()));
}

void concat_from_sequence(KernelContext& context) {
  const Value& sequence = sequence_at(context, 0);
  require(!sequence.items.empty(), "an empty sequence cannot be concatenated");
  const bool stack = context.integer("new_axis") != 0;
  std::vector<Tensor> parts;
  std::int64_t axis = 0;
  for (const Value& item : sequence.items) {
    require(item.is_tensor(), "the sequence contains elements that are not tensors");
    axis = normalize_axis(context.integer("axis"), item.tensor.rank() + (stack ? 1 : 0));
    Dims dims = item.tensor.dims();
    if (stack) {
      require(dims == sequence.items.front().tensor.dims(), "tensors of different shapes cannot be stacked");
      dims.insert(dims.begin() + axis, 1);
    }
    parts.push_back(item.tensor.reshaped(std::move(dims)));
  }
  std::vector<const Tensor*> pointers;
  for (const Tensor& part : parts) pointers.push_back(&part);
  context.set_output(0, concat(context, pointers, axis));
}

}  // namespace

void register_sequence(KernelRegistry& registry) {
  registry.add("SequenceEmpty", all_versions(), sequence_empty, {.noise = noise::moved});
  registry.add("SequenceConstruct", all_versions(), sequence_construct, {.noise = noise::moved});
  registry.add("SequenceInsert", all_versions(), sequence_insert, {.noise = noise::moved});
  registry.add("SequenceErase", all_versions(), sequence_erase, {.noise = noise::moved});
  registry.add("SequenceAt", all_versions(), sequence_at, {.noise = noise::moved});
  registry.add("SequenceLength", all_versions(), sequence_length);
  registry.add("SplitToSequence", all_versions(), split_to_sequence, {.noise = noise::moved});
  registry.add("ConcatFromSequence", all_versions(), concat_from_sequence, {.noise = noise::moved});
}

}  // namespace onnxkit::reference
