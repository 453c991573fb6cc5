#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onnxkit/export.h"
#include "onnxkit/result.h"
#include "onnxkit/value.h"

// How far two tensors of the same shape are apart. `a` is the expected one, `b` the one that is compared with it, d = b - a. Everything is computed in double;
// unless said otherwise over the elements that are finite on both sides.
namespace onnxkit {

struct WorstElement {
  std::uint64_t index = 0;  ///< in row-major order
  double a = 0, b = 0;
};

struct Metrics {
  std::uint64_t elements = 0;        ///< of the tensor
  std::uint64_t compared = 0;        ///< finite on both sides
  std::uint64_t equal = 0;           ///< a = b; NaN equals NaN, an infinity the same infinity; of all elements
  std::uint64_t nan_mismatches = 0;  ///< NaN on one side only
  std::uint64_t inf_mismatches = 0;  ///< infinite on one side only, or with opposite signs
  std::uint64_t sign_flips = 0;      ///< a and b not zero and of opposite signs
  double max_absolute = 0;           ///< max |d|
  double mean_absolute = 0;          ///< mean |d|
  double rmse = 0;                   ///< sqrt(mean d^2)
  double max_relative = 0;           ///< max |d| / |a| where a is not 0
  double mean_relative = 0;          ///< mean |d| / |a| where a is not 0
  double range_relative = 0;  ///< max |d| / (max a - min a), or / max |a| where all a are the same; 0 when d is 0
  double cosine = 1;          ///< sum ab / sqrt(sum a^2 sum b^2); 1 when both are 0, 0 when one is
  /// Numbers representable in the coarser of the two element types that lie between a and b, both rounded to it, 1 from one number to the next; 0 where one
  /// type is no float, or float8e8m0 meets another.
  double max_ulps = 0, mean_ulps = 0;
  /// Least squares: b = alpha a + beta + residual. With all a equal alpha is 1. r2 = 1 - sum residual^2 / sum (b - mean b)^2; where all b are
  /// equal it is 1 when all a are, too, else 0.
  double alpha = 1, beta = 0, r2 = 1;
  double residual = 0;  ///< sqrt(mean residual^2)
  std::vector<WorstElement>
      worst;  ///< mismatches of NaN and infinity first, then by |d|; ties by index; equal elements are left out
};

/// Errors: shape-mismatch; undefined-for-type for strings and complex numbers.
ONNXKIT_API Result<Metrics> compare(const Tensor& a, const Tensor& b, std::size_t worst = 10);

/// What an output means to the people who use it. Each task is a file of libonnxkit/compare/tasks.
struct TaskInfo {
  std::string_view name;     ///< "logits", "segmentation", "detections", "tokens" ...
  std::string_view meaning;  ///< the tensors that it is for
};
inline constexpr std::string_view no_task = "none";

/// All of them, by name.
ONNXKIT_API std::vector<TaskInfo> tasks();
/// The task that shape and element type suggest: logits for floats [n, c] or [n, t, c] with at least two classes (of four
/// columns, which may be boxes, only where each row is of probabilities), segmentation for floats [n, c, h, w] with c from
/// 2 to 512 and h, w of at least 8, tokens for int32 and int64 of rank 1 and 2, else none. Detections are never guessed.
ONNXKIT_API std::string_view guess_task(const Tensor& tensor);

/// What became of the outcome. `figures` are named, in the order to print them, each from 0 to 1 unless its name says otherwise.
///   logits: "argmax agreement" and "top-5 agreement" (share of rows with the same set, for more than 5 classes), "mean KL divergence" and "largest KL divergence"
///     (nats, softmax of a against softmax of b; rows that are probabilities on both sides are only divided by their sum; rows without a softmax, for NaN or
///     +infinity, are left out). NaN ranks above all numbers
///   segmentation: "pixel agreement", "mean IoU", "lowest IoU of a class" over the classes that occur on either side
///   detections: "matched at IoU 0.5", "matched at IoU 0.75", "mean IoU of matches", "largest score difference of matches"; each box of a,
///     the highest score first, takes the free box of b in the same sample that it overlaps most; shares are of the larger number of boxes; "boxes of a", "boxes of b"
///   tokens: "token agreement", "sequence agreement" (rows equal as a whole), "first difference" (the lowest position within a sequence, absent when there is none)
struct Outcome {
  std::string task{no_task};
  bool same = true;  ///< argmax, classes of pixels, matched boxes at 0.5, tokens: all the same
  std::vector<std::pair<std::string, double>> figures;
  /// Segmentation: IoU by class, -1 for classes that do not occur; logits: the confusion of argmax as [class of a, class of b, count] triples,
  /// the most frequent first, at most 1,000.
  std::vector<double> class_iou;
  std::vector<std::array<std::uint64_t, 3>> confusion;
};

/// `a_scores` and `b_scores`: scores of detections, one per box; may be empty. Errors: unknown-option for a task that there is not, shape-mismatch (boxes may differ in number),
/// undefined-for-type, and outcome-shape when the tensor does not have the form that the task asks for.
ONNXKIT_API Result<Outcome> outcome(std::string_view task, const Tensor& a, const Tensor& b,
                                    const Tensor& a_scores = {}, const Tensor& b_scores = {});

/// "argmax differs in 3 of 8 rows", or "argmax is the same"; empty without a task.
ONNXKIT_API std::string sentence_of(const Outcome& outcome);

}  // namespace onnxkit
