#pragma once

#include <string>
#include <string_view>

#include "onnxkit/result.h"
#include "onnxkit/value.h"

// Errors of functions that take two tensors of a certain form.
namespace onnxkit::comparison {

Error shape_mismatch(const Tensor& a, const Tensor& b);
/// `what` is undefined for tensors of that type.
Error undefined_for_type(std::string_view what, const Tensor& tensor);
/// The tensor does not have the form that `what` asks for.
Error outcome_shape(std::string_view what, std::string expected, const Tensor& tensor);

}  // namespace onnxkit::comparison
