#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "converters/foreign/export.h"
#include "converters/foreign/write_types.h"

// What the mappings to TensorFlow Lite have in common. Operators, inputs and options are named as in the mappings of the reader and in tflite.fbs.
namespace onnxkit::to_tflite {

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

/// How operators of ONNX are written with those of TensorFlow Lite.
class Writers final : public foreign::Writers {};

/// The opset that the files in write/ read: models are brought there first. What newer opsets added is composed of older operators by then.
constexpr std::int64_t write_opset = 13;

enum Padding : std::int64_t { same = 0, valid = 1 };

// ---- constants

/// Axes, sizes and positions are int32.
ValueId numbers(WriteCall& call, const Ints& values);
ValueId matrix(WriteCall& call, Ints dims, const Ints& values);
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
/// To sizes of which more than one may be open.
ValueId reshape(WriteCall& call, ValueId x, const Shape& shape);
ValueId reduce(WriteCall& call, std::string_view op, ValueId x, Ints axes, bool keeps_axes = true);
ValueId concat(WriteCall& call, const std::vector<ValueId>& xs, std::int64_t axis, Type type);
/// Elements of that value around it. Nothing where all are 0.
ValueId pad(WriteCall& call, ValueId x, const Ints& begins, const Ints& ends, double value = 0);
/// A part that begins and ends there along each axis; an end of nullopt is the end of the axis.
ValueId part(WriteCall& call, ValueId x, const Ints& begins, const std::vector<std::optional<std::int64_t>>& ends,
             const Ints& strides, Type type);

/// Scale and zero point of a QuantizeLinear or DequantizeLinear node, which are constants; else refuses.
std::optional<foreign::Quantization> quantization_from(WriteCall& call, const WriteCall& parameters, std::int64_t axis);
/// Integers as real numbers, by scale and zero point of a DequantizeLinear node.
ValueId dequantize(WriteCall& call, const WriteCall& parameters, ValueId integers, std::int64_t axis);

/// An input as a constant with its axes in another order: stored numbers, or stored integers that DequantizeLinear reads. Otherwise a TRANSPOSE.
ValueId reordered(WriteCall& call, std::size_t input, const Ints& order);

}  // namespace onnxkit::to_tflite
