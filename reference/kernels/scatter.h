#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "reference/executor/kernel.h"
#include "reference/noise/noise.h"
#include "reference/numerics/arithmetic.h"

// What the scattering operators do with an element that is written to a position.
namespace onnxkit::reference {

enum class ScatterReduction { none, add, mul, min, max };

inline ScatterReduction scatter_reduction(std::string_view name) {
  if (name.empty() || name == "none") return ScatterReduction::none;
  if (name == "add") return ScatterReduction::add;
  if (name == "mul") return ScatterReduction::mul;
  if (name == "min") return ScatterReduction::min;
  require(name == "max", "unknown reduction");
  return ScatterReduction::max;
}

template <class T>
T combine(ScatterReduction reduction, const T& old, const T& update) {
  if constexpr (std::is_same_v<T, std::string>) {
    throw Fault("undefined-for-type", "strings cannot be reduced");
  } else if constexpr (std::is_same_v<T, Complex>) {
    if (reduction == ScatterReduction::add) return old + update;
    if (reduction == ScatterReduction::mul) return old * update;
    throw Fault("undefined-for-type", "complex numbers have no order");
  } else if constexpr (std::is_same_v<T, bool>) {
    const bool is_or = reduction == ScatterReduction::add || reduction == ScatterReduction::max;
    return is_or ? old || update : old && update;
  } else {
    switch (reduction) {
      case ScatterReduction::add:
        return add(old, update);
      case ScatterReduction::mul:
        return multiply(old, update);
      case ScatterReduction::min:
        return lesser_of(old, update);
      default:
        return greater_of(old, update);
    }
  }
}

/// What roundings of partial sums and products add up to in a noisy run: as many as an element takes in.
class ScatterErrors {
 public:
  ScatterErrors(const Noise* noise, ScatterReduction reduction, std::size_t elements)
      : noise_(reduction == ScatterReduction::add || reduction == ScatterReduction::mul ? noise : nullptr),
        adds_(reduction == ScatterReduction::add) {
    if (noise_) terms_.resize(elements);
    if (noise_ && adds_) squares_.resize(elements);
  }

  void take_in(std::size_t element, double old, double update) {
    if (!noise_) return;
    if (adds_) squares_[element] += (terms_[element] == 0 ? old * old : 0) + update * update;
    ++terms_[element];
  }

  void add_to(std::span<double> results) const {
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      if (terms_[i] == 0) continue;
      results[i] += adds_ ? noise_->error_of_sum(i, results[i], squares_[i], terms_[i] + 1)
                          : noise_->error_of_roundings(i, results[i], terms_[i]);
    }
  }

 private:
  const Noise* noise_;
  bool adds_;
  std::vector<std::int64_t> terms_;
  std::vector<double> squares_;
};

/// A copy of `data` in which element position_of(i) takes in element i of `updates`, one after the other.
template <class PositionOf>
Tensor scatter(const KernelContext& context, const Tensor& data, const Tensor& updates, ScatterReduction reduction,
               PositionOf position_of) {
  require(updates.type() == data.type(), "data and updates have different element types");
  Tensor y = data;
  dispatch_all(data.domain(), [&]<class T>(std::type_identity<T>) {
    const std::span<const T> from = updates.as<T>();
    const std::span<T> to = y.write<T>();
    constexpr bool is_real = std::is_same_v<T, double>;
    ScatterErrors errors(is_real ? context.noise() : nullptr, reduction, to.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      const auto at = static_cast<std::size_t>(position_of(static_cast<std::int64_t>(i)));
      if constexpr (is_real) errors.take_in(at, to[at], from[i]);
      to[at] = reduction == ScatterReduction::none ? from[i] : combine(reduction, to[at], from[i]);
    }
    if constexpr (is_real) errors.add_to(to);
  });
  return y;
}

}  // namespace onnxkit::reference
