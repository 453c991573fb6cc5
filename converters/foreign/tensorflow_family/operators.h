#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "converters/foreign/export.h"
#include "converters/foreign/write_types.h"

// What the mappings to TensorFlow and to TensorFlow Lite have in common. Operators and attributes are named as in TensorFlow and written as the call's
// dialect says; names of TensorFlow Lite stand for themselves. Inputs come in TensorFlow's order; their names are in neither file.
namespace onnxkit::tensorflow_family {

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
using foreign::keeps_axes;
using foreign::known_sizes;
using foreign::rank_of;
using foreign::reduced_axes;
using foreign::shape_from;
using foreign::with_elem;
using foreign::with_shape;

/// How operators of ONNX are written, with the mappings that the frameworks have in common.
class Writers : public foreign::Writers {
 public:
  explicit Writers(const foreign::Dialect& dialect = {});
};

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
/// A shape that inference knows, else the input that has it.
ValueId shape_operand(WriteCall& call, std::size_t input, const Type& known);

// ---- operators

/// What the framework calls an operator or attribute of TensorFlow's.
std::string_view name_in_dialect(const WriteCall& call, std::string_view name);
ValueId emit(WriteCall& call, std::string_view op, std::vector<Given> given, Type type);
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
ValueId as_scalar(WriteCall& call, ValueId x);
ValueId expand_dims(WriteCall& call, ValueId x, std::int64_t axis);
ValueId squeeze(WriteCall& call, ValueId x, const Ints& axes, Type type);
ValueId reduce(WriteCall& call, std::string_view op, ValueId x, const Ints& axes, bool keeps = true);
/// The same of one axis or more; of none the value itself.
ValueId reduced(WriteCall& call, std::string_view op, ValueId x, const Ints& axes, bool keeps);
ValueId concat(WriteCall& call, const std::vector<ValueId>& xs, std::int64_t axis, Type type);
ValueId gather(WriteCall& call, ValueId x, ValueId indices, std::int64_t axis, Type type);
ValueId reversed(WriteCall& call, ValueId x, std::int64_t axis);
ValueId fill(WriteCall& call, ValueId sizes, ValueId value, Type type);
/// Elements of that value around it. Nothing where all are 0.
ValueId pad(WriteCall& call, ValueId x, const Ints& begins, const Ints& ends, double value = 0);
/// A part that begins and ends there along each axis; an end of nullopt is the end of the axis.
ValueId part(WriteCall& call, ValueId x, const Ints& begins, const std::vector<std::optional<std::int64_t>>& ends,
             const Ints& strides, Type type);

// ---- inputs and results of nodes

/// Integers in a type that all kernels have. Results are cast back, where they wrap as those of the narrow type do.
ValueId operand(WriteCall& call, std::size_t input);
/// In the type of the node's result.
void give(WriteCall& call, ValueId value);

// ---- parts of other mappings

/// Positions along an axis of that size, of which those below 0 count from its end.
ValueId positions_from_start(WriteCall& call, ValueId positions, ValueId size);
/// OneHot, whose negative axis counts those of the result.
void give_one_hot(WriteCall& call, ValueId places, ValueId depth, ValueId on, ValueId off);

/// A line that is cut off below 0 and above 1.
ValueId line_between(WriteCall& call, ValueId x, double slope, double offset);
/// Whether the shape of the result is one that can be stated or computed; then it is the result.
bool give_known_shape(WriteCall& call);
/// The sizes that Reshape is given, with those of its input where they are 0.
ValueId computed_sizes(WriteCall& call);

}  // namespace onnxkit::tensorflow_family
