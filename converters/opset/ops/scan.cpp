#include <algorithm>
#include <limits>
#include <memory>

#include <fmt/core.h>

#include "converters/opset/compose/bodies.h"
#include "converters/opset/compose/compose.h"
#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

using List = std::vector<std::int64_t>;

std::size_t body_output_count(const Step& step) {
  const ir::Attribute* body = step.node().find_attribute("body");
  const ir::Graph* graph = body ? body->graph() : nullptr;
  if (!graph) refuse("attribute body holds no graph");
  return graph->outputs.size();
}

/// A list attribute with an entry for each scanned value; zeros when it is left out.
List per_value(const Step& step, std::string_view attribute, std::size_t count) {
  List list = step.integers(attribute).value_or(List());
  if (list.empty()) list.resize(count);
  if (list.size() != count) refuse(fmt::format("{} must have one entry per scanned value", attribute));
  return list;
}

struct ScanCounts {
  std::size_t states = 0, scanned = 0, collected = 0;
};

/// `offset`: of the first state among the inputs.
ScanCounts counts_of(const Step& step, std::size_t offset) {
  const std::int64_t scanned = step.integer("num_scan_inputs");
  const std::size_t inputs = step.input_count() - std::min(step.input_count(), offset);
  if (scanned < 1 || static_cast<std::uint64_t>(scanned) > inputs)
    refuse("num_scan_inputs does not match the number of inputs");
  const std::size_t states = inputs - static_cast<std::size_t>(scanned), outputs = body_output_count(step);
  if (outputs < states) refuse("the body does not return its states");
  return {states, static_cast<std::size_t>(scanned), outputs - states};
}

/// Axes counted from the front; for version 9.
void scan_axes_from_front(Step& step) {
  const ScanCounts counts = counts_of(step, 0);
  const auto turn = [&](std::string_view attribute, std::size_t count, const auto& value_at) {
    if (!step.has(attribute)) return;
    List axes = per_value(step, attribute, count);
    bool any = false;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] >= 0) continue;
      axes[i] = counted_from_front(step, axes[i], value_at(i));
      any = true;
    }
    if (any) step.set({attribute, axes});
  };
  turn("scan_input_axes", counts.scanned, [&](std::size_t i) { return step.input(counts.states + i); });
  turn("scan_output_axes", counts.collected, [&](std::size_t i) { return step.output(counts.states + i); });
}

/// Axis `axis` moved to the front, or back.
List moved_to_front(std::int64_t axis, std::int64_t rank) {
  List perm = {axis};
  for (std::int64_t i = 0; i < rank; ++i) {
    if (i != axis) perm.push_back(i);
  }
  return perm;
}
List moved_from_front(std::int64_t axis, std::int64_t rank) {
  List perm;
  for (std::int64_t i = 1; i < rank; ++i) perm.push_back(i);
  perm.insert(perm.begin() + std::min(axis, rank - 1), 0);
  return perm;
}

/// A batched sequence in the reverse order, by a Scan whose body does nothing.
ValueId reversed(Step& step, ValueId sequence, ElementType type) {
  step.begin_body();
  const ValueId element = step.body_input("element", type);
  step.body_output(step.add("Identity", {element}, {}, "same"), type);
  ir::Attribute body = step.end_body("body");
  const ValueId result = step.value("reversed");
  step.emit("Scan", {ValueId::none, sequence}, {result},
            {{"num_scan_inputs", std::int64_t{1}}, {"directions", List{1}}})
      .attributes.push_back(std::move(body));
  return result;
}

/// Version 8 scans axis 1 of batches: this is a batch of one.
void to_batch_of_one(Step& step) {
  const ScanCounts counts = counts_of(step, 0);
  const List input_axes = per_value(step, "scan_input_axes", counts.scanned);
  const List output_axes = per_value(step, "scan_output_axes", counts.collected);
  const List prepended = per_value(step, "scan_output_directions", counts.collected);
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < counts.states + counts.scanned; ++i) {
    ValueId value = step.input(i);
    const std::int64_t axis = i < counts.states ? 0 : input_axes[i - counts.states];
    if (axis != 0) {
      const std::int64_t rank = step.need_rank(value);
      value = step.add("Transpose", {value}, {{"perm", moved_to_front(axis, rank)}}, "axis_first");
    }
    inputs.push_back(unsqueeze(step, value, {0}, "batch_of_one"));
  }
  step.set_input(0, ValueId::none);
  for (std::size_t i = 0; i < inputs.size(); ++i) step.set_input(i + 1, inputs[i]);
  if (step.has("scan_input_directions")) step.set_copy("scan_input_directions", "directions");
  for (const std::string_view name :
       {"scan_input_axes", "scan_output_axes", "scan_input_directions", "scan_output_directions"})
    step.remove(name);
  step.then();
  for (std::size_t i = 0; i < step.output_count(); ++i) {
    if (step.output(i) == ValueId::none) continue;
    const bool is_state = i < counts.states;
    const std::int64_t axis = is_state ? 0 : output_axes[i - counts.states];
    const List perm = axis == 0 ? List() : moved_from_front(axis, step.need_rank(step.output(i)));
    const ValueId batch = step.value("batch_of_one");
    step.set_output(i, batch);
    ValueId value = batch;
    if (!is_state && prepended[i - counts.states] != 0) value = reversed(step, value, step.elem(step.output(i)));
    if (perm.empty()) {
      step.emit("Squeeze", {value}, {step.output(i)}, {{"axes", List{0}}});
    } else {
      step.emit("Transpose", {squeeze(step, value, {0}, "without_batch")}, {step.output(i)}, {{"perm", perm}});
    }
  }
  step.note("scans a batch of size 1");
}

struct BatchedScan {
  ScanCounts counts;
  bool has_lengths;
  std::vector<ElementType> types;  ///< of the outputs
  std::vector<std::optional<std::int64_t>> ranks;
};

/// Zeros, or empty texts, behind what was collected, so that all sequences of the batch are equally long.
ValueId padded(Step& step, ValueId collected, ElementType type, ValueId length, ValueId longest) {
  const auto vector_of = [&](ValueId scalar) { return reshape(step, scalar, {1}); };
  const ValueId missing = vector_of(step.add("Sub", {longest, length}, {}, "missing"));
  const ValueId shape = step.add("Shape", {collected}, {}, "shape");
  const ValueId rest = slice(step, shape, 0, 1, std::numeric_limits<std::int64_t>::max(), "other_sizes");
  const ValueId sizes = step.add("Concat", {missing, rest}, {{"axis", std::int64_t{0}}}, "pad_sizes");
  ir::Tensor zero;
  if (type == ElementType::string) {
    zero.data_type = static_cast<std::int32_t>(type);
    zero.string_data.push_back(step.keep(""));
  } else {
    zero = step.tensor(type, {}, {0});
  }
  const ValueId zeros = step.add("Expand", {step.constant_node(std::move(zero), "zero"), sizes}, {}, "padding");
  return step.add("Concat", {collected, zeros}, {{"axis", std::int64_t{0}}}, "padded");
}

/// The first `length` elements of each sequence, by the positions of as many ones.
void cut(Step& step, std::vector<ValueId>& sequences, ValueId length) {
  const ValueId size = reshape(step, length, {1}, "length");
  ValueId ones = step.value("ones");
  step.emit("ConstantOfShape", {size}, {ones})
      .attributes.push_back(step.attribute("value", step.tensor(ElementType::int64, {1}, {1})));
  const ValueId positions = squeeze(step, step.add("NonZero", {ones}), {0}, "places");
  for (ValueId& sequence : sequences)
    sequence = step.add("Gather", {sequence, positions}, {{"axis", std::int64_t{0}}}, "cut");
}

/// The body of the outer Scan: one sequence of the batch, scanned as version 9 does. The inner Scan gets the old body later.
ir::Attribute scan_of_one_sequence(Step& step, const BatchedScan& scan, const List& directions) {
  step.begin_body();
  std::vector<ValueId> states, sequences;
  for (std::size_t i = 0; i < scan.counts.states; ++i) states.push_back(step.body_input("state"));
  for (std::size_t i = 0; i < scan.counts.scanned; ++i) sequences.push_back(step.body_input("sequence"));
  const ValueId length = scan.has_lengths ? step.body_input("sequence_length") : ValueId::none;
  ValueId longest = ValueId::none;
  if (scan.has_lengths) {
    const ValueId shape = step.add("Shape", {sequences.front()}, {}, "shape");
    longest = reshape(step, slice(step, shape, 0, 0, 1), {}, "longest");
    cut(step, sequences, length);
  }
  std::vector<ValueId> inputs = states, outputs;
  inputs.insert(inputs.end(), sequences.begin(), sequences.end());
  for (std::size_t i = 0; i < scan.counts.states + scan.counts.collected; ++i) outputs.push_back(step.value("result"));
  const auto scanned = static_cast<std::int64_t>(scan.counts.scanned);
  ir::Node& inner = step.emit("Scan", inputs, outputs, {{"num_scan_inputs", scanned}});
  inner.attributes.push_back(step.attribute({"scan_input_directions", directions}));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const bool is_collected = i >= scan.counts.states;
    const ValueId whole =
        scan.has_lengths && is_collected ? padded(step, outputs[i], scan.types[i], length, longest) : outputs[i];
    step.body_output(whole, scan.types[i], scan.ranks[i]);
  }
  return step.end_body("body");
}

/// The old body moves into the Scan inside the new one.
void nest_body(ir::Node& node, ir::Attribute& outer) {
  const auto is_body = [](const ir::Attribute& attribute) { return attribute.name == "body"; };
  const auto old = std::find_if(node.attributes.begin(), node.attributes.end(), is_body);
  auto& graph = std::get<std::unique_ptr<ir::Graph>>(outer.payload);
  const auto inner = std::find_if(graph->nodes.begin(), graph->nodes.end(),
                                  [](const ir::Node& candidate) { return candidate.op_type == "Scan"; });
  inner->attributes.push_back(std::move(*old));
  *old = std::move(outer);
}

/// A Scan over the batch around a Scan over each sequence.
void scan_over_batch(Step& step) {
  BatchedScan scan{counts_of(step, 1), step.has_input(0), {}, {}};
  const std::size_t outputs = scan.counts.states + scan.counts.collected;
  for (std::size_t i = 0; i < outputs; ++i) {
    const ValueId output = step.output(i);
    scan.types.push_back(step.elem(output));
    const auto rank = step.rank(output);
    scan.ranks.push_back(rank ? std::optional(*rank - 1) : std::nullopt);
    if (scan.has_lengths && i >= scan.counts.states && scan.types[i] == ElementType::undefined)
      refuse_unknown(fmt::format("the type of output {}, needed to pad shorter sequences, is unknown", i));
  }
  const List directions = per_value(step, "directions", scan.counts.scanned);
  auto body = std::make_shared<ir::Attribute>(scan_of_one_sequence(step, scan, directions));

  std::vector<ValueId> inputs(step.node().inputs.begin() + 1, step.node().inputs.end());
  if (scan.has_lengths) inputs.push_back(step.input(0));
  const auto all = static_cast<std::int64_t>(inputs.size());
  step.drop_inputs(0);
  for (std::size_t i = 0; i < inputs.size(); ++i) step.set_input(i, inputs[i]);
  step.remove("directions");
  step.set({"num_scan_inputs", all});
  step.finish([body](ir::Model&, ir::Node& node, std::vector<ir::Node>&) { nest_body(node, *body); });
  step.note("rewritten as a Scan over the batch that contains a Scan over each sequence");
}

/// The batch is one sequence, which a Loop goes through; what it scans it carries.
class ScanByLoop {
 public:
  explicit ScanByLoop(Step& step) : step_(step), counts_(counts_of(step, 1)) {}

  void build() {
    if (step_.has_input(0)) refuse("sequences of several lengths are scanned");
    const List directions = per_value(step_, "directions", counts_.scanned);
    const std::size_t inputs = counts_.states + counts_.scanned;
    std::vector<ValueId> carried;
    for (std::size_t i = 0; i < inputs; ++i) {
      const ValueId batch = step_.input(i + 1);
      const checker::Shape* shape = step_.shape(batch);
      if (!shape || shape->empty() || !shape->front().is(1))
        refuse_unknown("the batch is not known to be one sequence");
      types_.push_back(step_.need_elem(batch));
      ranks_.push_back(static_cast<std::int64_t>(shape->size()) - 1);
      carried.push_back(squeeze(step_, batch, {0}, "without_batch"));
    }
    for (std::size_t i = 0; i < counts_.collected; ++i)
      collected_types_.push_back(step_.need_elem(step_.output(counts_.states + i)));
    const ValueId count =
        step_.add("Squeeze", {size_vector(step_, step_.input(counts_.states + 1), 1)}, {{"axes", List{0}}}, "count");
    std::vector<ValueId> given = {count, step_.number(ElementType::boolean, 1)}, results;
    const ValueId last = step_.add("Sub", {count, step_.scalar(1)}, {}, "last");
    given.push_back(last);
    given.insert(given.end(), carried.begin(), carried.end());
    for (std::size_t i = 0; i < given.size() - 2; ++i) results.push_back(step_.value("result"));
    for (std::size_t i = 0; i < counts_.collected; ++i) results.push_back(step_.value("collected"));
    ir::Attribute body = frame(directions);
    step_.emit("Loop", std::move(given), results).attributes.push_back(std::move(body));
    const std::size_t loop = step_.added_count() - 1;
    for (std::size_t i = 0; i < step_.output_count(); ++i) {
      const std::size_t at = i < counts_.states ? 1 + i : 1 + inputs + i - counts_.states;
      if (step_.output(i) != ValueId::none)
        step_.emit("Unsqueeze", {results[at]}, {step_.output(i)}, {{"axes", List{0}}});
    }
    step_.replace();
    step_.finish([loop, items = items_, made = made_](ir::Model&, ir::Node& node, std::vector<ir::Node>& added) {
      std::unique_ptr<ir::Graph> old = take_graph(node, "body");
      auto& held = std::get<std::unique_ptr<ir::Graph>>(added[loop].attributes.back().payload);
      const std::unique_ptr<ir::Graph> frame = std::move(held);
      std::vector<ValueId> own(frame->values.size(), ValueId::none);
      for (std::size_t i = 0; i < items.size(); ++i) own[ir::index_of(items[i])] = old->inputs[i].value;
      for (std::size_t i = 0; i < made.size(); ++i) own[ir::index_of(made[i])] = old->outputs[i].value;
      held = framed(std::move(old), *frame, frame->nodes.size(), std::move(own));
    });
  }

 private:
  ir::Attribute frame(const List& directions) {
    step_.begin_body();
    const ValueId iteration = step_.body_input("iteration", ElementType::int64, 0);
    const ValueId runs_on = step_.body_input("condition", ElementType::boolean, 0);
    const ValueId last = step_.body_input("last", ElementType::int64, 0);
    step_.body_output(step_.add("Identity", {runs_on}, {}, "condition"), ElementType::boolean, 0);
    step_.body_output(step_.add("Identity", {last}, {}, "last"), ElementType::int64, 0);
    const ValueId from_end = step_.add("Sub", {last, iteration}, {}, "from_end");
    std::vector<ValueId> scanned;
    for (std::size_t i = 0; i < types_.size(); ++i) {
      const ValueId before = step_.body_input("before", types_[i], ranks_[i]);
      if (i < counts_.states) {
        items_.push_back(step_.add("Identity", {before}, {}, "state"));
        made_.push_back(step_.value("result"));
        step_.body_output(made_.back(), types_[i], ranks_[i]);
        continue;
      }
      const ValueId at = directions[i - counts_.states] != 0 ? from_end : iteration;
      items_.push_back(step_.add("Gather", {before, at}, {{"axis", std::int64_t{0}}}, "element"));
      scanned.push_back(step_.add("Identity", {before}, {}, "sequence"));
    }
    for (std::size_t i = 0; i < scanned.size(); ++i)
      step_.body_output(scanned[i], types_[counts_.states + i], ranks_[counts_.states + i]);
    for (std::size_t i = 0; i < counts_.collected; ++i) {
      made_.push_back(step_.value("result"));
      step_.body_output(made_.back(), collected_types_[i]);
    }
    return step_.end_body("body");
  }

  Step& step_;
  const ScanCounts counts_;
  std::vector<ElementType> types_, collected_types_;  ///< of the inputs; of what is collected
  std::vector<std::int64_t> ranks_;
  std::vector<ValueId> items_, made_;  ///< values of the frame that stand for the inputs and outputs of the body
};

}  // namespace

void register_scan(StepRegistry& registry) {
  registry.introduced({"Scan"}, 8,
                      adapt("a batch of one is rewritten as Loop", [](Step& step) { ScanByLoop(step).build(); }));
  registry.change({"Scan"}, 9,
                  adapt("rewritten as a Scan over the batch that contains one over each sequence", scan_over_batch),
                  adapt("scans a batch of size 1", to_batch_of_one));
  registry.change({"Scan"}, 11, compatible("axes may also be negative"),
                  adapt("axes made non-negative", scan_axes_from_front));
  registry.types({"Scan"}, {16, 19, 21, 23, 24, 25});
}

}  // namespace onnxkit::opset
