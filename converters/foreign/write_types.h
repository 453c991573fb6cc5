#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "converters/foreign/write_call.h"

// Types and constants, as mappings from ONNX to any framework look at them.
namespace onnxkit::foreign {

using Ints = std::vector<std::int64_t>;

Type with_elem(Type type, ElementType elem);
Type with_shape(const Type& type, Shape shape);
/// The shape that two values broadcast to, unknown where a rank is.
Type broadcast_type(WriteCall& call, ValueId a, ValueId b);
Shape shape_from(const Ints& dims);
/// The sizes, when all are constants.
std::optional<Ints> known_sizes(const Type& type);
/// Refuses when the rank is unknown, and gives 0.
std::size_t rank_of(WriteCall& call, ValueId value);

/// The elements of an input that is a constant of whatever size.
std::optional<std::vector<double>> constant_reals(WriteCall call, std::size_t input);
std::optional<Ints> constant_integers(WriteCall call, std::size_t input);

/// The axes of a reduction: all where the node names none, unless it then does nothing. Refuses those that are not constant.
std::optional<Ints> reduced_axes(WriteCall& call);
bool keeps_axes(const WriteCall& call);

/// An operator of ONNX and the one of the framework that does the same.
using OperatorNames = std::pair<std::string_view, std::string_view>;

/// What the node's operator is called there. Precondition: it is one of them.
template <std::size_t N>
std::string_view counterpart(const OperatorNames (&names)[N], const WriteCall& call) {
  return std::find_if(std::begin(names), std::end(names),
                      [&](const OperatorNames& n) { return n.first == call.node.op_type.view(); })
      ->second;
}

}  // namespace onnxkit::foreign
