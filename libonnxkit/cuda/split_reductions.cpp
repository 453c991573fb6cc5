#include "libonnxkit/cuda/split_reductions.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "libonnxkit/plan/arena.h"
#include "libonnxkit/plan/step_edit.h"
#include "libonnxkit/plan/steps.h"

namespace onnxkit::cuda {
namespace {

using plan::Dims;
using plan::Reduction;
using plan::Step;
using plan::View;

Reduction reduction_of(const Step& step) {
  return static_cast<const plan::ReduceParameters&>(*step.parameters).reduction;
}

/// Of the axes from `first` up to `last`; 0 where they have one element.
std::int64_t inner_stride(const View& view, std::size_t first, std::size_t last) {
  for (std::size_t axis = last; axis > first; --axis)
    if (view.dims[axis - 1] > 1) return std::abs(view.strides[axis - 1]);
  return 0;
}

/// How many parts the numbers of each result are worth; 1 for all at once.
std::int64_t parts_of(const Step& step) {
  // A part of a product may be infinite or 0 where the whole is not.
  if (step.kind != plan::reduce_step || reduction_of(step) == Reduction::product) return 1;
  const View &from = step.inputs[0], &to = step.outputs[0];
  const std::int64_t results = to.size(), kept_stride = inner_stride(from, 0, to.rank());
  if (results == 0) return 1;
  const std::int64_t count = from.size() / results;
  const bool is_along_rows = kept_stride == 0 || inner_stride(from, to.rank(), from.rank()) < kept_stride;
  // The kernel gives a row a block of threads, and a column 16 threads.
  constexpr std::int64_t few_rows = 64, long_row = 1 << 14, few_columns = 1 << 10, long_column = 1 << 11;
  const bool leaves_idle =
      is_along_rows ? results <= few_rows && count >= long_row : results <= few_columns && count >= long_column;
  if (!leaves_idle) return 1;
  constexpr std::int64_t enough_results = 1 << 14, least_part = 1 << 8, most_parts = 1 << 10;
  return std::min({count / least_part, enough_results / results, most_parts});
}

/// The view with at most `wanted` parts along axes behind those that are kept, and how many axes the results of parts have.
std::optional<std::pair<View, std::size_t>> in_parts(const View& from, std::size_t kept, std::int64_t wanted) {
  View view = from;
  std::size_t axis = kept;
  std::int64_t left = wanted;
  for (; axis < view.rank() && view.dims[axis] <= left; ++axis) left /= view.dims[axis];
  if (axis == view.rank()) return std::nullopt;
  const std::int64_t size = view.dims[axis];
  while (left > 1 && size % left != 0) --left;
  if (left > 1) {
    view.dims[axis] = size / left;
    view.dims.insert(view.dims.begin() + static_cast<std::ptrdiff_t>(axis), left);
    view.strides.insert(view.strides.begin() + static_cast<std::ptrdiff_t>(axis), view.strides[axis] * (size / left));
    ++axis;
  }
  if (axis == kept) return std::nullopt;
  return std::pair(std::move(view), axis);
}

ElementType type_of_parts(const Step& step) {
  const ElementType type = step.inputs[0].type;
  const bool adds = reduction_of(step) == Reduction::sum || reduction_of(step) == Reduction::mean;
  return adds && plan::lane_of(type) != plan::Lane::i64 ? ElementType::float64 : type;
}

}  // namespace

void split_reductions(plan::Plan& plan) {
  const auto is_worth_parts = [](const Step& step) { return parts_of(step) > 1; };
  if (std::none_of(plan.steps.begin(), plan.steps.end(), is_worth_parts)) return;
  std::vector<Step> steps = std::move(plan.steps);
  plan.steps.clear();
  for (Step& step : steps) {
    const std::int64_t parts = parts_of(step);
    const auto divided = parts > 1 ? in_parts(step.inputs[0], step.outputs[0].rank(), parts) : std::nullopt;
    if (divided) {
      const auto& [view, axes] = *divided;
      const Dims dims(view.dims.begin(), view.dims.begin() + static_cast<std::ptrdiff_t>(axes));
      const View results = plan::new_value(plan, type_of_parts(step), dims);
      plan.steps.push_back({.kind = plan::reduce_step,
                            .inputs = {view},
                            .outputs = {results},
                            .parameters = step.parameters,
                            .nodes = step.nodes});
      step.inputs[0] = results;
    }
    plan.steps.push_back(std::move(step));
  }
  place_buffers(plan);
}

}  // namespace onnxkit::cuda
