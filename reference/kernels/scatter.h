#pragma once

#include <string_view>

#include "reference/executor/tensor.h"
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

/// A copy of `data` in which element position_of(i) takes in element i of `updates`, one after the other.
template <class PositionOf>
Tensor scatter(const Tensor& data, const Tensor& updates, ScatterReduction reduction, PositionOf position_of) {
  require(updates.type() == data.type(), "data and updates have different element types");
  Tensor y = data;
  dispatch_all(data.domain(), [&]<class T>(std::type_identity<T>) {
    const std::span<const T> from = updates.as<T>();
    const std::span<T> to = y.write<T>();
    for (std::size_t i = 0; i < from.size(); ++i) {
      T& element = to[static_cast<std::size_t>(position_of(static_cast<std::int64_t>(i)))];
      element = reduction == ScatterReduction::none ? from[i] : combine(reduction, element, from[i]);
    }
  });
  return y;
}

}  // namespace onnxkit::reference
