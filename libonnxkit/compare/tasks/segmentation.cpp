#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "libonnxkit/base/system/thread_pool.h"
#include "libonnxkit/compare/outcome/class_numbers.h"
#include "libonnxkit/compare/outcome/task_registry.h"
#include "libonnxkit/compare/outcome/tensor_forms.h"
#include "libonnxkit/compare/plots.h"

namespace onnxkit::comparison {
namespace {

struct Pixels {
  std::uint64_t in_a = 0, in_b = 0, in_both = 0;
};

class SegmentationOutcome {
 public:
  SegmentationOutcome(const ClassNumbers& a, const ClassNumbers& b)
      : a_(a), b_(b), tiles_((a.pixels() + Elements::most - 1) / Elements::most) {}

  /// False when a number is no class.
  bool run(int threads) {
    const auto tiles = static_cast<std::int64_t>(tiles_) * a_.batch();
    ThreadPool pool(tiles < 2 ? 1 : threads);
    pool.for_range(tiles, 16, [this](std::int64_t first, std::int64_t end) { compare_tiles(first, end); });
    return !bad_;
  }

  Outcome report() const {
    std::uint64_t total = 0, same = 0;
    std::vector<double> iou(std::max(classes_.size(), a_.classes()), -1);
    double sum = 0, lowest = 1;
    std::size_t occurring = 0;
    for (std::size_t k = 0; k < classes_.size(); ++k) {
      total += classes_[k].in_a;
      same += classes_[k].in_both;
      const std::uint64_t either = classes_[k].in_a + classes_[k].in_b - classes_[k].in_both;
      if (either == 0) continue;
      iou[k] = static_cast<double>(classes_[k].in_both) / static_cast<double>(either);
      sum += iou[k];
      lowest = std::min(lowest, iou[k]);
      ++occurring;
    }
    Outcome outcome;
    outcome.same = same == total;
    outcome.figures = {{"pixel agreement", total == 0 ? 1 : static_cast<double>(same) / static_cast<double>(total)},
                       {"mean IoU", occurring == 0 ? 1 : sum / static_cast<double>(occurring)},
                       {"lowest IoU of a class", lowest}};
    outcome.class_iou = std::move(iou);
    return outcome;
  }

 private:
  void compare_tiles(std::int64_t first, std::int64_t end) {
    std::vector<Pixels> classes;
    std::array<std::uint16_t, Elements::most> x, y;
    for (auto tile = static_cast<std::size_t>(first); tile < static_cast<std::size_t>(end) && !bad_; ++tile) {
      const std::size_t picture = tile / tiles_, at = tile % tiles_ * Elements::most;
      const std::size_t count = std::min(Elements::most, a_.pixels() - at);
      if (!a_.read(picture, at, std::span(x.data(), count)) || !b_.read(picture, at, std::span(y.data(), count))) {
        bad_ = true;
        return;
      }
      const std::size_t highest =
          std::max(*std::max_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(count)),
                   *std::max_element(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(count)));
      if (classes.size() <= highest) classes.resize(highest + 1);
      for (std::size_t i = 0; i < count; ++i) {
        ++classes[x[i]].in_a;
        ++classes[y[i]].in_b;
        if (x[i] == y[i]) ++classes[x[i]].in_both;
      }
    }
    const std::lock_guard lock(mutex_);
    if (classes_.size() < classes.size()) classes_.resize(classes.size());
    for (std::size_t k = 0; k < classes.size(); ++k) {
      classes_[k].in_a += classes[k].in_a;
      classes_[k].in_b += classes[k].in_b;
      classes_[k].in_both += classes[k].in_both;
    }
  }

  const ClassNumbers &a_, &b_;
  const std::size_t tiles_;  ///< of a picture
  std::atomic<bool> bad_ = false;
  std::mutex mutex_;
  std::vector<Pixels> classes_;
};

bool is_likely_segmentation(const Tensor& tensor) {
  const auto& dims = tensor.dims();
  return is_floating(tensor.type()) && dims.size() == 4 && dims[1] >= 2 && dims[1] <= 512 && dims[2] >= 8 &&
         dims[3] >= 8;
}

Result<Outcome> measure_segmentation(const TaskInputs& inputs) {
  const Tensor &a = inputs.a, &b = inputs.b;
  const auto of_a = ClassNumbers::of(a), of_b = ClassNumbers::of(b);
  if (!of_a) return of_a.error();
  if (!of_b) return of_b.error();
  SegmentationOutcome pixels(*of_a, *of_b);
  if (!pixels.run(inputs.threads)) return outcome_shape("a segmentation", "class numbers from 0 to 65535", a);
  return pixels.report();
}

std::string segmentation_sentence(const Outcome& outcome) {
  if (outcome.same) return "the classes of all pixels are the same";
  const double lost = 1 - figure(outcome, "pixel agreement").value_or(1);
  return fmt::format("{:.3g} % of the pixels have another class", 100 * lost);
}

}  // namespace

void register_segmentation(TaskRegistry& registry) {
  registry.add({.name = "segmentation",
                .meaning = "scores of classes for each pixel [batch, classes, height, width], or their numbers "
                           "[batch, height, width]",
                .is_likely = is_likely_segmentation,
                .measure = measure_segmentation,
                .sentence = segmentation_sentence,
                .maps = class_maps_of});
}

}  // namespace onnxkit::comparison
