#include "libonnxkit/plan/integer_in.h"

#include <span>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::plan {

std::optional<std::int64_t> integer_in(const Value& value) {
  if (!value.is_tensor() || value.tensor.size() != 1) return std::nullopt;
  const Domain domain = domain_of(value.tensor.type());
  if (domain == Domain::boolean) return to_reals(value.tensor)[0] != 0 ? 1 : 0;
  if (domain != Domain::integer) return std::nullopt;
  std::int64_t number = 0;
  decode(value.tensor.type(), value.tensor.bytes(), std::span(&number, 1));
  return number;
}

}  // namespace onnxkit::plan
