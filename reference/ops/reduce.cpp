// Reductions over axes, the greatest or least of one axis (ArgMax, ArgMin) and cumulative sums and products along one.
//
// Reductions: Until version 12 (ReduceSum) or 17 (the others) `axes` is an attribute, then an input. No axes, or an empty list, means
// all of them, unless noop_with_empty_axes asks for none; the element function then still applies.
#include <cmath>
#include <limits>

#include "reference/kernels/axes.h"
#include "reference/kernels/derivatives.h"
#include "reference/noise/noise.h"
#include "reference/numerics/arithmetic.h"

namespace onnxkit::reference {
namespace {

template <class F>
void reduce_with(KernelContext& context, F dispatch) {
  const Tensor& x = context.input(0);
  const std::vector<std::int64_t> axes = reduced_axes(context, context.find_input(1), x.rank());
  context.set_output(0, dispatch(x, axes, context.integer("keepdims", 1) == 1));
}

/// f takes a slice of numbers; sums of float64 get an accumulator of twice the precision.
template <auto f>
void numbers_reduce(KernelContext& context) {
  reduce_with(context, [&](const Tensor& x, std::span<const std::int64_t> axes, bool keep) {
    return dispatch_numbers(x.domain(), [&]<class T>(std::type_identity<T>) {
      return reduce<T, T>(context, x, axes, keep, x.type(), [](ReductionSlice<T> slice) {
        const auto result = f(slice);
        if constexpr (std::is_same_v<decltype(f(slice)), double>)
          return from_real<T>(result);
        else
          return result;
      });
    });
  });
}

template <class T>
struct Sum {
  T total = T();
  void add(T x) { total = reference::add(total, x); }
  T value() const { return total; }
};
template <>
struct Sum<double> : ExactSum {};

template <class T, class F>
T sum_reduce(const ReductionSlice<T>& slice, F element) {
  Sum<T> total;
  for (const T x : slice) total.add(element(x));
  return total.value();
}

constexpr auto identity_reduce = [](auto x) { return x; };
constexpr auto square = [](auto x) { return multiply(x, x); };
constexpr auto magnitude = [](auto x) { return x < 0 ? negate(x) : x; };

constexpr auto reduce_sum = []<class T>(const ReductionSlice<T>& slice) { return sum_reduce(slice, identity_reduce); };
constexpr auto reduce_l1 = []<class T>(const ReductionSlice<T>& slice) { return sum_reduce(slice, magnitude); };
constexpr auto reduce_sum_square = []<class T>(const ReductionSlice<T>& slice) { return sum_reduce(slice, square); };
constexpr auto reduce_l2 = []<class T>(const ReductionSlice<T>& slice) {
  return std::sqrt(static_cast<double>(sum_reduce(slice, square)));
};
constexpr auto reduce_mean = []<class T>(const ReductionSlice<T>& slice) {
  return divide(sum_reduce(slice, identity_reduce), static_cast<T>(slice.size()));
};
constexpr auto reduce_prod = []<class T>(const ReductionSlice<T>& slice) {
  T product = 1;
  for (const T x : slice) product = multiply(product, x);
  return product;
};
constexpr auto reduce_log_sum = []<class T>(const ReductionSlice<T>& slice) {
  return std::log(static_cast<double>(sum_reduce(slice, identity_reduce)));
};
constexpr auto reduce_log_sum_exp = []<class T>(const ReductionSlice<T>& slice) {
  double most = -std::numeric_limits<double>::infinity();
  for (const T x : slice) most = greater_of(most, static_cast<double>(x));
  if (!std::isfinite(most)) return most;
  double total = 0;
  for (const T x : slice) total += std::exp(static_cast<double>(x) - most);
  return most + std::log(total);
};

/// What a reduction of nothing gives: the least number of the type for max, the greatest for min.
template <class T>
T least_or_greatest(ElementType type, bool least) {
  if constexpr (std::is_same_v<T, double>) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return least ? -infinity : infinity;
  } else if constexpr (std::is_same_v<T, bool>) {
    return !least;
  } else {
    if (type == ElementType::uint64 && !least) return std::numeric_limits<T>::max();
    return static_cast<T>(least ? least_of(type) : greatest_of(type));
  }
}

template <bool is_max>
void extreme(KernelContext& context) {
  reduce_with(context, [&](const Tensor& x, std::span<const std::int64_t> axes, bool keep) {
    return dispatch_scalars(x.domain(), [&]<class T>(std::type_identity<T>) {
      const T start = least_or_greatest<T>(x.type(), is_max);
      return reduce<T, T>(context, x, axes, keep, x.type(), [start](ReductionSlice<T> slice) {
        T best = start;
        for (const T value : slice) best = is_max ? greater_of(best, value) : lesser_of(best, value);
        return best;
      });
    });
  });
}

/// The first index of the extreme, or the last one with select_last_index (from version 12). NaN is more extreme than any number.
template <bool is_max>
void arg_extreme(KernelContext& context) {
  const Tensor& x = context.input(0);
  const std::int64_t axis = normalize_axis(context.integer("axis"), x.rank());
  const bool last = context.integer("select_last_index") != 0;
  Dims dims = x.dims();
  dims[static_cast<std::size_t>(axis)] = 1;
  Tensor y = context.make(ElementType::int64, dims);
  require(x.dim(axis) > 0 || y.size() == 0, "an empty axis has no minimum or maximum");
  dispatch_numbers(x.domain(), [&]<class T>(std::type_identity<T>) {
    for_each_strided_row<T, std::int64_t>(context, x, y, axis,
                                          [&](StridedRow<const T> from, StridedRow<std::int64_t> to) {
                                            const auto beats = [&](const T& a, const T& b) {
                                              if constexpr (std::is_same_v<T, double>) {
                                                if (std::isnan(a) || std::isnan(b)) return !std::isnan(b);
                                              }
                                              return is_max ? a > b : a < b;
                                            };
                                            std::int64_t best = 0;
                                            for (std::int64_t i = 1; i < from.size(); ++i) {
                                              if (beats(from[i], from[best]) || (last && !beats(from[best], from[i])))
                                                best = i;
                                            }
                                            to[0] = best;
                                          });
  });
  if (context.integer("keepdims", 1) != 1) dims.erase(dims.begin() + axis);
  context.set_output(0, y.reshaped(std::move(dims)));
}

template <class T>
struct Product {
  T total = 1;
  void add(T x) { total = multiply(total, x); }
  T value() const { return total; }
};

/// What roundings of running totals add up to, in a noisy run: those of sums as they are, those of products relative to the total.
class RunningError {
 public:
  RunningError(const Noise* noise, bool is_relative) : noise_(noise), is_relative_(is_relative) {}

  double with_error(double total, std::uint64_t key) {
    if (!noise_) return total;
    const double error = noise_->error_of_roundings(key, total, 1);
    if (error != 0) error_ += is_relative_ ? error / total : error;
    return is_relative_ ? total * (1 + error_) : total + error_;
  }

 private:
  const Noise* noise_;
  bool is_relative_;
  double error_ = 0;
};

/// Running totals; `exclusive` leaves out the element itself, `reverse` starts at the end.
template <template <class> class Total>
void cumulative(KernelContext& context) {
  const Tensor& x = context.input(0);
  const std::int64_t axis = normalize_axis(context.input(1).integer(), x.rank());
  const bool exclusive = context.integer("exclusive") != 0, reverse = context.integer("reverse") != 0;
  Tensor y = context.make(x.type(), x.dims());
  if (x.size() > 0) {
    dispatch_numbers(x.domain(), [&]<class T>(std::type_identity<T>) {
      for_each_strided_row<T, T>(context, x, y, axis, [&](StridedRow<const T> from, StridedRow<T> to) {
        Total<T> total;
        RunningError error(context.noise(), std::is_same_v<Total<double>, Product<double>>);
        const auto value = [&](std::int64_t i) -> T {
          if constexpr (std::is_same_v<T, double>)
            return error.with_error(total.value(), static_cast<std::uint64_t>(&from[i] - x.as<double>().data()));
          else
            return total.value();
        };
        for (std::int64_t k = 0; k < from.size(); ++k) {
          const std::int64_t i = reverse ? from.size() - 1 - k : k;
          if (exclusive) to[i] = value(i);
          total.add(from[i]);
          if (!exclusive) to[i] = value(i);
        }
      });
    });
  }
  context.set_output(0, std::move(y));
}

}  // namespace

void register_reduce(KernelRegistry& registry) {
  registry.add("ReduceSum", all_versions(), numbers_reduce<reduce_sum>,
               {.noise = noise::sum, .derivative = derivative::reduce_sum});
  registry.add("ReduceMean", all_versions(), numbers_reduce<reduce_mean>,
               {.noise = noise::sum, .derivative = derivative::reduce_mean});
  registry.add("ReduceProd", all_versions(), numbers_reduce<reduce_prod>, {.noise = noise::sum});
  registry.add("ReduceL1", all_versions(), numbers_reduce<reduce_l1>, {.noise = noise::sum});
  registry.add("ReduceL2", all_versions(), numbers_reduce<reduce_l2>, {.noise = noise::sum});
  registry.add("ReduceSumSquare", all_versions(), numbers_reduce<reduce_sum_square>, {.noise = noise::sum});
  registry.add("ReduceLogSum", all_versions(), numbers_reduce<reduce_log_sum>, {.noise = noise::sum});
  registry.add("ReduceLogSumExp", all_versions(), numbers_reduce<reduce_log_sum_exp>,
               {.noise = NoiseRule{.results = 3, .input = 2, .length = NoiseRule::Length::reduced}});
  registry.add("ReduceMax", all_versions(), extreme<true>, {.noise = noise::exact});
  registry.add("ReduceMin", all_versions(), extreme<false>, {.noise = noise::exact});
  registry.add("ArgMax", all_versions(), arg_extreme<true>);
  registry.add("ArgMin", all_versions(), arg_extreme<false>);
  registry.add("CumSum", all_versions(), cumulative<Sum>, {.noise = noise::ordinary});
  registry.add("CumProd", all_versions(), cumulative<Product>, {.noise = noise::ordinary});
}

}  // namespace onnxkit::reference
