#include <algorithm>
#include <optional>
#include <vector>

#include "libonnxkit/cpu/kernels/kernels.h"
#include "libonnxkit/cpu/step.h"

namespace onnxkit::cpu {
namespace {

/// Axes joined where their elements follow one another, and the offset of each combination of the outer ones.
struct Axes {
  Dims sizes, strides;
  std::int64_t count() const { return plan::element_count(sizes); }
  std::int64_t offset(std::int64_t at) const {
    std::int64_t sum = 0;
    for (std::size_t axis = sizes.size(); axis-- > 0;) {
      sum += at % sizes[axis] * strides[axis];
      at /= sizes[axis];
    }
    return sum;
  }
};

Axes joined(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) {
  Axes axes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 1) continue;
    if (!axes.sizes.empty() && axes.strides.back() == strides[i] * sizes[i]) {
      axes.sizes.back() *= sizes[i];
      axes.strides.back() = strides[i];
    } else {
      axes.sizes.push_back(sizes[i]);
      axes.strides.push_back(strides[i]);
    }
  }
  return axes;
}

template <class T>
class ReduceKernel : public Kernel {
 public:
  ReduceKernel(const plan::Step& step, Reduction reduction)
      : from_(step.inputs[0]), to_(step.outputs[0]), reduction_(reduction) {
    const std::size_t kept = to_.rank();
    kept_ = joined(std::span(from_.dims).first(kept), std::span(from_.strides).first(kept));
    gone_ = joined(std::span(from_.dims).subspan(kept), std::span(from_.strides).subspan(kept));
    if (gone_.sizes.empty()) gone_ = {.sizes = {1}, .strides = {1}};
  }

  std::uint64_t scratch_bytes() const override {
    if (is_side_by_side() || is_apart()) return 0;
    const auto near = near_axis();
    const std::int64_t count = near ? kept_.sizes.back() * gone_.sizes[*near] : gone_.count();
    return sizeof(T) * static_cast<std::uint64_t>(count);
  }

  void run(RunState& state) override {
    const T* const from = state.at<T>(from_);
    T* const to = state.at<T>(to_);
    if (is_side_by_side())
      reduce_side_by_side(state, from, to);
    else if (is_apart())
      reduce_apart(state, from, to);
    else if (const auto near = near_axis())
      reduce_groups(state, from, to, *near);
    else
      reduce_anyhow(state, from, to);
  }

 private:
  bool is_side_by_side() const { return gone_.sizes.size() == 1 && gone_.strides[0] == 1; }
  bool is_apart() const { return gone_.sizes.size() == 1 && !kept_.sizes.empty() && kept_.strides.back() == 1; }

  void reduce_side_by_side(RunState& state, const T* from, T* to) const {
    if (kept_.sizes.size() <= 1) {
      const std::int64_t stride = kept_.sizes.empty() ? 0 : kept_.strides[0];
      return reduce_rows(*state.threads, reduction_, from, stride, kept_.count(), gone_.sizes[0], to);
    }
    const std::int64_t inner = kept_.sizes.back();
    for (std::int64_t at = 0; at < kept_.count(); at += inner)
      reduce_rows(*state.threads, reduction_, from + kept_.offset(at), kept_.strides.back(), inner, gone_.sizes[0],
                  to + at);
  }

  /// The kept numbers lie side by side: columns are reduced.
  void reduce_apart(RunState& state, const T* from, T* to) const {
    const std::int64_t inner = kept_.sizes.back();
    for (std::int64_t at = 0; at < kept_.count(); at += inner)
      reduce_columns(*state.threads, reduction_, from + kept_.offset(at), gone_.strides[0], gone_.sizes[0], inner,
                     to + at);
  }

  /// Which of two axes that go lies within the kept numbers, which are side by side, as channels of a group do behind all pixels.
  std::optional<std::size_t> near_axis() const {
    if (gone_.sizes.size() != 2 || kept_.sizes.empty()) return std::nullopt;
    for (const std::size_t near : {0, 1})
      if (gone_.strides[near] == 1 && kept_.strides.back() == gone_.sizes[near]) return near;
    return std::nullopt;
  }

  /// The axis that lies apart is reduced first, for all that lies side by side.
  void reduce_groups(RunState& state, const T* from, T* to, std::size_t near) const {
    const std::int64_t inner = kept_.sizes.back(), group = gone_.sizes[near], apart = gone_.sizes[1 - near];
    std::vector<T> parts(static_cast<std::size_t>(inner * group));
    for (std::int64_t at = 0; at < kept_.count(); at += inner) {
      reduce_columns(*state.threads, reduction_, from + kept_.offset(at), gone_.strides[1 - near], apart, inner * group,
                     parts.data());
      reduce_rows(*state.threads, reduction_, parts.data(), group, inner, group, to + at);
    }
  }

  /// The numbers of each result are brought side by side.
  void reduce_anyhow(RunState& state, const T* from, T* to) const {
    const std::int64_t count = gone_.count();
    std::vector<T> row(static_cast<std::size_t>(count));
    for (std::int64_t at = 0; at < kept_.count(); ++at) {
      const T* const start = from + kept_.offset(at);
      for (std::int64_t i = 0; i < count; ++i) row[static_cast<std::size_t>(i)] = start[gone_.offset(i)];
      reduce_rows(*state.threads, reduction_, row.data(), count, 1, count, to + at);
    }
  }

  View from_, to_;
  Reduction reduction_;
  Axes kept_, gone_;
};

Reduction reduction_of(plan::Reduction reduction) {
  switch (reduction) {
    case plan::Reduction::mean:
      return Reduction::mean;
    case plan::Reduction::maximum:
      return Reduction::max;
    case plan::Reduction::minimum:
      return Reduction::min;
    case plan::Reduction::product:
      return Reduction::product;
    default:
      return Reduction::sum;
  }
}

Result<std::unique_ptr<Kernel>> make_reduce(const plan::Step& step, Preparation&) {
  const Reduction reduction = reduction_of(static_cast<const plan::ReduceParameters&>(*step.parameters).reduction);
  const ElementType type = step.inputs[0].type;
  if (type == ElementType::float64)
    return std::unique_ptr<Kernel>(std::make_unique<ReduceKernel<double>>(step, reduction));
  if (type == ElementType::int64)
    return std::unique_ptr<Kernel>(std::make_unique<ReduceKernel<std::int64_t>>(step, reduction));
  return std::unique_ptr<Kernel>(std::make_unique<ReduceKernel<float>>(step, reduction));
}

}  // namespace

void register_reduce(KernelRegistry& registry);
void register_reduce(KernelRegistry& registry) { registry.add(plan::reduce_step, make_reduce); }

}  // namespace onnxkit::cpu
