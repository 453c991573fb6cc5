// Squeeze, Unsqueeze: axes of size 1 are removed or put in. `axes` is an attribute until version 12, an input from 13 on.
#include <algorithm>

#include "reference/kernels/axes.h"
#include "reference/kernels/derivatives.h"

namespace onnxkit::reference {
namespace {

std::optional<std::vector<std::int64_t>> axes_of_squeeze(const KernelContext& context) {
  if (context.since() < 13) return context.integers("axes");
  const Tensor* axes = context.find_input(1);
  if (!axes) return std::nullopt;
  return axes->integers();
}

bool contains(const std::vector<std::int64_t>& axes, std::int64_t axis) {
  return std::binary_search(axes.begin(), axes.end(), axis);
}

void squeeze(KernelContext& context) {
  const Tensor& x = context.input(0);
  const auto stated = axes_of_squeeze(context);
  const std::vector<std::int64_t> axes = stated ? normalize_axes(*stated, x.rank()) : std::vector<std::int64_t>();
  Dims dims;
  for (std::int64_t axis = 0; axis < x.rank(); ++axis) {
    const bool goes = stated ? contains(axes, axis) : x.dim(axis) == 1;
    require(!goes || x.dim(axis) == 1, "only axes of size 1 can be removed");
    if (!goes) dims.push_back(x.dim(axis));
  }
  context.set_output(0, x.reshaped(std::move(dims)));
}

void unsqueeze(KernelContext& context) {
  const Tensor& x = context.input(0);
  const auto stated = axes_of_squeeze(context);
  require(stated.has_value(), "the axes are missing");
  const std::int64_t rank = x.rank() + static_cast<std::int64_t>(stated->size());
  const std::vector<std::int64_t> axes = normalize_axes(*stated, rank);
  Dims dims;
  auto next = x.dims().begin();
  for (std::int64_t axis = 0; axis < rank; ++axis) dims.push_back(contains(axes, axis) ? 1 : *next++);
  context.set_output(0, x.reshaped(std::move(dims)));
}

}  // namespace

void register_squeeze(KernelRegistry& registry) {
  registry.add("Squeeze", all_versions(), squeeze,
               {.noise = noise::moved, .derivative = derivative::same_elements, .sizes = SizeRole::step});
  registry.add("Unsqueeze", all_versions(), unsqueeze,
               {.noise = noise::moved, .derivative = derivative::same_elements, .sizes = SizeRole::step});
}

}  // namespace onnxkit::reference
