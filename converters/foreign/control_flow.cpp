#include "converters/foreign/control_flow.h"

#include <algorithm>

namespace onnxkit::foreign {
namespace {

/// A boolean without axes.
Val as_flag(Call& call, Val value) {
  auto& onnx = call.onnx;
  const Val flag = onnx.cast(value, ElementType::boolean);
  return onnx.rank(flag) == 0 ? flag : onnx.reshape(flag, std::vector<std::int64_t>());
}

std::vector<Val> joined(std::vector<Val> first, const std::vector<Val>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::vector<OnnxBuilder::Body> one_body(Call& call, const std::vector<Val>& outputs) {
  std::vector<OnnxBuilder::Body> bodies;
  bodies.emplace_back("body", call.onnx.close_body(outputs));
  call.restore_origin();
  return bodies;
}

}  // namespace

void branch(Call& call, Val condition, const Graph& then_graph, const Graph& else_graph,
            const std::vector<Val>& operands) {
  auto& onnx = call.onnx;
  const Val chosen = as_flag(call, condition);
  std::vector<OnnxBuilder::Body> bodies;
  for (const auto& [name, graph] : {std::pair{"then_branch", &then_graph}, std::pair{"else_branch", &else_graph}}) {
    onnx.open_body(name, {});
    bodies.emplace_back(name, onnx.close_body(call.inlined(*graph, operands)));
  }
  call.restore_origin();
  // The node may have fewer results than its branches: those at the end that nothing reads.
  call.results(onnx.emit_with_bodies(then_graph.outputs.size(), "If", {chosen}, std::move(bodies)));
}

std::vector<Val> looped(Call& call, const Graph& condition, const Graph& body, const WhileLoop& loop) {
  auto& onnx = call.onnx;
  Val first;
  if (!loop.passes) {
    const std::vector<Val> asked = call.inlined(condition, joined(loop.carried, loop.constants));
    if (asked.size() != 1) {
      call.refuse("the condition must have one result");
      return {};
    }
    first = as_flag(call, asked.front());
  }
  std::vector<OnnxBuilder::BodyInput> inputs = {{"iteration", checker::Type::tensor(ElementType::int64, Shape{})},
                                                {"condition", checker::Type::tensor(ElementType::boolean, Shape{})}};
  for (const checker::Type& type : loop.types) inputs.push_back({"carried", type});
  const std::vector<Val> own = onnx.open_body("body", inputs);
  const std::vector<Val> next = call.inlined(body, joined({own.begin() + 2, own.end()}, loop.constants));
  std::vector<Val> goes_on = {own[1]};
  if (!loop.passes) {
    const std::vector<Val> carried(
        next.begin(), next.begin() + static_cast<std::ptrdiff_t>(std::min(next.size(), loop.carried.size())));
    goes_on = call.inlined(condition, joined(carried, loop.constants));
    for (Val& output : goes_on) output = as_flag(call, output);
  }
  std::vector<OnnxBuilder::Body> bodies = one_body(call, joined(std::move(goes_on), next));
  const std::vector<Val> operands = joined({loop.passes, first}, loop.carried);
  return onnx.emit_with_bodies(next.size(), "Loop", operands, std::move(bodies));
}

namespace {

/// Leaves open what a pass changes of the shapes that are carried; false when it changes none.
bool leave_open(Call& call, std::vector<checker::Type>& types, const std::vector<Val>& results) {
  bool any = false;
  for (std::size_t i = 0; i < types.size() && i < results.size(); ++i) {
    const Shape* after = call.onnx.shape(results[i]);
    if (!types[i].shape) continue;
    if (!after || after->size() != types[i].shape->size()) {
      types[i].shape.reset();
      any = true;
      continue;
    }
    for (std::size_t axis = 0; axis < after->size(); ++axis) {
      checker::Dim& size = (*types[i].shape)[axis];
      any = any || !((*after)[axis] == size);
      if (!((*after)[axis] == size)) size = {};
    }
  }
  return any;
}

}  // namespace

void repeat_while(Call& call, const Graph& condition, const Graph& body, WhileLoop loop) {
  std::vector<Val> results = looped(call, condition, body, loop);
  if (loop.may_resize && !call.refused() && leave_open(call, loop.types, results))
    results = looped(call, condition, body, loop);
  if (!results.empty() || loop.carried.empty()) call.results(results);
}

void scan(Call& call, const Graph& body, const std::vector<Val>& carried, const std::vector<Val>& sliced,
          const std::vector<Val>& constants) {
  auto& onnx = call.onnx;
  std::vector<OnnxBuilder::BodyInput> inputs;
  for (const Val value : carried) inputs.push_back({"carried", onnx.type(value)});
  for (const Val whole : sliced) {
    checker::Type type = onnx.type(whole);
    if (!type.shape || type.shape->empty()) return call.refuse("what the body runs over has no axes");
    type.shape->erase(type.shape->begin());
    inputs.push_back({"slice", std::move(type)});
  }
  const std::vector<Val> own = onnx.open_body("body", inputs);
  std::vector<OnnxBuilder::Body> bodies = one_body(call, call.inlined(body, joined(own, constants)));
  const auto count = static_cast<std::int64_t>(sliced.size());
  call.results(onnx.emit_with_bodies(call.node.outputs.size(), "Scan", joined(carried, sliced), std::move(bodies),
                                     {{"num_scan_inputs", count}}));
}

}  // namespace onnxkit::foreign
