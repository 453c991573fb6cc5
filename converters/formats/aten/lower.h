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
using foreign::with_elem;
using foreign::with_shape;
using foreign::WriteCall;

using Int = std::int64_t;
using Ints = std::vector<Int>;

/// Whether the size is a constant or can be computed from sizes of values.
bool is_computable(WriteCall& call, Dim size);
bool are_computable(WriteCall& call, const Shape& sizes);
/// A size as an argument: a constant, or a SymInt that is computed from sizes of values.
std::variant<std::int64_t, ValueId> size_argument(WriteCall& call, Dim size);
/// A list of sizes. Unknown ones are refused.
Given::Mixed size_arguments(WriteCall& call, const Shape& sizes);
/// The integers of a vector as arguments, read from it while the model runs where they cannot be computed otherwise. Refuses where their number is not
/// known.
Given::Mixed integer_arguments(WriteCall& call, std::size_t input);
/// The integer that an input with one element holds.
std::variant<std::int64_t, ValueId> integer_argument(WriteCall& call, std::size_t input);
/// The integer in a tensor of one element, which is read while the model runs.
ValueId item(WriteCall& call, ValueId x, Dim size);

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
ValueId add_number(WriteCall& call, ValueId x, double value);
ValueId multiply_number(WriteCall& call, ValueId x, double value);
/// A number as an argument that suits elements of that type.
Given number(std::string_view name, ElementType elem, double value);
/// "aten.lt.Scalar" and the like.
ValueId compare_number(WriteCall& call, std::string_view op, ValueId x, double value);
ValueId where(WriteCall& call, ValueId condition, ValueId a, ValueId b, Type type);
ValueId clamp(WriteCall& call, ValueId x, double low, double high);

/// The part [begin, end) of an axis. `size` is that of the result.
ValueId slice(WriteCall& call, ValueId x, Int axis, Int begin, Int end, Dim size = {});
/// The place `index` of an axis, which goes.
ValueId select(WriteCall& call, ValueId x, Int axis, Int index);
ValueId flip(WriteCall& call, ValueId x, Int axis);
ValueId concat(WriteCall& call, std::vector<ValueId> parts, Int axis, Type type);
/// An operator with the arguments self, dim and keepdim.
ValueId reduce(WriteCall& call, std::string_view op, ValueId x, const Ints& axes, bool keeps,
               ElementType sum_elem = {});
ValueId full(WriteCall& call, const Shape& shape, double value, ElementType elem);
/// Filled with a size.
ValueId full(WriteCall& call, const Shape& shape, Dim value, ElementType elem);
/// Sizes as an int64 vector.
ValueId sizes_tensor(WriteCall& call, const Shape& sizes);
/// 0, 1, 2 ... in int64.
ValueId count_up(WriteCall& call, Dim size);
/// Refuses element types for which PyTorch has storage but no arithmetic.
bool has_arithmetic(WriteCall& call, ElementType elem);

}  // namespace onnxkit::aten
