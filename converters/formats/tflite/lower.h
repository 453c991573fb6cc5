#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "converters/foreign/channels_last.h"
#include "converters/formats/tflite/mappings.h"

// What mappings of TensorFlow Lite share: quantized values, fused activations, layouts and paddings.
namespace onnxkit::tflite {

using foreign::Call;
using foreign::OnnxBuilder;
using foreign::Val;

using foreign::Quantization;

// ---- values

/// What the file says of it; null for real numbers.
const Quantization* quantization_of(const foreign::Value* value);

/// An input as real numbers: what is quantized passes DequantizeLinear.
Val real(Call& call, std::string_view name);
std::vector<Val> reals(Call& call, std::string_view name);
/// A quantized input with one scale as real numbers, with another scale.
Val real_of_scale(Call& call, std::string_view name, float scale);
/// The same for stored weights, which are transposed first and then get axes of one element at the end.
Val weights(Call& call, std::string_view name, const std::vector<std::int64_t>& permutation,
            std::size_t further_axes = 0);
/// An input that is only moved about: as it is stored if the result is quantized like it, else as real numbers.
Val movable(Call& call, std::string_view name);
/// The same for all inputs of a list; all as they are stored, or none.
std::vector<Val> movables(Call& call, std::string_view name);
/// Sizes, axes or positions, as a vector of int64.
Val as_sizes(Call& call, std::string_view name);

/// Real numbers as integers.
Val quantized(OnnxBuilder& onnx, Val value, const Quantization& quantization, ElementType elem);
/// The results of the node: numbers become quantized, and take the declared type, where the file says so.
void give(Call& call, const std::vector<Val>& values);
inline void give(Call& call, Val value) { give(call, std::vector<Val>{value}); }
/// After the activation that is fused into the node.
void give_activated(Call& call, Val value);
Val activated(Call& call, Val value);

// ---- layouts

using foreign::channels_first;
using foreign::channels_last;
/// `give_activated` for a value with channels first.
void give_channels_first(Call& call, Val value);

// ---- windows

using foreign::Window;
/// The options stride_*, dilation_*_factor of `axes` ("h", "w"), checked.
Window window_of(Call& call, std::vector<std::int64_t> kernel, std::initializer_list<std::string_view> axes);
/// ONNX's attributes of a window over `x`, whose channels are last; `padding` 0 is SAME, 1 VALID.
std::vector<ir::Attr> window_attributes(Call& call, Val x, const Window& window);

}  // namespace onnxkit::tflite
