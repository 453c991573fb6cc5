#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "libonnxkit/base/system/thread_pool.h"
#include "onnxkit/diff.h"
#include "onnxkit/element_type.h"
#include "reference/executor/tensor.h"
#include "reference/kernels/product.h"
#include "reference/noise/noise_rule.h"

// How far the rounding of an arithmetic may move results (docs/noise-floor.md). A noisy run adds to each result a random error of the size
// that honest rounding in that node may have; several such runs show how far the outputs of a model may move.
namespace onnxkit::reference {

/// Where a profile rounds, as unit roundoffs: half the distance between neighbours, relative to the number.
struct Arithmetic {
  double sums;      ///< of partial sums in contractions
  double operands;  ///< of the operands of contractions; 0: they are taken as they are
  double results;   ///< of the results of nodes
  bool steps;       ///< quantized results may be one step off
  double weighted =
      0;  ///< of the operands of products with weights, over a power of two for each row and column; 0: as those of other contractions
  /// How many times larger the errors of sums are in a convolution that Winograd's method may compute.
  double winograd = 1;
};
Arithmetic arithmetic_of(Profile profile);

/// The random errors of one perturbed sample. Equal seeds and keys give equal errors, on any number of threads.
class Noise {
 public:
  /// All errors are `amplitude` times as large.
  Noise(Profile profile, std::uint64_t seed, double amplitude = 1)
      : profile_(arithmetic_of(profile)), arithmetic_(profile_), seed_(seed), amplitude_(amplitude) {}

  /// Of the node that runs.
  const Arithmetic& arithmetic() const { return arithmetic_; }
  /// Each node that runs has errors of its own; one on float64 those of double precision, whatever the profile.
  void next_node(bool is_double, bool has_weights = false) {
    ++nodes_;
    arithmetic_ = is_double ? double_arithmetic : profile_;
    if (!has_weights) arithmetic_.weighted = 0;
  }

  /// c = a b or c += a b with the errors of operands and sums. Any order of summation: sigma^2 = u^2/3 (n/3 y^2 + n/6 S), S being the sum of the squared
  /// products, here taken as (sum a^2)(sum b^2)/n. `factor` is how many times larger sigma is.
  void multiply(const Multiplier& with, MatrixView<const double> a, MatrixView<const double> b, MatrixView<double> c,
                bool accumulate, double factor = 1) const;
  /// Rounding errors of a node's results; numbers that the type holds exactly were not rounded. `summed`: as KernelContext::sums_over.
  void round_results(ThreadPool& threads, Tensor& results, const NoiseRule& rule, const Tensor* first_input,
                     std::optional<std::int64_t> summed) const;
  /// The first input with the relative errors that the rule names; numbers of few bits stay, as sums of them are exact.
  Tensor disturbed(ThreadPool& threads, const Tensor& input, double roundings) const;
  /// An input of float32 as an arithmetic with narrower results stores it; one with results of float32 takes it as it is.
  Tensor stored_input(ThreadPool& threads, const Tensor& input, std::uint64_t key) const;
  /// A copy of rows of `length` numbers as integers of 8 bits hold them, block by block of a row: steps of 1/127 of the greatest of a block.
  Tensor in_blocks_of_8_bits(ThreadPool& threads, const Tensor& rows, std::int64_t length, std::int64_t block) const;
  /// One rounding of a partial sum, relative to it, for kernels that round inside. Equal keys give equal errors.
  double error(std::uint64_t key) const;
  /// That of a sum of so many terms, in any order of summation, as of a product; `squares` is the sum of their squares. A sum that is held exactly has none.
  double error_of_sum(std::uint64_t key, double sum, double squares, std::int64_t terms) const;
  /// That of so many roundings of a number, none where sums hold it exactly.
  double error_of_roundings(std::uint64_t key, double number, std::int64_t count) const;
  /// A position that was computed in the precision of sums, and a weight of an interpolation there; positions
  /// that it holds exactly and weights of few bits are exact. The error of a position grows along the axis.
  double position(double exact, std::uint64_t key) const;
  double weight(double exact, std::uint64_t key) const;
  /// One step up or down for a part of quantized numbers.
  void shift_steps(Tensor& quantized) const;

 private:
  static constexpr Arithmetic double_arithmetic = {.sums = 0x1p-53, .operands = 0, .results = 0x1p-53, .steps = false};

  double error(std::uint64_t key, double unit) const;

  Arithmetic profile_, arithmetic_;
  std::uint64_t seed_;
  double amplitude_;
  std::uint64_t nodes_ = 0;
};

}  // namespace onnxkit::reference
