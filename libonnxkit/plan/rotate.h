#pragma once

#include "libonnxkit/plan/compose.h"

// Rotary positions: pairs of numbers of a head turned by angles that belong to their position.
namespace onnxkit::plan {

struct Angles {
  View cosines, sines;  ///< [batch, 1, rows, pairs]
};
/// Those at positions [batch, rows] of caches [n, pairs]. A position outside the caches ends the run with an error. Nothing where the sizes do not fit.
std::optional<Angles> angles_at(LowerCall& call, std::size_t cosine_cache, std::size_t sine_cache,
                                const View& positions);
/// x [batch, heads, rows, size] with its first 2 * pairs numbers turned: neighbours, or those half of them apart. In the order of axes of x.
View turned(LowerCall& call, const View& x, const Angles& angles, bool is_interleaved);

}  // namespace onnxkit::plan
