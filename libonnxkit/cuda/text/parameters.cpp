#include "libonnxkit/cuda/text/parameters.h"

#include <algorithm>

#include <fmt/core.h>

#include "libonnxkit/cuda/text/element.h"

namespace onnxkit::cuda {
namespace {

bool may_share(const plan::Plan& plan, const View& a, const View& b) {
  if (a.buffer == b.buffer) return true;
  const plan::Buffer &x = plan.buffers[a.buffer], &y = plan.buffers[b.buffer];
  const bool both_in_arena = x.home == plan::Home::arena && y.home == plan::Home::arena;
  return both_in_arena && x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
}

}  // namespace

std::string write_parameters(const plan::Step& step, const Preparation& preparation, bool has_fault) {
  const auto shares = [&](const std::vector<View>& others, const View& view) {
    return std::any_of(others.begin(), others.end(),
                       [&](const View& other) { return may_share(preparation.plan, view, other); });
  };
  std::string text;
  const auto add = [&](std::string_view qualifier, const View& view, bool is_shared, const std::string& name) {
    text += fmt::format("{}{}{}*{} {}", text.empty() ? "(" : ", ", qualifier, stored_type(view.type),
                        is_shared ? "" : " __restrict__", name);
  };
  for (std::size_t i = 0; i < step.inputs.size(); ++i)
    add("const ", step.inputs[i], shares(step.outputs, step.inputs[i]), fmt::format("x{}", i));
  for (std::size_t i = 0; i < step.outputs.size(); ++i)
    add("", step.outputs[i], shares(step.inputs, step.outputs[i]), i == 0 ? "y" : fmt::format("y{}", i));
  return text + (has_fault ? ", unsigned* fault)" : ")");
}

std::vector<View> operands_of(const plan::Step& step) {
  std::vector<View> operands = step.inputs;
  operands.insert(operands.end(), step.outputs.begin(), step.outputs.end());
  return operands;
}

Result<void> check_types(const plan::Step& step) {
  for (const View& view : operands_of(step)) {
    if (stored_type(view.type).empty())
      return make_error("not-supported", fmt::format("generated kernels have no {}", name_of(view.type)));
  }
  return {};
}

Result<void> check_work(std::int64_t threads, std::int64_t each, std::string_view what, std::int64_t most) {
  constexpr std::int64_t most_of_thread = std::int64_t{1} << 20;  // up to a second, by estimate
  if (each > most_of_thread) {
    return make_error("not-supported",
                      fmt::format("a kernel whose threads make {} {} each, more than {}", each, what, most_of_thread));
  }
  if (each == 0 || threads <= most / each) return {};
  return make_error("not-supported",
                    fmt::format("a kernel of {} times {} {}, more than {} in all", threads, each, what, most));
}

plan::Lane number_lane(const plan::Step& step) {
  const plan::Lane in = plan::lane_of(step.inputs[0].type), out = plan::lane_of(step.outputs[0].type);
  return in == plan::Lane::f64 || out == plan::Lane::f64 ? plan::Lane::f64 : in;
}

}  // namespace onnxkit::cuda
