#pragma once

#include <cstddef>
#include <cstdint>

namespace onnxkit::comparison {

/// How elements that rounding changes by a jump differ, and how often samples do.
struct Flips {
  std::uint64_t differing = 0;  ///< from what they are compared with
  std::uint64_t flipped = 0;    ///< of these, those that some sample flips, too
  std::uint64_t alone = 0;      ///< elements that exactly one sample flips, amplified ones apart
  bool any = false;             ///< some sample flips some element
};

/// How many elements may differ that none of so many samples flips: as many as one sample flips that no other does, four standard deviations of such a
/// count, and one at least where there are elements that rounding can flip.
std::uint64_t allowed_alone(const Flips& flips, std::size_t samples);

}  // namespace onnxkit::comparison
