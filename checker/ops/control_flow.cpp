// If, Loop, Scan, SequenceMap: inference of their bodies, and what their outputs are in terms of them.
#include <algorithm>

#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

bool all_may_be_one(InferContext& context, const Shape& shape) {
  return std::none_of(shape.begin(), shape.end(), [&](Dim size) { return context.dims().never_equal(size, 1); });
}

bool one_number(InferContext& context, std::size_t input, std::string_view what) {
  const Shape* shape = context.input_shape(input);
  if (!shape || all_may_be_one(context, *shape)) return true;
  context.error({.code = "shape-mismatch",
                 .at = at_input(input),
                 .message = fmt::format("{} must be a single value", what),
                 .expected = "a scalar",
                 .found = context.text(*shape)});
  return false;
}

std::string count(std::size_t n, std::string_view noun) { return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s"); }

// ---- If

void infer_if(InferContext& context) {
  one_number(context, 0, "the condition");
  // A branch that is never taken may contradict the shapes that are; exporters leave such ones.
  const auto condition = context.constant_integer(0);
  const auto reporting = [&](bool taken_when) {
    return condition && (*condition != 0) != taken_when ? Reporting::off : Reporting::on;
  };
  const auto then_outputs = context.infer_body("then_branch", {}, {}, reporting(true));
  const auto else_outputs = context.infer_body("else_branch", {}, {}, reporting(false));
  if (!then_outputs || !else_outputs) return;
  if (then_outputs->size() != else_outputs->size()) {
    context.error({.code = "subgraph-arity",
                   .at = at_node(),
                   .message = "the branches have different numbers of outputs",
                   .expected = count(then_outputs->size(), "output") + ", as then_branch",
                   .found = count(else_outputs->size(), "output")});
    return;
  }
  if (then_outputs->size() != context.output_count()) {
    context.error({.code = "subgraph-arity",
                   .at = at_node(),
                   .message = "the node and its branches have different numbers of outputs",
                   .expected = count(then_outputs->size(), "output"),
                   .found = count(context.output_count(), "output")});
    return;
  }
  for (std::size_t i = 0; i < then_outputs->size(); ++i) {
    const BodyOutput& a = (*then_outputs)[i];
    const BodyOutput& b = (*else_outputs)[i];
    if (!same_structure(a.type, b.type)) {
      context.error({.code = "subgraph-types",
                     .at = at_node(),
                     .message = fmt::format("the branches return different types for output {}", i),
                     .expected = to_string(a.type, context.dims()) + ", as then_branch",
                     .found = to_string(b.type, context.dims())});
      continue;
    }
    if (condition) {
      const BodyOutput& taken = *condition != 0 ? a : b;
      context.set_type(i, taken.type);
      if (taken.value) context.set_value(i, *taken.value);
      continue;
    }
    context.lose_shape(i, "the branches return different ranks");
    context.set_type(i, join(a.type, b.type,
                             [&](std::size_t) { return context.data_dependent("if", "depends on the branch taken"); }));
  }
}

// ---- Loop

/// What a carried value is in every iteration: equal sizes stay, others become one symbol each that stands for "varies".
class CarriedTypes {
 public:
  CarriedTypes(InferContext& context, std::vector<Type> initial) : context_(context), types_(std::move(initial)) {}

  const std::vector<Type>& types() const { return types_; }

  /// Takes in what the body gives back; false when that changes nothing. Precondition: same structure.
  bool widen(std::size_t i, const Type& returned) {
    Type& current = types_[i];
    if (current.is_unknown()) return false;
    const Type joined = join(current, returned, [&](std::size_t axis) {
      const Dim now = (*current.shape)[axis];
      if (std::find(varying_.begin(), varying_.end(), now) != varying_.end()) return now;
      varying_.push_back(context_.data_dependent("loop", "changes from iteration to iteration"));
      return varying_.back();
    });
    const bool changed = !same(current, joined);
    current = joined;
    return changed;
  }

 private:
  static bool same(const Type& a, const Type& b) {
    if (a.kind != b.kind || a.elem != b.elem || a.shape.has_value() != b.shape.has_value()) return false;
    const auto equal = [](Dim x, Dim y) { return x == y || (x.is_unknown() && y.is_unknown()); };
    if (a.shape && !std::equal(a.shape->begin(), a.shape->end(), b.shape->begin(), b.shape->end(), equal)) return false;
    if (!equal(a.length, b.length) || (a.element == nullptr) != (b.element == nullptr)) return false;
    return !a.element || same(*a.element, *b.element);
  }

  InferContext& context_;
  std::vector<Type> types_;
  std::vector<Dim> varying_;
};

constexpr int max_loop_passes = 4;

/// How many elements each carried sequence has more after one iteration than before, where that is the same in all. `outputs`: values that
/// the body returns before those.
std::vector<std::optional<std::int64_t>> added_elements(InferContext& context, std::vector<Type> inputs,
                                                        std::span<const Constant* const> values, std::size_t first) {
  std::vector<std::optional<std::int64_t>> added(inputs.size() - first);
  Dim before;
  for (std::size_t i = first; i < inputs.size(); ++i) {
    if (inputs[i].kind != Type::Kind::sequence || !inputs[i].length.is_unknown()) continue;
    if (before.is_unknown()) before = context.data_dependent("elements", "the loop changes the sequence");
    inputs[i].length = before;
  }
  if (before.is_unknown()) return added;
  const auto outputs = context.infer_body("body", inputs, values, Reporting::off);
  for (std::size_t i = first; outputs && i < inputs.size() && i - first + 1 < outputs->size(); ++i) {
    const Type& returned = (*outputs)[i - first + 1].type;
    if (!(inputs[i].length == before) || returned.kind != Type::Kind::sequence || returned.length.is_unknown())
      continue;
    const Dim difference = context.dims().sub(returned.length, before);
    if (difference.is_constant()) added[i - first] = difference.constant();
  }
  return added;
}

/// A body may take an optional and give back what it holds.
bool may_return(const Type& carried, const Type& returned) {
  if (same_structure(carried, returned)) return true;
  return carried.kind == Type::Kind::optional && (!carried.element || same_structure(*carried.element, returned));
}

bool returned_types_fit(InferContext& context, std::span<const BodyOutput> outputs, std::size_t first,
                        const std::vector<Type>& carried, std::size_t first_carried) {
  bool fit = true;
  for (std::size_t i = first_carried; i < carried.size(); ++i) {
    const std::size_t output = first + i - first_carried;
    if (may_return(carried[i], outputs[output].type)) continue;
    fit = false;
    context.error({.code = "subgraph-types",
                   .at = at_body_output("body", output),
                   .message = "the body returns a carried value with a different type",
                   .expected = to_string(carried[i], context.dims()),
                   .found = to_string(outputs[output].type, context.dims())});
  }
  return fit;
}

/// A body gives `least` outputs or more, and the node names all but the first `own`.
bool body_outputs_fit(InferContext& context, std::size_t outputs, std::size_t least, std::size_t own) {
  if (outputs < least) {
    context.error({.code = "subgraph-arity",
                   .at = at_attribute("body"),
                   .message = own > 0 ? "the body must return the condition and each carried value"
                                      : "the body must return each state, then the scan outputs",
                   .expected = count(least, "output") + " or more",
                   .found = count(outputs, "output")});
    return false;
  }
  if (context.output_count() == outputs - own) return true;
  context.error({.code = "subgraph-arity",
                 .at = at_node(),
                 .message = "the node and its body have different numbers of outputs",
                 .expected = count(outputs - own, "output"),
                 .found = count(context.output_count(), "output")});
  return false;
}

void check_returned_condition(InferContext& context, const Type& condition) {
  if (!same_structure(condition, Type::tensor(ElementType::boolean))) {
    context.error({.code = "subgraph-types",
                   .at = at_body_output("body", 0),
                   .message = "the body's first output must be the condition",
                   .expected = "bool",
                   .found = to_string(condition, context.dims())});
  } else if (condition.shape && !all_may_be_one(context, *condition.shape)) {
    context.error({.code = "shape-mismatch",
                   .at = at_body_output("body", 0),
                   .message = "the condition must be a single value",
                   .expected = "a scalar",
                   .found = context.text(*condition.shape)});
  }
}

/// Iterations, where nothing can end the loop early; else unknown.
Dim iteration_count(InferContext& context, bool condition_stays_true) {
  if (!context.has_input(0) || !condition_stays_true) return {};
  const Dim trips = scalar_size(context, 0);
  if (trips.is_constant()) return std::max<std::int64_t>(trips.constant(), 0);
  return !trips.is_unknown() && context.dims().always_at_least(trips, 0) ? trips : Dim();
}

/// Of carried sequences that each iteration makes longer or shorter by the same.
void set_lengths(InferContext& context, std::span<const std::optional<std::int64_t>> added, Dim iterations) {
  for (std::size_t i = 0; i < added.size() && i < context.output_count(); ++i) {
    const Type* initial = context.input_type(i + 2);
    if (!added[i] || iterations.is_unknown() || !initial || initial->length.is_unknown()) continue;
    Type last = context.output_type(i);
    last.length = context.dims().add(initial->length, context.dims().mul(iterations, *added[i]));
    if (last.kind == Type::Kind::sequence) context.set_type(i, std::move(last));
  }
}

void infer_loop(InferContext& context) {
  one_number(context, 0, "the trip count");
  one_number(context, 1, "the condition");
  const std::size_t carried = context.input_count() < 2 ? 0 : context.input_count() - 2;
  std::vector<Type> inputs{Type::tensor(ElementType::int64, {}), Type::tensor(ElementType::boolean, {})};
  for (std::size_t i = 0; i < carried; ++i) {
    const Type* type = context.input_type(i + 2);
    inputs.push_back(type ? *type : Type());
  }
  CarriedTypes state(context, std::move(inputs));
  const Constant always = Constant::scalar(ElementType::boolean, Scalar::integer(1));
  const bool starts_true = !context.has_input(1) || context.constant_integer(1).value_or(0) != 0;
  std::vector<const Constant*> values{nullptr, starts_true ? &always : nullptr};

  std::optional<std::vector<BodyOutput>> outputs;
  for (int pass = 0; pass < max_loop_passes; ++pass) {
    outputs = context.infer_body("body", state.types(), values, Reporting::off);
    if (!outputs || outputs->size() < carried + 1) break;
    bool changed = false;
    for (std::size_t i = 0; i < carried; ++i) {
      const Type& returned = (*outputs)[i + 1].type;
      if (same_structure(state.types()[i + 2], returned)) changed = state.widen(i + 2, returned) || changed;
    }
    if (!changed) break;
  }
  const auto added = added_elements(context, state.types(), values, 2);
  outputs = context.infer_body("body", state.types(), values);
  if (!outputs) return;
  if (!body_outputs_fit(context, outputs->size(), carried + 1, 1)) return;
  check_returned_condition(context, outputs->front().type);
  if (!returned_types_fit(context, *outputs, 1, state.types(), 2)) return;

  for (std::size_t i = 0; i < carried && i < context.output_count(); ++i) {
    const Type& returned = (*outputs)[i + 1].type;
    context.set_type(i, same_structure(state.types()[i + 2], returned) ? state.types()[i + 2] : returned);
  }
  const auto& last = outputs->front().value;
  // The specification lets a loop without a first condition ignore those of the body; ONNX Runtime does not.
  const bool stays_true = starts_true && last && last->elements.size() == 1 && last->elements.front().dim().is(1);
  Dim iterations = iteration_count(context, stays_true);
  set_lengths(context, added, iterations);
  for (std::size_t i = carried; i < context.output_count(); ++i) {
    Type type = (*outputs)[i + 1].type;
    if (!type.is_tensor()) continue;
    context.set_elem(i, type.elem);
    context.lose_shape(i, "the shape of the output of one iteration is unknown");
    if (!type.shape) continue;
    if (iterations.is_unknown()) iterations = context.data_dependent("iterations", "the number of iterations");
    type.shape->insert(type.shape->begin(), iterations);
    context.set_shape(i, std::move(*type.shape));
  }
}

// ---- Scan

/// A list attribute with one entry for each scanned value; empty means all defaults.
std::optional<std::vector<std::int64_t>> per_value(InferContext& context, std::string_view name, std::size_t expected) {
  auto list = context.integers(name);
  if (!list || list->empty()) return std::vector<std::int64_t>(expected, 0);
  if (list->size() == expected) return list;
  context.error({.code = "attribute-value",
                 .at = at_attribute(name),
                 .message = fmt::format("{} must have one entry per scanned value", name),
                 .expected = count(expected, "entry"),
                 .found = count(list->size(), "entry")});
  return std::nullopt;
}

/// Directions are 0 (forward) or 1 (backward).
bool directions_valid(InferContext& context, std::string_view name, std::size_t expected) {
  const auto directions = per_value(context, name, expected);
  if (!directions) return false;
  bool valid = true;
  for (std::size_t i = 0; i < directions->size(); ++i) {
    const std::int64_t direction = (*directions)[i];
    if (direction == 0 || direction == 1) continue;
    valid = false;
    context.error({.code = "attribute-value",
                   .at = at_attribute(name),
                   .message = fmt::format("entry {} of {} is not a direction", i, name),
                   .expected = "0 (forward) or 1 (backward)",
                   .found = std::to_string(direction)});
  }
  return valid;
}

struct Scan {
  std::size_t offset = 0;  ///< node input of the first state
  std::size_t states = 0, scanned = 0;
  bool batched = false;  ///< version 8: axis 0 is the batch, axis 1 the sequence
};

std::optional<Scan> scan_layout(InferContext& context) {
  Scan scan{.batched = context.since() < 9};
  scan.offset = scan.batched ? 1 : 0;
  const std::int64_t scanned = context.integer("num_scan_inputs");
  const std::size_t given = context.input_count() - std::min(context.input_count(), scan.offset);
  if (scanned < 1 || static_cast<std::uint64_t>(scanned) > given) {
    context.error({.code = "attribute-value",
                   .at = at_attribute("num_scan_inputs"),
                   .message = "the node has fewer inputs than num_scan_inputs",
                   .expected = fmt::format("1 to {}", given),
                   .found = std::to_string(scanned)});
    return std::nullopt;
  }
  scan.scanned = static_cast<std::size_t>(scanned);
  scan.states = given - scan.scanned;
  return scan;
}

/// The sequence length that all scanned inputs share, and their element types for the body.
bool scan_elements(InferContext& context, const Scan& scan, std::vector<Type>& inputs, Dim& length, Dim& batch) {
  const auto axes = scan.batched
                        ? std::vector<std::int64_t>(scan.scanned, 1)
                        : per_value(context, "scan_input_axes", scan.scanned).value_or(std::vector<std::int64_t>());
  if (axes.size() != scan.scanned) return false;
  if (!directions_valid(context, scan.batched ? "directions" : "scan_input_directions", scan.scanned)) return false;
  for (std::size_t i = 0; i < scan.scanned; ++i) {
    const std::size_t input = scan.offset + scan.states + i;
    const Type* type = context.input_type(input);
    Type element = type ? *type : Type();
    if (element.shape) {
      if (scan.batched && rank_below(context, input, 2)) return false;
      const auto axis = resolve_axis(context, axes[i], element.shape->size(),
                                     at_attribute(scan.batched ? "body" : "scan_input_axes"));
      if (!axis) return false;
      length = require_equal(
          context, length, (*element.shape)[*axis],
          {.code = "shape-mismatch", .at = at_input(input), .message = "scanned inputs differ in length"});
      element.shape->erase(element.shape->begin() + static_cast<std::ptrdiff_t>(*axis));
      if (scan.batched) {
        batch = require_equal(context, batch, element.shape->front(),
                              {.code = "shape-mismatch", .at = at_input(input), .message = "batch sizes differ"});
        element.shape->erase(element.shape->begin());
      }
    }
    inputs.push_back(std::move(element));
  }
  return true;
}

void set_scan_outputs(InferContext& context, const Scan& scan, std::span<const BodyOutput> outputs, Dim length,
                      Dim batch) {
  const std::size_t scan_outputs = outputs.size() - scan.states;
  const auto axes = per_value(context, "scan_output_axes", scan_outputs);
  if (!axes || !directions_valid(context, "scan_output_directions", scan_outputs)) return;
  for (std::size_t i = scan.states; i < outputs.size() && i < context.output_count(); ++i) {
    const Type& type = outputs[i].type;
    if (!type.is_tensor()) continue;
    context.set_elem(i, type.elem);
    context.lose_shape(i, "the shape of the output of one iteration is unknown");
    if (!type.shape) continue;
    Shape shape = *type.shape;
    const auto axis =
        resolve_axis(context, (*axes)[i - scan.states], shape.size() + 1, at_attribute("scan_output_axes"));
    if (!axis) continue;
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*axis), length);
    if (scan.batched) shape.insert(shape.begin(), batch);
    context.set_shape(i, std::move(shape));
  }
}

/// Every iteration gives a state back in the shape that it took it in; a Loop may change it.
void check_state_shape(InferContext& context, std::size_t state, const Type& taken, const Type& returned) {
  if (!taken.shape || !returned.shape) return;
  const auto may_equal = [&](Dim a, Dim b) { return !context.sizes_clash(a, b); };
  if (std::equal(taken.shape->begin(), taken.shape->end(), returned.shape->begin(), returned.shape->end(), may_equal))
    return;
  context.error({.code = "shape-mismatch",
                 .at = at_body_output("body", state),
                 .message = "the body returns a state with a different shape",
                 .expected = context.text(*taken.shape),
                 .found = context.text(*returned.shape)});
}

/// Version 8 only: one length for each sequence of the batch.
bool lengths_fit(InferContext& context, Dim& batch) {
  const Shape* lengths = context.input_shape(0);
  if (!lengths) return true;
  if (rank_differs(context, 0, 1)) return false;
  batch = require_equal(context, batch, lengths->front(),
                        {.code = "shape-mismatch",
                         .at = at_input(0),
                         .message = "the number of lengths differs from the number of sequences"});
  return true;
}

void infer_scan(InferContext& context) {
  const auto scan = scan_layout(context);
  if (!scan) return;
  Dim length, batch;
  std::vector<Type> inputs;
  for (std::size_t i = 0; i < scan->states; ++i) {
    const Type* type = context.input_type(scan->offset + i);
    inputs.push_back(type ? *type : Type());
    if (!scan->batched || !inputs.back().shape) continue;
    if (rank_below(context, scan->offset + i, 1)) return;
    batch =
        require_equal(context, batch, inputs.back().shape->front(),
                      {.code = "shape-mismatch", .at = at_input(scan->offset + i), .message = "batch sizes differ"});
    inputs.back().shape->erase(inputs.back().shape->begin());
  }
  if (!scan_elements(context, *scan, inputs, length, batch)) return;
  if (scan->batched && !lengths_fit(context, batch)) return;
  CarriedTypes state(context, std::move(inputs));
  std::optional<std::vector<BodyOutput>> outputs;
  for (int pass = 0; pass < max_loop_passes; ++pass) {
    outputs = context.infer_body("body", state.types(), {}, Reporting::off);
    if (!outputs || outputs->size() < scan->states) break;
    bool changed = false;
    for (std::size_t i = 0; i < scan->states; ++i) {
      if (!same_structure(state.types()[i], (*outputs)[i].type)) continue;
      if (pass == 0) check_state_shape(context, i, state.types()[i], (*outputs)[i].type);
      changed = state.widen(i, (*outputs)[i].type) || changed;
    }
    if (!changed) break;
  }
  outputs = context.infer_body("body", state.types());
  if (!outputs) return;
  if (!body_outputs_fit(context, outputs->size(), scan->states, 0)) return;
  const std::vector<Type> states(state.types().begin(),
                                 state.types().begin() + static_cast<std::ptrdiff_t>(scan->states));
  if (!returned_types_fit(context, *outputs, 0, states, 0)) return;
  for (std::size_t i = 0; i < scan->states && i < context.output_count(); ++i) {
    Type type = states[i];
    if (scan->batched && type.shape) type.shape->insert(type.shape->begin(), batch);
    context.set_type(i, std::move(type));
  }
  set_scan_outputs(context, *scan, *outputs, length, batch);
}

// ---- SequenceMap

/// Sizes in which the elements of a sequence differ are not the same in every call of the body.
Type as_element(InferContext& context, const Type& type) {
  Type element = type;
  if (!element.shape) return element;
  for (Dim& size : *element.shape) {
    if (size.is_unknown()) size = context.lost("elements of the sequence differ in size");
  }
  return element;
}

void infer_sequence_map(InferContext& context) {
  std::vector<Type> inputs;
  Dim length;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    const Type* type = context.input_type(i);
    if (type && type->kind == Type::Kind::sequence) {
      if (i == 0) length = type->length;
      inputs.push_back(type->element ? as_element(context, *type->element) : Type());
    } else {
      inputs.push_back(type ? *type : Type());
    }
  }
  const auto outputs = context.infer_body("body", inputs);
  if (!outputs) return;
  if (outputs->size() != context.output_count()) {
    context.error({.code = "subgraph-arity",
                   .at = at_node(),
                   .message = "the node and its body have different numbers of outputs",
                   .expected = count(outputs->size(), "output"),
                   .found = count(context.output_count(), "output")});
    return;
  }
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    Type element = (*outputs)[i].type;
    if (element.is_unknown()) continue;
    if (element.shape) {
      for (Dim& size : *element.shape) {
        if (context.dims().has_origin(size, ir::SymbolOrigin::lost) ||
            context.dims().has_origin(size, ir::SymbolOrigin::data_dependent))
          size = {};
      }
    }
    context.set_type(i, Type::sequence(std::move(element), length));
  }
}

}  // namespace

void register_control_flow(InferRegistry& registry) {
  registry.add("If", all_versions(), infer_if);
  registry.add("Loop", all_versions(), infer_loop,
               {.inputs = {{0, Role::size}}, .own_body_outputs = 1});  // the condition
  registry.add("Scan", all_versions(), infer_scan);
  registry.add("SequenceMap", all_versions(), infer_sequence_map, {.inputs = {{every_input, Role::mapped}}});
}

}  // namespace onnxkit::checker
