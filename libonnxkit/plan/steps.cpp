#include "libonnxkit/plan/steps.h"

#include <algorithm>
#include <map>
#include <utility>

namespace onnxkit::plan {
namespace {

template <class P>
std::shared_ptr<const Parameters> with(const P& parameters, Expression P::*part, Expression other) {
  auto changed = std::make_shared<P>(parameters);
  (*changed).*part = std::move(other);
  return changed;
}

}  // namespace

std::shared_ptr<const Parameters> MapParameters::with_elementwise(Expression other) const {
  return with(*this, &MapParameters::expression, std::move(other));
}

std::shared_ptr<const Parameters> ProductParameters::with_elementwise(Expression other) const {
  return with(*this, &ProductParameters::epilogue, std::move(other));
}

std::shared_ptr<const Parameters> ConvolutionParameters::with_elementwise(Expression other) const {
  return with(*this, &ConvolutionParameters::epilogue, std::move(other));
}

std::int64_t groups_of(const Step& grouped_product) {
  const auto& blocks = static_cast<const GroupedProductParameters&>(*grouped_product.parameters).blocks;
  return blocks ? blocks->n / grouped_product.outputs[0].dims[2] : grouped_product.inputs[1].dims[0];
}

void merge_operands(Step& map) {
  std::vector<View> kept;
  std::vector<std::size_t> numbers;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::vector<std::size_t>> by_place;  // among `kept`
  for (const View& input : map.inputs) {
    std::vector<std::size_t>& here = by_place[{input.buffer, input.offset}];
    const auto known = std::find_if(here.begin(), here.end(), [&](std::size_t at) { return kept[at] == input; });
    numbers.push_back(known == here.end() ? kept.size() : *known);
    if (known != here.end()) continue;
    here.push_back(kept.size());
    kept.push_back(input);
  }
  if (kept.size() == map.inputs.size()) return;
  map.inputs = std::move(kept);
  map.parameters = map.parameters->with_elementwise(map.parameters->elementwise()->renumbered(numbers));
}

std::vector<bool> exact_buffers(const Plan& plan) {
  std::vector<bool> is_exact(plan.buffers.size(), false);
  for (const Step& step : plan.steps) {
    for (std::size_t i = step.kind.first_exact_input; i < step.inputs.size(); ++i)
      is_exact[step.inputs[i].buffer] = true;
    if (!step.kind.has_exact_outputs) continue;
    for (const View& view : step.outputs) is_exact[view.buffer] = true;
  }
  return is_exact;
}

bool writes_nothing(const Plan& plan, const Step& step) {
  if (step.kind == host_step) return false;  // it may end with an error
  return std::all_of(step.outputs.begin(), step.outputs.end(), [&](const View& view) {
    return plan.buffers[view.buffer].home != Home::slot && view.size() == 0;
  });
}

std::vector<bool> read_buffers(const Plan& plan) {
  std::vector<bool> are_read(plan.buffers.size(), false);
  for (const Step& step : plan.steps)
    for (const View& view : step.inputs) are_read[view.buffer] = true;
  return are_read;
}

}  // namespace onnxkit::plan
