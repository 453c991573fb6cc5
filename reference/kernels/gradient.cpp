#include "reference/kernels/gradient.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/core.h>

#include "reference/kernels/broadcast.h"
#include "reference/kernels/derivatives.h"

namespace onnxkit::reference {
namespace {

Derivative derivative_of(const TracedNode& traced) {
  const spec::OpSchema* schema = traced.schema;
  const Derivative found =
      schema ? kernel_registry().traits(schema->domain, schema->name, schema->since_version).derivative : nullptr;
  if (!found)
    throw Fault("not-supported", fmt::format("Gradient cannot differentiate {}", traced.node->op_type.view()));
  return found;
}

using Derivatives = std::unordered_map<ir::ValueId, Tensor>;
using ValueSet = std::unordered_set<ir::ValueId>;

bool any_of(const std::vector<ir::ValueId>& ids, const ValueSet& set) {
  return std::any_of(ids.begin(), ids.end(), [&](ir::ValueId id) { return set.contains(id); });
}

/// xs and what depends on them.
ValueSet dependent_values(const std::vector<TracedNode>& traced, std::span<const ir::ValueId> xs) {
  ValueSet dependent(xs.begin(), xs.end());
  for (const TracedNode& row : traced) {
    if (any_of(row.node->inputs, dependent)) dependent.insert(row.node->outputs.begin(), row.node->outputs.end());
  }
  dependent.erase(ir::ValueId::none);
  return dependent;
}

/// Hands the derivatives by a node's output on to its inputs.
void step_back(const KernelContext& context, const TracedNode& traced, const ValueSet& dependent,
               Derivatives& derivatives) {
  const auto dy = std::find_if(traced.node->outputs.begin(), traced.node->outputs.end(),
                               [&](ir::ValueId id) { return derivatives.contains(id); });
  if (dy == traced.node->outputs.end() || !any_of(traced.node->inputs, dependent)) return;
  const Derivative derivative = derivative_of(traced);
  const DerivativeStep step{context, traced, spec::NodeAttributes(*traced.node, *traced.schema, traced.bindings),
                            derivatives.at(*dy)};
  const std::vector<Tensor> by_input = derivative(step);
  for (std::size_t i = 0; i < by_input.size(); ++i) {
    const ir::ValueId id = traced.node->inputs[i];
    const bool wanted = dependent.contains(id) && by_input[i].type() != ElementType::undefined;
    if (!wanted || step.x(i).domain() != Domain::real) continue;
    const Tensor dx = by_input[i].retyped(step.x(i).type());
    const auto [sum, is_new] = derivatives.try_emplace(id, dx);
    if (!is_new)
      sum->second =
          map<double, double, double>(context, sum->second, dx, dx.type(), [](double p, double q) { return p + q; });
  }
}

/// A tensor of this type and shape.
Tensor filled(const KernelContext& context, const Tensor& like, double number) {
  require(like.domain() == Domain::real, "only floating-point tensors have derivatives");
  Tensor tensor = context.make(like.type(), like.dims());
  std::ranges::fill(tensor.write<double>(), number);
  return tensor;
}

const Tensor& result_of(const std::vector<TracedNode>& traced, ir::ValueId id) {
  for (const TracedNode& row : traced) {
    for (std::size_t i = 0; i < row.node->outputs.size(); ++i) {
      if (row.node->outputs[i] != id) continue;
      require(row.outputs[i].is_tensor(), "y is not a tensor");
      return row.outputs[i].tensor;
    }
  }
  throw Fault("y is not computed from xs and zs");
}

}  // namespace

void gradient(KernelContext& context) {
  std::vector<ir::ValueId> given;
  for (const std::string_view name : context.strings("xs").value_or(std::vector<std::string_view>()))
    given.push_back(context.value_named(name));
  const std::size_t count = given.size();
  for (const std::string_view name : context.strings("zs").value_or(std::vector<std::string_view>()))
    given.push_back(context.value_named(name));
  require(given.size() == context.input_count(),
          "xs and zs name a different number of tensors than the node has inputs");
  std::vector<Value> values;
  for (std::size_t i = 0; i < given.size(); ++i) values.push_back(context.value(i));
  const std::span<const ir::ValueId> xs = std::span(given).first(count);

  const ir::ValueId y = context.value_named(context.string("y"));
  const std::vector<TracedNode> traced = context.trace(y, given, values);
  const auto itself = std::find(given.begin(), given.end(), y);
  const Tensor& result =
      itself == given.end() ? result_of(traced, y) : context.input(static_cast<std::size_t>(itself - given.begin()));
  const ValueSet dependent = dependent_values(traced, xs);
  Derivatives derivatives;
  derivatives.emplace(y, filled(context, result, 1));
  for (auto row = traced.rbegin(); row != traced.rend(); ++row) step_back(context, *row, dependent, derivatives);
  for (std::size_t i = 0; i < count; ++i) {
    if (!context.has_output(i)) continue;
    const auto found = derivatives.find(xs[i]);
    context.set_output(i, found == derivatives.end() ? filled(context, context.input(i), 0) : found->second);
  }
}

}  // namespace onnxkit::reference
