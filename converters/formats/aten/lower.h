#pragma once

#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "converters/foreign/write_call.h"
#include "converters/formats/aten/writers.h"

// What the mappings to ATen have in common.
namespace onnxkit::aten {

using foreign::Dim;
using foreign::Given;
using foreign::Shape;
using foreign::Type;
using foreign::ValueId;
using foreign::WriteCall;

/// The same type with other elements.
Type with_elem(Type type, ElementType elem);
/// A tensor of another shape.
Type with_shape(const Type& type, Shape shape);

/// A size as an argument: a constant, or a SymInt that is computed from sizes of values.
std::variant<std::int64_t, ValueId> size_argument(WriteCall& call, Dim size);
/// A list of sizes. Unknown ones are refused.
Given::Mixed size_arguments(WriteCall& call, const Shape& sizes);

ValueId cast(WriteCall& call, ValueId x, ElementType elem);
/// aten.permute
ValueId permute(WriteCall& call, ValueId x, std::vector<std::int64_t> order);
/// aten.unsqueeze and aten.squeeze of several axes, ascending and counted from the start of the longer shape.
ValueId unsqueeze(WriteCall& call, ValueId x, const std::vector<std::int64_t>& axes);
/// A tensor of known rank in another shape.
ValueId reshape(WriteCall& call, ValueId x, const Shape& shape);
/// An operator on one tensor whose result has its type.
ValueId unary(WriteCall& call, std::string_view op, ValueId x);
/// An operator on two tensors; `type` is that of the result.
ValueId binary(WriteCall& call, std::string_view op, ValueId a, ValueId b, Type type);
/// Adds `value` times alpha.
ValueId add_number(WriteCall& call, ValueId x, double value);
ValueId multiply_number(WriteCall& call, ValueId x, double value);

}  // namespace onnxkit::aten
