#include "libonnxkit/compare/jumps.h"

#include "libonnxkit/compare/flips.h"
#include "libonnxkit/compare/verdict.h"

namespace onnxkit::comparison {

std::optional<WithoutJumps> without_jumps_of_edges(const Deviations& deviations) {
  const std::size_t samples = deviations.samples.size();
  Flips flips;
  JumpSizes of_samples, sizes;
  WithoutJumps left;
  for (std::size_t i = 0; i < deviations.compared.size(); ++i) {
    const double variance = std::max(deviations.variance[i], deviations.pooled);
    const auto is_jump = [&](double d) { return !(d * d <= healthy_largest * healthy_largest * variance); };
    std::size_t by_samples = 0;
    for (const auto& sample : deviations.samples) {
      if (!is_jump(sample[i])) continue;
      ++by_samples;
      of_samples.add(sample[i]);
    }
    flips.alone += by_samples == 1;
    const double d = deviations.compared[i];
    if (is_jump(d)) {
      ++flips.differing;
      flips.flipped += by_samples > 0;
      sizes.add(d);
    } else {
      ++left.others;
      left.rms += d * d / std::max(deviations.variance[i], deviations.pooled / 4);
      left.largest = std::max(left.largest, std::abs(d) / std::sqrt(variance));
    }
  }
  // Half of the samples flip what lies near an edge: few are missed, unlike those of rounding, one of which may always be (allowed_alone).
  flips.any = flips.alone > 0;
  if (flips.differing - flips.flipped > allowed_alone(flips, samples)) return std::nullopt;
  const double sigma = of_samples.rms() * std::sqrt(deviations.sides);
  if (sizes.rms() > healthy_rms * sigma || sizes.largest > std::max(3 * sigma, 2 * of_samples.largest))
    return std::nullopt;
  if (left.others > 0) left.rms = std::sqrt(left.rms / static_cast<double>(left.others));
  if (left.rms > rms_limit(left.others, deviations.sets)) return std::nullopt;
  left.jumps = flips.differing;
  return left;
}

}  // namespace onnxkit::comparison
