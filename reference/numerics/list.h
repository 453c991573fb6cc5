#pragma once

#include <algorithm>

#include "reference/executor/kernel.h"

namespace onnxkit::reference {

/// A list as a tensor of one axis; T is the type of the domain of `type`.
template <class T, class List>
Tensor list(const KernelContext& context, ElementType type, const List& values) {
  Tensor tensor = context.make(type, {static_cast<std::int64_t>(values.size())});
  std::transform(values.begin(), values.end(), tensor.write<T>().begin(), [](const auto& x) { return T(x); });
  return tensor;
}

}  // namespace onnxkit::reference
