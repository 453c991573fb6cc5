#include "libonnxkit/compare/outcome/tensor_forms.h"

#include <fmt/core.h>

namespace onnxkit::comparison {

Error shape_mismatch(const Tensor& a, const Tensor& b) {
  Error error = make_error("shape-mismatch", "the two tensors do not have the same shape");
  error.diagnostic.expected = type_text(a);
  error.diagnostic.found = type_text(b);
  return error;
}

Error undefined_for_type(std::string_view what, const Tensor& tensor) {
  Error error = make_error("undefined-for-type", fmt::format("{} are not available for this element type", what));
  error.diagnostic.found = type_text(tensor);
  return error;
}

Error outcome_shape(std::string_view what, std::string expected, const Tensor& tensor) {
  Error error = make_error("outcome-shape", fmt::format("the tensor does not have the shape of {}", what));
  error.diagnostic.expected = std::move(expected);
  error.diagnostic.found = type_text(tensor);
  return error;
}

}  // namespace onnxkit::comparison
