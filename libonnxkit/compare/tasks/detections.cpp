#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "libonnxkit/compare/metrics/elements.h"
#include "libonnxkit/compare/outcome/task_registry.h"
#include "libonnxkit/compare/outcome/tensor_forms.h"

namespace onnxkit::comparison {
namespace {

struct Box {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;

  bool operator==(const Box&) const = default;
  double area() const { return (x2 - x1) * (y2 - y1); }
};

/// Corners may be given in either order.
Box box_of(double x1, double y1, double x2, double y2) {
  return {std::min(x1, x2), std::min(y1, y2), std::max(x1, x2), std::max(y1, y2)};
}

/// Area of the intersection over that of the union; 1 for boxes that are the same, also without area.
double overlap(const Box& a, const Box& b) {
  if (a == b) return 1;
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  if (!(width > 0 && height > 0)) return 0;
  const double both = width * height;
  return both / (a.area() + b.area() - both);
}

struct Match {
  std::size_t a = 0, b = 0;
  double overlap = 0;
};

struct Side {
  std::vector<Box> boxes;
  std::vector<double> scores;  ///< empty when there are none
  std::size_t samples = 1, in_sample = 0;
};

Result<Side> read_side(const Tensor& boxes, const Tensor& scores) {
  const auto& dims = boxes.dims();
  if (dims.empty() || dims.back() != 4) return outcome_shape("detections", "[..., 4]", boxes);
  Side side;
  const std::vector<double> corners = to_reals(boxes);
  for (std::size_t i = 0; i + 3 < corners.size(); i += 4)
    side.boxes.push_back(box_of(corners[i], corners[i + 1], corners[i + 2], corners[i + 3]));
  side.in_sample = dims.size() < 2 ? 1 : static_cast<std::size_t>(dims[dims.size() - 2]);
  side.samples = side.in_sample == 0 ? 0 : side.boxes.size() / side.in_sample;
  if (scores.size() == 0) return side;
  if (!are_numbers(scores.type())) return undefined_for_type("scores", scores);
  if (scores.size() != static_cast<std::int64_t>(side.boxes.size())) return shape_mismatch(boxes, scores);
  side.scores = to_reals(scores);
  return side;
}

/// Indices of one sample, the highest score first.
std::vector<std::size_t> by_score(const Side& side, std::size_t first) {
  std::vector<std::size_t> order(side.in_sample);
  std::iota(order.begin(), order.end(), first);
  if (side.scores.empty()) return order;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
    const double p = side.scores[x], q = side.scores[y];
    return std::isnan(q) ? !std::isnan(p) : p > q;
  });
  return order;
}

/// Each box of a takes the box of b that overlaps it most, by at least `least`, and is not yet taken.
void match_sample(const Side& a, const Side& b, std::size_t sample, double least, std::vector<Match>& matches) {
  // An overlap of t or more binds the left edges: x1 of b lies between x1 - width (1 - t) / t and x1 + width (1 - t) of a.
  std::vector<std::size_t> left(b.in_sample);
  std::iota(left.begin(), left.end(), sample * b.in_sample);
  std::erase_if(left, [&](std::size_t i) { return std::isnan(b.boxes[i].x1); });
  std::stable_sort(left.begin(), left.end(),
                   [&](std::size_t x, std::size_t y) { return b.boxes[x].x1 < b.boxes[y].x1; });
  std::vector<bool> taken(b.in_sample);
  for (const std::size_t i : by_score(a, sample * a.in_sample)) {
    const Box& box = a.boxes[i];
    const double width = (box.x2 - box.x1) * (1 + 1e-9);
    const double from = box.x1 - width * (1 - least) / least, until = box.x1 + width * (1 - least);
    std::optional<Match> best;
    auto at = std::lower_bound(left.begin(), left.end(), from,
                               [&](std::size_t x, double edge) { return b.boxes[x].x1 < edge; });
    for (; at != left.end() && b.boxes[*at].x1 <= until; ++at) {
      if (taken[*at - sample * b.in_sample]) continue;
      const double found = overlap(box, b.boxes[*at]);
      const bool better = !best || found > best->overlap || (found == best->overlap && *at < best->b);
      if (found >= least && better) best = Match{i, *at, found};
    }
    if (!best) continue;
    taken[best->b - sample * b.in_sample] = true;
    matches.push_back(*best);
  }
}

std::vector<Match> match(const Side& a, const Side& b, double least) {
  std::vector<Match> matches;
  for (std::size_t sample = 0; sample < std::min(a.samples, b.samples); ++sample)
    match_sample(a, b, sample, least, matches);
  return matches;
}

/// All sizes but the number of boxes.
std::vector<std::int64_t> outer_dims(const Tensor& boxes) {
  std::vector<std::int64_t> dims = boxes.dims();
  if (dims.size() > 1) dims.erase(dims.end() - 2);
  return dims;
}

Result<Outcome> measure_detections(const TaskInputs& inputs) {
  const auto& [a, b, a_scores, b_scores, threads] = inputs;
  const auto of_a = read_side(a, a_scores), of_b = read_side(b, b_scores);
  if (!of_a) return of_a.error();
  if (!of_b) return of_b.error();
  if (a.dims().size() != b.dims().size() || outer_dims(a) != outer_dims(b)) return shape_mismatch(a, b);
  const auto matches = match(*of_a, *of_b, 0.5);
  const std::size_t closer = match(*of_a, *of_b, 0.75).size();
  const std::size_t most = std::max(of_a->boxes.size(), of_b->boxes.size());
  const auto share = [&](std::size_t part) {
    return most == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(most);
  };
  Outcome outcome;
  outcome.same = matches.size() == most;
  outcome.figures = {{"matched at IoU 0.5", share(matches.size())}, {"matched at IoU 0.75", share(closer)}};
  if (!matches.empty()) {
    double sum = 0, furthest = 0;
    const bool scored = !of_a->scores.empty() && !of_b->scores.empty();
    for (const Match& pair : matches) {
      sum += pair.overlap;
      if (scored) furthest = std::max(furthest, std::abs(of_b->scores[pair.b] - of_a->scores[pair.a]));
    }
    outcome.figures.emplace_back("mean IoU of matches", sum / static_cast<double>(matches.size()));
    if (scored) outcome.figures.emplace_back("largest score difference of matches", furthest);
  }
  outcome.figures.emplace_back("boxes of a", static_cast<double>(of_a->boxes.size()));
  outcome.figures.emplace_back("boxes of b", static_cast<double>(of_b->boxes.size()));
  return outcome;
}

std::string detections_sentence(const Outcome& outcome) {
  if (outcome.same) return "the boxes are the same";
  const double lost = 1 - figure(outcome, "matched at IoU 0.5").value_or(1);
  return fmt::format("{:.3g} % of the boxes have no counterpart", 100 * lost);
}

}  // namespace

void register_detections(TaskRegistry& registry) {
  registry.add({.name = "detections",
                .meaning = "boxes [..., 4]; --scores names their scores",
                .measure = measure_detections,
                .sizes_may_differ = true,
                .sentence = detections_sentence});
}

}  // namespace onnxkit::comparison
