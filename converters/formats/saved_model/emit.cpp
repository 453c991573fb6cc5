#include "converters/formats/saved_model/emit.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::to_tensorflow {

ValueId counted(WriteCall& call, Dim size) {
  if (size.is_constant() && size.constant() <= 4096) {
    Ints places(static_cast<std::size_t>(std::max<std::int64_t>(size.constant(), 0)));
    std::iota(places.begin(), places.end(), 0);
    return numbers(call, places);
  }
  const ValueId limit = as_scalar(call, sizes_vector(call, {size}));
  return call.emit("Range", {{"start", number(call, 0)}, {"limit", limit}, {"delta", number(call, 1)}},
                   Type::tensor(ElementType::int32, {size}));
}

ValueId reordered(WriteCall& call, std::size_t input, const Ints& order) {
  if (std::is_sorted(order.begin(), order.end())) return call.input(input);
  if (const auto stored = call.stored(input)) return call.permuted(*stored, order);
  return transpose(call, call.input(input), order);
}

bool is_real(WriteCall& call, std::size_t input) {
  const ElementType elem = call.elem(input);
  const bool is = elem == ElementType::float16 || elem == ElementType::bfloat16 || elem == ElementType::float32 ||
                  elem == ElementType::float64;
  if (!is) call.refuse(fmt::format("its kernel does not take {}", name_of(elem)), "cast it to float32 before");
  return is;
}

}  // namespace onnxkit::to_tensorflow
