#include "converters/opset/compose/loops.h"

#include "converters/opset/compose/compose.h"

namespace onnxkit::opset {
namespace {

constexpr ElementType index_type = ElementType::int64;

/// What `collected` gives in each iteration; it makes nodes of the body from the iteration's number and `carried`, which it may replace.
template <class Collect>
ValueId collected_by_loop(Step& step, ValueId count, ValueId start, std::int64_t rank, Collect collected) {
  const ValueId runs = step.number(ElementType::boolean, 1, "runs");
  step.begin_body();
  const ValueId iteration = step.body_input("iteration", index_type, 0);
  const ValueId runs_on = step.body_input("condition", ElementType::boolean, 0);
  ValueId carried = step.body_input("before", index_type, rank);
  step.body_output(step.add("Identity", {runs_on}, {}, "condition"), ElementType::boolean, 0);
  const ValueId item = collected(iteration, carried);
  step.body_output(step.add("Identity", {carried}, {}, "after"), index_type, rank);
  step.body_output(item, index_type, 0);
  ir::Attribute body = step.end_body("body");
  const ValueId last = step.value("last"), all = step.value("list");
  step.emit("Loop", {reshape(step, count, {}, "count"), runs, start}, {last, all})
      .attributes.push_back(std::move(body));
  return all;
}

}  // namespace

ValueId counted_by_loop(Step& step, ValueId count) {
  // Loop 1 must carry something.
  return collected_by_loop(step, count, step.scalar(0, "carried"), 0, [&](ValueId iteration, ValueId&) {
    return step.add("Identity", {iteration}, {}, "number");
  });
}

ValueId places_of_ones(Step& step, ValueId flags) {
  constexpr std::int64_t beyond = std::int64_t{1} << 40;
  const ValueId far = step.scalar(beyond, "beyond");
  const ValueId places = counted_by_loop(step, step.add("Shape", {flags}, {}, "length"));
  const ValueId others = step.add("Sub", {step.scalar(1, "one"), flags}, {}, "others");
  const ValueId start = step.add("Add", {places, step.add("Mul", {others, far}, {}, "behind")}, {}, "left");
  const ValueId count = reduce(step, "ReduceSum", flags, {0}, true, "count");
  return collected_by_loop(step, count, start, 1, [&](ValueId, ValueId& left) {
    const ValueId next = reduce(step, "ReduceMin", left, {0}, false, "next");
    const ValueId is_taken = cast(step, step.add("Equal", {left, next}, {}, "is_taken"), index_type, "taken");
    const ValueId moved = step.add("Mul", {is_taken, step.scalar(beyond, "beyond")}, {}, "moved");
    left = step.add("Add", {left, moved}, {}, "left");
    return next;
  });
}

}  // namespace onnxkit::opset
