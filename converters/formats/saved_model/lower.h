#pragma once

#include <string_view>
#include <vector>

#include "converters/foreign/channels_last.h"
#include "converters/foreign/slices.h"
#include "converters/formats/saved_model/mappings.h"

// What mappings of TensorFlow share: layouts and windows.
namespace onnxkit::saved_model {

using foreign::Call;
using foreign::OnnxBuilder;
using foreign::Val;
using foreign::Window;

/// Whether the attribute data_format says that channels come first.
bool is_channels_first(Call& call);
/// A value of the layout of the attribute data_format with channels first, and a result of it.
Val to_channels_first(Call& call, Val value);
void give_space(Call& call, Val value);
/// The first spatial axis of inputs.
std::size_t first_space(Call& call);

/// The spatial numbers of a list with a number for each axis of the layout; ones where it is missing.
std::vector<std::int64_t> spatial_numbers(Call& call, std::string_view name, std::size_t axes);
/// ONNX's pads of the attribute `explicit_paddings`, which states pairs for all axes; refuses another number.
std::vector<std::int64_t> explicit_pads(Call& call, std::size_t axes);
/// ONNX's attributes of a window, with the padding that the attributes `padding` and `explicit_paddings` state. `x` has the layout of the node.
std::vector<ir::Attr> window_attributes(Call& call, Val x, const Window& window);

/// A tensor with other axes; the same bytes where it is stored.
Val with_axes(OnnxBuilder& onnx, Val value, const std::vector<std::int64_t>& sizes);
/// The content of an input that must be known when converting, such as axes; refuses others.
std::vector<std::int64_t> known_integers(Call& call, std::string_view name);
/// The axis that an input states.
std::int64_t known_axis(Call& call, std::string_view name, std::size_t rank);
inline Val as_sizes(Call& call, std::string_view name) { return foreign::as_sizes(call.onnx, call.tensor(name)); }

}  // namespace onnxkit::saved_model
