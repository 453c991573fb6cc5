#include "libonnxkit/cuda/libraries/epilogue.h"

#include <algorithm>
#include <set>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::cuda {
namespace {

using plan::Expression;
using plan::Instruction;
using plan::Operation;
using Number = Expression::Number;

/// The first and the last element of a view.
std::pair<std::int64_t, std::int64_t> ends_of(const View& view) {
  std::pair<std::int64_t, std::int64_t> ends{view.offset, view.offset};
  for (std::size_t axis = 0; axis < view.rank(); ++axis) {
    const std::int64_t reach = (view.dims[axis] - 1) * view.strides[axis];
    (reach < 0 ? ends.first : ends.second) += reach;
  }
  return ends;
}

bool are_apart(const View& a, const View& b) {
  const auto first = ends_of(a), second = ends_of(b);
  return first.second < second.first || second.second < first.first;
}

/// Where in each stretch of `period` elements a view lies; nothing when it is not in the same place of each.
std::optional<std::pair<std::int64_t, std::int64_t>> part_of(const View& view, std::int64_t period) {
  std::int64_t first = view.offset % period, last = first;
  for (std::size_t axis = 0; axis < view.rank(); ++axis) {
    if (view.dims[axis] == 1 || view.strides[axis] % period == 0) continue;
    if (view.strides[axis] < 0) return std::nullopt;
    last += (view.dims[axis] - 1) * view.strides[axis];
  }
  if (last >= period) return std::nullopt;
  return std::pair(first, last);
}

/// Parts of the rows of one tensor, as a Concat along channels has them.
bool are_side_by_side(const View& a, const View& b) {
  for (const std::int64_t period : a.strides) {
    if (period <= 1) continue;
    const auto first = part_of(a, period), second = part_of(b, period);
    if (first && second && (first->second < second->first || second->second < first->first)) return true;
  }
  return false;
}

}  // namespace

std::vector<EpilogueLink> links_of(const plan::Expression& expression) {
  std::vector<EpilogueLink> links = plan::epilogue_links_of(expression);
  const auto is_beyond = [](const EpilogueLink& link) { return link.kind == EpilogueLink::Kind::maximum; };
  links.erase(std::find_if(links.begin(), links.end(), is_beyond), links.end());
  return links;
}

bool may_overlap(const plan::Plan& plan, const View& a, const View& b) {
  const plan::Buffer &first = plan.buffers[a.buffer], &second = plan.buffers[b.buffer];
  if (a.buffer == b.buffer) return !are_apart(a, b) && !are_side_by_side(a, b);
  return first.home == plan::Home::arena && second.home == plan::Home::arena &&
         first.offset < second.offset + second.bytes && second.offset < first.offset + first.bytes;
}

std::uint32_t alignment_of(const plan::Plan& plan, const View& view) {
  const plan::Buffer& buffer = plan.buffers[view.buffer];
  const std::int64_t width = storage_bits(view.type) / 8;
  const std::uint64_t from = buffer.home == plan::Home::arena ? buffer.offset : 0;
  const std::uint64_t place = from + static_cast<std::uint64_t>(view.offset * width);
  constexpr std::uint64_t most = 256;
  return static_cast<std::uint32_t>((place | most) & (~(place | most) + 1));
}

std::optional<plan::Step> rest_of(const plan::Step& step, const Expression& expression, Number done,
                                  const plan::Plan& plan) {
  const Expression rest = expression.behind(done);
  const View& to = step.outputs[0];
  std::vector<std::size_t> numbers(rest.input_count(), 0);
  std::set<std::size_t> used;
  for (const Instruction& instruction : rest.code())
    if (instruction.operation == Operation::input && instruction.index != 0) used.insert(instruction.index);
  plan::Step map{.kind = plan::map_step, .inputs = {to}, .outputs = {to}, .nodes = step.nodes};
  for (const std::size_t input : used) {
    numbers[input] = map.inputs.size();
    map.inputs.push_back(step.inputs[input + 1]);
    if (may_overlap(plan, map.inputs.back(), to)) return std::nullopt;
  }
  auto parameters = std::make_shared<plan::MapParameters>();
  parameters->expression = rest.renumbered(numbers);
  map.parameters = std::move(parameters);
  return map;
}

}  // namespace onnxkit::cuda
