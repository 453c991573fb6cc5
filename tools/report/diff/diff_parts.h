#pragma once

#include <optional>
#include <string>
#include <vector>

#include "onnxkit/diff.h"

// What the reports of `diff` share.
namespace onnxkit::tools {

/// "rounding (float32)"
/// Whether the most ulps are surely those of an element that is less than a hundredth of the tensor's range.
bool has_ulps_near_zero(const Metrics& metrics);

std::string verdict_text(Verdict verdict, std::optional<Profile> profile = {});

/// The measure of the profile that explains the deviation, else of the finest that was tried; null when none was.
const FloorMeasure* shown_floor(const OutputDiff& output);

/// "argmax differs in 3 of 8 rows"; empty when the outcome is the same or of no known kind.
std::string outcome_change(const onnxkit::Outcome& outcome);

/// Outputs of one name and one verdict, over the sets of inputs.
struct OutputGroup {
  /// The furthest off of every figure, means and rms over all elements; outcomes as `merge_outcome` says; reason and type of the first set. No
  /// plots, and of the metrics neither the mean relative deviation nor the regression nor the worst elements are of several sets.
  OutputDiff all;
  std::vector<std::size_t> outputs;  ///< their positions in the side's
  std::vector<std::string> sets;     ///< of inputs, in the same order
  std::string worst_set;             ///< that with the largest rms; empty where none is measured
  std::size_t worst_output = 0;      ///< its position in the side's; that of the first set where none is measured
  FloorMeasure worst;                ///< of that
};

/// In the order in which they first occur.
std::vector<OutputGroup> groups(const SideReport& side);

/// Adds the outcome of another set: rows of the confusion come together, figures called largest or lowest stay that, others are averaged, the IoU
/// by class is left out. `sets` is the number of those that `all` holds.
void merge_outcome(onnxkit::Outcome& all, const onnxkit::Outcome& other, std::size_t sets);

/// Of the measured runs; nothing when there are none, and for `cpu` when some run lacks it.
std::optional<double> median_wall(const SideReport& side);
std::optional<double> median_cpu(const SideReport& side);

/// "main / node 17 Conv "conv4""; of an input or output of a node the node.
std::string node_text(const Location& location);

/// "Conv "conv4", node 18 Relu and 3 more": by name or index.
std::string nodes_text(const std::vector<Location>& nodes);

/// The name of a set of inputs in quotes; of a long one the end is shown, which tells it from others.
std::string set_text(const std::string& name);

/// What the columns of sigmas mean.
inline constexpr std::string_view sigma_legend =
    "one sigma is how far rounding moves an element in this model, as perturbed runs show; rms over the elements / the "
    "largest";

/// Positions of the layers that were run alone, in their order: the culprits and, as long as there is room, those whose own deviation is largest.
std::vector<std::size_t> worst_layers(const std::vector<LayerDiff>& layers, std::size_t most);

/// The last lines of what a program printed, without control characters.
std::vector<std::string> last_lines(const std::string& log, std::size_t most);

}  // namespace onnxkit::tools
