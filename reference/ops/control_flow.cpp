// If, Loop, Scan, SequenceMap. Scan 8 scans axis 1 of batches whose sequences may differ in length; from 9 on there is no batch and any axis
// can be scanned. Later versions of all four differ in element types only.
#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/core.h>

#include "reference/kernels/axes.h"
#include "reference/kernels/select.h"

namespace onnxkit::reference {
namespace {

const ir::Graph& body_of(const KernelContext& context, std::string_view attribute) {
  const ir::Graph* body = context.graph(attribute);
  require(body, [&] { return fmt::format("the attribute {} holds no graph", attribute); });
  return *body;
}

std::vector<Value> run_complete(KernelContext& context, std::string_view attribute, std::vector<Value> inputs) {
  std::vector<Value> outputs = context.run_body(attribute, std::move(inputs));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    require(outputs[i].kind != ValueKind::none,
            [&] { return fmt::format("output {} of {} has no value", i, attribute); });
  return outputs;
}

bool truth(const Tensor& condition) { return condition.integer() != 0; }

void run_if(KernelContext& context) {
  std::vector<Value> outputs = run_complete(context, truth(context.input(0)) ? "then_branch" : "else_branch", {});
  require(outputs.size() >= context.output_count(), "the branch has fewer outputs than the node");
  for (std::size_t i = 0; i < context.output_count(); ++i) context.set_output(i, std::move(outputs[i]));
}

// ---- what Loop and Scan collect

const Tensor& tensor_of(const Value& value) {
  require(value.is_tensor(), "scan inputs and scan outputs must be tensors");
  return value.tensor;
}

/// Element i of an axis, which goes away.
Tensor take(const KernelContext& context, const Tensor& x, std::int64_t axis, std::int64_t i) {
  Dims dims = x.dims();
  dims.erase(dims.begin() + axis);
  return slice_axis(context, x, axis, i, i + 1).reshaped(std::move(dims));
}

/// What a body declares of an output, for when it never runs. A size that is not stated is 0, as in ONNX Runtime.
struct Declared {
  ElementType type;
  Dims dims;
};
Declared declared_output(const ir::ValueInfo& output) {
  const auto& type = output.type;
  require(type && type->elem_type && is_known_element_type(*type->elem_type),
          "a loop without iterations requires declared types for the body's scan outputs");
  Declared declared{static_cast<ElementType>(*type->elem_type), {}};
  if (type->shape) {
    for (const ir::DeclaredDim& dim : type->shape->dims) declared.dims.push_back(dim.size().value_or(0));
  }
  return declared;
}

/// What a body collects of one output, pass by pass.
class Collected {
 public:
  explicit Collected(const MemoryPtr& memory) : reserved_(memory) {}

  void add(Tensor element) {
    reserved_.take(list_element_bytes);
    require(elements_.empty() || elements_.front().dims() == element.dims(),
            "the shape of a scan output changes between iterations");
    elements_.push_back(std::move(element));
  }
  void reverse() { std::reverse(elements_.begin(), elements_.end()); }

  /// Zeros up to that many elements.
  void pad(const KernelContext& context, std::int64_t length, const ir::ValueInfo& output) {
    const Declared like =
        elements_.empty() ? declared_output(output) : Declared{elements_.front().type(), elements_.front().dims()};
    while (static_cast<std::int64_t>(elements_.size()) < length) add(context.make(like.type, like.dims));
  }

  /// Joined along a new axis.
  Tensor stacked(const KernelContext& context, std::int64_t given_axis, const ir::ValueInfo& output) const {
    if (elements_.empty()) {
      Declared none = declared_output(output);
      const auto rank = static_cast<std::int64_t>(none.dims.size());
      none.dims.insert(none.dims.begin() + normalize_axis(given_axis, rank + 1), 0);
      return context.make(none.type, std::move(none.dims));
    }
    const std::int64_t axis = normalize_axis(given_axis, elements_.front().rank() + 1);
    Reservation reserved(context.memory());
    reserved.take(elements_.size() * list_element_bytes);
    std::vector<Tensor> parts;
    for (const Tensor& element : elements_) {
      Dims dims = element.dims();
      dims.insert(dims.begin() + axis, 1);
      parts.push_back(element.reshaped(std::move(dims)));
    }
    std::vector<const Tensor*> pointers;
    for (const Tensor& part : parts) pointers.push_back(&part);
    return concat(context, pointers, axis);
  }

 private:
  Reservation reserved_;
  std::vector<Tensor> elements_;
};

std::vector<Collected> collectors(const KernelContext& context, std::size_t count) {
  std::vector<Collected> all;
  for (std::size_t i = 0; i < count; ++i) all.emplace_back(context.memory());
  return all;
}

// ---- Loop

/// Bodies may declare the iteration number and the condition as [1].
Tensor scalar_for(const KernelContext& context, const ir::ValueInfo& input, ElementType type, std::int64_t value) {
  const bool vector = input.type && input.type->shape && input.type->shape->dims.size() == 1;
  const Tensor scalar = context.scalar(type, static_cast<double>(value));
  return vector ? scalar.reshaped({1}) : scalar;
}

void run_loop(KernelContext& context) {
  const ir::Graph& body = body_of(context, "body");
  const Tensor* trips = context.find_input(0);
  const Tensor* start = context.find_input(1);
  const std::int64_t most = trips ? trips->integer() : std::numeric_limits<std::int64_t>::max();
  std::vector<Value> carried;
  for (std::size_t i = 2; i < context.input_count(); ++i) carried.push_back(context.value(i));
  require(body.inputs.size() == carried.size() + 2 && body.outputs.size() >= carried.size() + 1,
          "the inputs and outputs of the body do not match the carried values");
  std::vector<Collected> collected = collectors(context, body.outputs.size() - 1 - carried.size());

  bool go_on = !start || truth(*start);
  for (std::int64_t i = 0; go_on && i < most; ++i) {
    context.check_iteration(static_cast<std::uint64_t>(i));
    std::vector<Value> inputs{scalar_for(context, body.inputs[0], ElementType::int64, i),
                              scalar_for(context, body.inputs[1], ElementType::boolean, 1)};
    std::move(carried.begin(), carried.end(), std::back_inserter(inputs));
    std::vector<Value> outputs = run_complete(context, "body", std::move(inputs));
    go_on = truth(tensor_of(outputs[0]));
    for (std::size_t k = 0; k < carried.size(); ++k) carried[k] = std::move(outputs[k + 1]);
    for (std::size_t k = 0; k < collected.size(); ++k) collected[k].add(tensor_of(outputs[carried.size() + 1 + k]));
  }
  for (std::size_t k = 0; k < carried.size(); ++k) context.set_output(k, std::move(carried[k]));
  for (std::size_t k = 0; k < collected.size(); ++k) {
    const std::size_t output = carried.size() + k;
    if (context.has_output(output))
      context.set_output(output, collected[k].stacked(context, 0, body.outputs[output + 1]));
  }
}

// ---- Scan

/// A list attribute with one entry for each value; absent or empty means zeros.
std::vector<std::int64_t> per_value(const KernelContext& context, std::string_view name, std::size_t count) {
  std::vector<std::int64_t> list = context.integers(name).value_or(std::vector<std::int64_t>());
  if (list.empty()) list.resize(count);
  require(list.size() == count, [&] { return fmt::format("{} must have one entry per scanned value", name); });
  return list;
}

struct Scanned {
  Tensor tensor;
  std::int64_t axis;
  bool backward;
};

struct Scan {
  const ir::Graph* body;
  std::size_t offset;  ///< of the first state among the node's inputs
  std::size_t states, scanned, collected;
};

Scan read_scan(const KernelContext& context, std::size_t offset) {
  Scan scan{&body_of(context, "body"), offset, 0, 0, 0};
  const std::int64_t scanned = context.integer("num_scan_inputs");
  const std::size_t given = context.input_count() - std::min(context.input_count(), offset);
  require(scanned >= 1 && static_cast<std::uint64_t>(scanned) <= given, "num_scan_inputs exceeds the number of inputs");
  scan.scanned = static_cast<std::size_t>(scanned);
  scan.states = given - scan.scanned;
  require(scan.body->outputs.size() >= scan.states, "the body does not return the states");
  scan.collected = scan.body->outputs.size() - scan.states;
  return scan;
}

std::int64_t scan_length(std::span<const Scanned> inputs) {
  const std::int64_t length = inputs.front().tensor.dim(inputs.front().axis);
  for (const Scanned& input : inputs)
    require(input.tensor.dim(input.axis) == length, "the scanned inputs differ in length");
  return length;
}

/// `length` passes; states are replaced, outputs collected in the order of time.
std::vector<Collected> scan_over(KernelContext& context, const Scan& scan, std::vector<Value>& states,
                                 std::span<const Scanned> inputs, std::int64_t length) {
  std::vector<Collected> collected = collectors(context, scan.collected);
  for (std::int64_t t = 0; t < length; ++t) {
    context.check_iteration(static_cast<std::uint64_t>(t));
    std::vector<Value> given(std::make_move_iterator(states.begin()), std::make_move_iterator(states.end()));
    for (const Scanned& input : inputs)
      given.emplace_back(take(context, input.tensor, input.axis, input.backward ? length - 1 - t : t));
    std::vector<Value> outputs = run_complete(context, "body", std::move(given));
    for (std::size_t k = 0; k < states.size(); ++k) states[k] = std::move(outputs[k]);
    for (std::size_t k = 0; k < collected.size(); ++k) collected[k].add(tensor_of(outputs[scan.states + k]));
  }
  return collected;
}

void run_scan(KernelContext& context) {
  const Scan scan = read_scan(context, 0);
  const auto axes = per_value(context, "scan_input_axes", scan.scanned);
  const auto backward = per_value(context, "scan_input_directions", scan.scanned);
  const auto output_axes = per_value(context, "scan_output_axes", scan.collected);
  const auto prepended = per_value(context, "scan_output_directions", scan.collected);
  std::vector<Value> states;
  for (std::size_t i = 0; i < scan.states; ++i) states.push_back(context.value(i));
  std::vector<Scanned> inputs;
  for (std::size_t i = 0; i < scan.scanned; ++i) {
    const Tensor& tensor = context.input(scan.states + i);
    inputs.push_back({tensor, normalize_axis(axes[i], tensor.rank()), backward[i] != 0});
  }
  std::vector<Collected> collected = scan_over(context, scan, states, inputs, scan_length(inputs));
  for (std::size_t k = 0; k < states.size(); ++k) context.set_output(k, std::move(states[k]));
  for (std::size_t k = 0; k < collected.size(); ++k) {
    if (!context.has_output(scan.states + k)) continue;
    if (prepended[k] != 0) collected[k].reverse();
    context.set_output(scan.states + k,
                       collected[k].stacked(context, output_axes[k], scan.body->outputs[scan.states + k]));
  }
}

/// Lengths of the sequences of a batch.
std::vector<std::int64_t> sequence_lengths(const KernelContext& context, std::int64_t batch, std::int64_t longest) {
  const Tensor* given = context.find_input(0);
  if (!given) return std::vector<std::int64_t>(static_cast<std::size_t>(batch), longest);
  const std::vector<std::int64_t> lengths = given->integers();
  require(static_cast<std::int64_t>(lengths.size()) == batch, "sequence_lens must have one length per batch entry");
  for (const std::int64_t length : lengths)
    require(0 <= length && length <= longest, "a length in sequence_lens is out of range");
  return lengths;
}

void run_batched_scan(KernelContext& context) {
  const Scan scan = read_scan(context, 1);
  const auto backward = per_value(context, "directions", scan.scanned);
  std::vector<Tensor> tensors;
  for (std::size_t i = 1; i < context.input_count(); ++i) {
    tensors.push_back(context.input(i));
    const bool is_state = tensors.size() <= scan.states;
    require(tensors.back().rank() >= (is_state ? 1 : 2), "an input has no batch or sequence axis");
    require(tensors.back().dim(0) == tensors.front().dim(0), "batch sizes differ");
  }
  const std::int64_t batch = tensors.front().dim(0);
  const std::int64_t longest = tensors[scan.states].dim(1);
  for (std::size_t i = scan.states; i < tensors.size(); ++i)
    require(tensors[i].dim(1) == longest, "the scanned inputs differ in length");
  const auto lengths = sequence_lengths(context, batch, longest);

  std::vector<Collected> outputs = collectors(context, scan.states + scan.collected);
  for (std::int64_t b = 0; b < batch; ++b) {
    std::vector<Value> states;
    for (std::size_t i = 0; i < scan.states; ++i) states.emplace_back(take(context, tensors[i], 0, b));
    std::vector<Scanned> inputs;
    for (std::size_t i = 0; i < scan.scanned; ++i)
      inputs.push_back({take(context, tensors[scan.states + i], 0, b), 0, backward[i] != 0});
    std::vector<Collected> collected = scan_over(context, scan, states, inputs, lengths[static_cast<std::size_t>(b)]);
    for (std::size_t k = 0; k < scan.states; ++k) outputs[k].add(tensor_of(states[k]));
    for (std::size_t k = 0; k < scan.collected; ++k) {
      const ir::ValueInfo& declared = scan.body->outputs[scan.states + k];
      collected[k].pad(context, longest, declared);
      outputs[scan.states + k].add(collected[k].stacked(context, 0, declared));
    }
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (context.has_output(k)) context.set_output(k, outputs[k].stacked(context, 0, scan.body->outputs[k]));
  }
}

// ---- SequenceMap

void run_sequence_map(KernelContext& context) {
  const ir::Graph& body = body_of(context, "body");
  const Value& first = context.value(0);
  require(first.kind == ValueKind::sequence, "the first input is not a sequence");
  const std::size_t length = first.items.size();
  for (std::size_t i = 1; i < context.input_count(); ++i) {
    const Value& other = context.value(i);
    require(other.kind != ValueKind::sequence || other.items.size() == length, "the sequences differ in length");
  }
  require(body.outputs.size() >= context.output_count(), "the body has fewer outputs than the node");
  Reservation reserved(context.memory());
  std::vector<std::vector<Value>> results(body.outputs.size());
  for (std::size_t n = 0; n < length; ++n) {
    context.check_iteration(n);
    reserved.take(results.size() * list_element_bytes);
    std::vector<Value> inputs;
    for (std::size_t i = 0; i < context.input_count(); ++i) {
      const Value& given = context.value(i);
      inputs.push_back(given.kind == ValueKind::sequence ? given.items[n] : given);
    }
    std::vector<Value> outputs = run_complete(context, "body", std::move(inputs));
    for (std::size_t k = 0; k < outputs.size(); ++k) results[k].push_back(std::move(outputs[k]));
  }
  for (std::size_t k = 0; k < context.output_count(); ++k) {
    const auto& type = body.outputs[k].type;
    const bool typed = type && type->elem_type && is_known_element_type(*type->elem_type);
    context.set_output(k, Value::sequence(std::move(results[k]),
                                          typed ? static_cast<ElementType>(*type->elem_type) : ElementType::undefined));
  }
}

}  // namespace

void register_control_flow(KernelRegistry& registry) {
  registry.add("If", all_versions(), run_if, {.noise = noise::moved});
  registry.add("Loop", all_versions(), run_loop, {.noise = noise::moved});
  registry.add("Scan", versions(8, 8), run_batched_scan, {.noise = noise::moved});
  registry.add("Scan", since(9), run_scan, {.noise = noise::moved});
  registry.add("SequenceMap", all_versions(), run_sequence_map, {.noise = noise::moved});
}

}  // namespace onnxkit::reference
