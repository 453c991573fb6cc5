#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "converters/foreign/export.h"
#include "converters/foreign/write_types.h"

// What the mappings to TensorFlow have in common. Operators and attributes are named as in TensorFlow; inputs come in its order.
namespace onnxkit::to_tensorflow {

using foreign::Dim;
using foreign::Given;
using foreign::Shape;
using foreign::Type;
using foreign::ValueId;
using foreign::WriteCall;

using foreign::broadcast_type;
using foreign::constant_integers;
using foreign::constant_reals;
using foreign::Ints;
using foreign::known_sizes;
using foreign::rank_of;
using foreign::shape_from;
using foreign::with_elem;
using foreign::with_shape;

/// How operators of ONNX are written with those of TensorFlow.
class Writers final : public foreign::Writers {};

/// The opset that the files in write/ read: models are brought there first. What newer opsets added is composed of older operators by then.
constexpr std::int64_t write_opset = 13;

// ---- constants

/// Axes, sizes and positions are int32.
ValueId numbers(WriteCall& call, const Ints& values);
ValueId number(WriteCall& call, std::int64_t value);
ValueId matrix(WriteCall& call, Ints dims, const Ints& values);
/// The sizes of a value, as a vector.
ValueId sizes_of(WriteCall& call, ValueId x, ElementType elem = ElementType::int32);
/// Whether a value of the graph has each of the sizes, or it is a constant.
bool are_computable(WriteCall& call, const Shape& sizes);
/// Sizes as a vector: a constant, or gathered from values that have them. Refuses what no value has.
ValueId sizes_vector(WriteCall& call, const Shape& sizes);

// ---- operators

ValueId unary(WriteCall& call, std::string_view op, ValueId x);
ValueId binary(WriteCall& call, std::string_view op, ValueId a, ValueId b);
ValueId binary(WriteCall& call, std::string_view op, ValueId a, double b);
ValueId compare(WriteCall& call, std::string_view op, ValueId a, ValueId b);
ValueId select(WriteCall& call, ValueId condition, ValueId a, ValueId b);
ValueId cast(WriteCall& call, ValueId x, ElementType elem);
ValueId transpose(WriteCall& call, ValueId x, const Ints& order);
/// 0, 1, ... with two places exchanged.
Ints swapped_axes(std::size_t rank, std::size_t a, std::size_t b);
/// To sizes of which more than one may be open.
ValueId reshape(WriteCall& call, ValueId x, const Shape& shape);
ValueId expand_dims(WriteCall& call, ValueId x, std::int64_t axis);
ValueId squeeze(WriteCall& call, ValueId x, const Ints& axes, Type type);
ValueId reduce(WriteCall& call, std::string_view op, ValueId x, const Ints& axes, bool keeps_axes = true);
ValueId concat(WriteCall& call, const std::vector<ValueId>& xs, std::int64_t axis, Type type);
ValueId gather(WriteCall& call, ValueId x, ValueId indices, std::int64_t axis, Type type);
ValueId fill(WriteCall& call, ValueId sizes, ValueId value, Type type);
/// Elements of that value around it. Nothing where all are 0.
ValueId pad(WriteCall& call, ValueId x, const Ints& begins, const Ints& ends, double value = 0);
/// A part that begins and ends there along each axis; an end of nullopt is the end of the axis.
ValueId part(WriteCall& call, ValueId x, const Ints& begins, const std::vector<std::optional<std::int64_t>>& ends,
             const Ints& strides, Type type);
/// 0, 1, ... up to a size, as a vector of int32.
ValueId counted(WriteCall& call, Dim size);

/// An input with its axes in another order: a constant where its numbers are stored, else a Transpose.
ValueId reordered(WriteCall& call, std::size_t input, const Ints& order);

/// Refuses other elements than float16, bfloat16, float32 and float64.
bool is_real(WriteCall& call, std::size_t input = 0);

}  // namespace onnxkit::to_tensorflow
