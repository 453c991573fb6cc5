#pragma once

#include <cstdint>

namespace onnxkit::reference {

/// What an operator rounds inside, beyond contractions, which carry their own noise.
struct NoiseRule {
  enum class Length : std::uint8_t { one, reduced, last_axis, image };
  /// Roundings of each result, as multiples of its unit roundoff: 0 for operators that only move, pick or exactly compute numbers.
  double results = 2;
  /// Roundings that count relative to the first input, not to the result, since they happen before something cancels.
  double input = 0;
  Length length = Length::one;  ///< how many terms each result sums up
  /// Roundings of 1, whatever the result: of functions that approximations and 1 + x reach with an absolute error only.
  double absolute = 0;
  /// A contraction and little else, whose sums carry errors far beyond one rounding: results are rounded only where they are stored coarser.
  bool is_product = false;
  /// Multiplies matrices, of which the second input may be weights.
  bool takes_weights = false;
  /// Winograd's method may compute it.
  bool is_convolution = false;
  /// Its quantized results may be one step off.
  bool steps = false;
  /// Rounds reals inside although its first input holds integers, as others sum up exactly.
  bool rounds_beside_integers = false;

  constexpr bool operator==(const NoiseRule&) const = default;
};

/// The rules that operators share.
namespace noise {

/// A function of one or two roundings.
inline constexpr NoiseRule ordinary{};
/// Operators that move or pick numbers pass on that their numbers are rounded already; what they make up anew is ordinary.
inline constexpr NoiseRule moved = ordinary;
inline constexpr NoiseRule exact{0, 0};
inline constexpr NoiseRule arithmetic{1, 0};
inline constexpr NoiseRule transcendental{3, 0};
inline constexpr NoiseRule sum{1, 1, NoiseRule::Length::reduced};
inline constexpr NoiseRule gelu{.results = 4, .input = 1, .absolute = 4};
inline constexpr NoiseRule along_axis{4, 2, NoiseRule::Length::last_axis};
inline constexpr NoiseRule over_image{4, 2, NoiseRule::Length::image};
inline constexpr NoiseRule interpolation{2, 3};
inline constexpr NoiseRule terms{4, 4, NoiseRule::Length::last_axis};
inline constexpr NoiseRule product{.results = 0, .is_product = true};
inline constexpr NoiseRule matrix_product{.results = 0, .is_product = true, .takes_weights = true};
inline constexpr NoiseRule ordinary_product{.takes_weights = true};
inline constexpr NoiseRule convolution{.results = 0, .is_product = true, .is_convolution = true};
/// Sums over trees whose number the shapes do not tell.
inline constexpr NoiseRule trees{8, 0};
inline constexpr NoiseRule quantized{.steps = true};
inline constexpr NoiseRule beside_integers{.rounds_beside_integers = true};

}  // namespace noise
}  // namespace onnxkit::reference
