#pragma once

#include <string_view>

#include "converters/foreign/call.h"

namespace onnxkit::pt2 {

/// The type that PyTorch computes an operator of two operands in: of the higher kind (boolean, integer, floating), tensors with axes
/// before those without, those before Python's numbers. Missing operands count for nothing.
/// https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
ElementType promoted(foreign::Call& call, std::string_view a, std::string_view b);

/// The wider of two element types of tensors.
ElementType promoted(ElementType a, ElementType b);

/// Both operands in the type that PyTorch computes in.
struct Operands {
  foreign::Val a, b;
  ElementType type = ElementType::undefined;
};
Operands operands_of(foreign::Call& call, std::string_view a = "self", std::string_view b = "other");

/// A result in the type that the file declares: operators that write in place keep the type of what they write to.
foreign::Val as_declared(foreign::Call& call, foreign::Val value);

/// Argument `self`; integers as float32, in which transcendental functions of them are computed.
foreign::Val floating_operand(foreign::Call& call);

}  // namespace onnxkit::pt2
