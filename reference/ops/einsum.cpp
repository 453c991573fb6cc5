// Einsum: "ij,jk->ik". A letter stands for one axis, "..." for those that are broadcast; without "->" the result has the ellipsis and then
// the letters that occur once, in ASCII order. Operands are multiplied from left to right, each time as a stack of matrix products.
#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/core.h>

#include "reference/kernels/axes.h"
#include "reference/kernels/broadcast.h"
#include "reference/kernels/contract.h"
#include "reference/kernels/select.h"
#include "reference/noise/noise.h"
#include "reference/numerics/arithmetic.h"

namespace onnxkit::reference {
namespace {

/// A letter, or an axis of the ellipsis: `ellipsis` for the last, one more for each before it.
using Label = int;
using Labels = std::vector<Label>;
constexpr Label ellipsis = 256;

bool has(const Labels& labels, Label label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }

/// The ellipsis becomes `hidden` axes.
Labels parse_term(std::string_view text, std::int64_t hidden) {
  Labels labels;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (text.substr(i, 3) == "...") {
      for (std::int64_t k = hidden; k-- > 0;) labels.push_back(ellipsis + static_cast<Label>(k));
      i += 2;
    } else {
      require(('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z'), "the equation contains more than letters and ellipses");
      labels.push_back(c);
    }
  }
  return labels;
}

std::vector<std::string_view> split_terms(std::string_view text) {
  std::vector<std::string_view> terms;
  for (;;) {
    const std::size_t comma = text.find(',');
    terms.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return terms;
    text.remove_prefix(comma + 1);
  }
}

Labels implicit_result(const std::vector<Labels>& operands, std::int64_t hidden) {
  std::map<Label, int> count;
  for (const Labels& labels : operands) {
    for (const Label label : labels) ++count[label];
  }
  Labels result = parse_term("...", hidden);
  for (const auto& [label, times] : count) {
    if (label < ellipsis && times == 1) result.push_back(label);
  }
  return result;
}

/// A tensor with a name for each axis.
struct Operand {
  Tensor tensor;
  Labels labels;
};

/// Axes with the same label become one, the diagonal of theirs.
Operand diagonal(const KernelContext& context, const Operand& x) {
  Operand result{x.tensor, {}};
  Dims dims;
  std::vector<std::int64_t> strides;
  const std::vector<std::int64_t> steps = strides_of(x.tensor.dims());
  for (std::size_t axis = 0; axis < x.labels.size(); ++axis) {
    const auto known = std::find(result.labels.begin(), result.labels.end(), x.labels[axis]);
    const std::int64_t size = x.tensor.dims()[axis];
    if (known == result.labels.end()) {
      result.labels.push_back(x.labels[axis]);
      dims.push_back(size);
      strides.push_back(steps[axis]);
    } else {
      const auto at = static_cast<std::size_t>(known - result.labels.begin());
      require(dims[at] == size, "an index stands for different sizes of one operand");
      strides[at] += steps[axis];
    }
  }
  if (result.labels.size() < x.labels.size()) result.tensor = strided(context, x.tensor, dims, strides);
  return result;
}

/// Without the axes of size 1 that another operand has a larger size for.
Operand without_repeated(const Operand& x, const std::map<Label, std::int64_t>& sizes) {
  Operand result{x.tensor, {}};
  Dims dims;
  for (std::size_t axis = 0; axis < x.labels.size(); ++axis) {
    if (x.tensor.dims()[axis] != sizes.at(x.labels[axis])) continue;
    result.labels.push_back(x.labels[axis]);
    dims.push_back(x.tensor.dims()[axis]);
  }
  result.tensor = x.tensor.reshaped(dims);
  return result;
}

/// What roundings of sums of so many terms add up to in a noisy run; `squares` are the sums of the terms' squares.
void add_errors_of_sums(const KernelContext& context, Tensor& sums, const Tensor& squares, std::int64_t terms) {
  const std::span<double> y = sums.write<double>();
  const std::span<const double> squared = squares.as<double>();
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::uint64_t key = (static_cast<std::uint64_t>(terms) << 32) + i;
    y[i] += context.noise()->error_of_sum(key, y[i], squared[i], terms);
  }
}

Tensor squares_of(const KernelContext& context, const Tensor& x) {
  return map<double, double>(context, x, x.type(), [](double v) { return v * v; });
}

/// Sums over the axes whose label is not in `kept`.
Operand sum_others(const KernelContext& context, const Operand& x, const Labels& kept) {
  Operand result{x.tensor, {}};
  std::vector<std::int64_t> axes;
  for (std::size_t axis = 0; axis < x.labels.size(); ++axis) {
    if (has(kept, x.labels[axis]))
      result.labels.push_back(x.labels[axis]);
    else
      axes.push_back(static_cast<std::int64_t>(axis));
  }
  if (axes.empty()) return result;
  const auto sums = [&]<class T>(const Tensor& terms) {
    return reduce<T, T>(context, terms, axes, false, terms.type(), [](const ReductionSlice<T>& slice) {
      if constexpr (std::is_same_v<T, double>) {
        ExactSum sum;
        for (const T v : slice) sum.add(v);
        return sum.value();
      } else {
        return std::accumulate(slice.begin(), slice.end(), T(), [](T a, T b) { return add(a, b); });
      }
    });
  };
  result.tensor = dispatch_numbers(
      x.tensor.domain(), [&]<class T>(std::type_identity<T>) { return sums.template operator()<T>(x.tensor); });
  if (context.noise() && x.tensor.domain() == Domain::real && result.tensor.size() > 0)
    add_errors_of_sums(context, result.tensor, sums.template operator()<double>(squares_of(context, x.tensor)),
                       x.tensor.size() / result.tensor.size());
  return result;
}

/// The axes in this order; `labels` are those of x.
Tensor ordered(const KernelContext& context, const Operand& x, const Labels& labels) {
  std::vector<std::int64_t> permutation;
  for (const Label label : labels)
    permutation.push_back(std::find(x.labels.begin(), x.labels.end(), label) - x.labels.begin());
  return permute(context, x.tensor, permutation);
}

Labels joined(const Labels& a, const Labels& b) {
  Labels all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

Dims sizes_of(const Labels& labels, const std::map<Label, std::int64_t>& sizes) {
  Dims dims;
  for (const Label label : labels) dims.push_back(sizes.at(label));
  return dims;
}

/// The product of two operands, summed over the labels that are not in `kept`.
Operand multiply_einsum(const KernelContext& context, const Operand& left, const Operand& right, const Labels& kept,
                        const std::map<Label, std::int64_t>& sizes) {
  const Operand a = sum_others(context, left, joined(kept, right.labels));
  const Operand b = sum_others(context, right, joined(kept, a.labels));
  Labels stacked, summed, rows, columns;
  for (const Label label : a.labels)
    (!has(b.labels, label) ? rows : has(kept, label) ? stacked : summed).push_back(label);
  for (const Label label : b.labels) {
    if (!has(a.labels, label)) columns.push_back(label);
  }
  const Tensor x = ordered(context, a, joined(joined(stacked, rows), summed));
  const Tensor y = ordered(context, b, joined(joined(stacked, summed), columns));
  Operand result{{}, joined(joined(stacked, rows), columns)};
  const Dims dims = sizes_of(result.labels, sizes);
  if (rows.empty() && columns.empty() && summed.empty()) {
    result.tensor = dispatch_numbers(x.domain(), [&]<class T>(std::type_identity<T>) {
      return map<T, T, T>(context, x, y, x.type(), [](T p, T q) { return reference::multiply(p, q); });
    });
    if (context.noise() && x.domain() == Domain::real)
      add_errors_of_sums(context, result.tensor, squares_of(context, result.tensor), 1);
    return result;
  }
  const std::int64_t stack = element_count(sizes_of(stacked, sizes)), depth = element_count(sizes_of(summed, sizes));
  const std::int64_t height = element_count(sizes_of(rows, sizes)), width = element_count(sizes_of(columns, sizes));
  result.tensor =
      matrix_product(context, x.reshaped({stack, height, depth}), y.reshaped({stack, depth, width})).reshaped(dims);
  return result;
}

/// Sizes of the labels; 1 gives way to any other.
std::map<Label, std::int64_t> learn_sizes(const std::vector<Operand>& operands) {
  std::map<Label, std::int64_t> sizes;
  for (const Operand& x : operands) {
    for (std::size_t axis = 0; axis < x.labels.size(); ++axis) {
      const std::int64_t size = x.tensor.dims()[axis];
      std::int64_t& known = sizes.try_emplace(x.labels[axis], size).first->second;
      require(known == size || known == 1 || size == 1, "an index stands for different sizes");
      if (known == 1) known = size;
    }
  }
  return sizes;
}

void einsum(KernelContext& context) {
  const std::string_view equation = context.string("equation");
  const std::size_t arrow = equation.find("->");
  const std::vector<std::string_view> terms = split_terms(equation.substr(0, arrow));
  require(terms.size() == context.input_count(), [&] {
    return fmt::format("the equation has {} terms, but the node has {} inputs", terms.size(), context.input_count());
  });
  std::vector<Labels> labels;
  std::int64_t most_hidden = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const std::int64_t hidden = context.input(i).rank() - static_cast<std::int64_t>(parse_term(terms[i], 0).size());
    const bool has_ellipsis = terms[i].find("...") != std::string_view::npos;
    require(has_ellipsis ? hidden >= 0 : hidden == 0, [&] { return fmt::format("a term does not match input {}", i); });
    labels.push_back(parse_term(terms[i], hidden));
    require(static_cast<std::int64_t>(labels.back().size()) == context.input(i).rank(), "a term has two ellipses");
    most_hidden = std::max(most_hidden, hidden);
  }
  const Labels result = arrow == std::string_view::npos ? implicit_result(labels, most_hidden)
                                                        : parse_term(equation.substr(arrow + 2), most_hidden);
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < terms.size(); ++i) operands.push_back(diagonal(context, {context.input(i), labels[i]}));
  const std::map<Label, std::int64_t> sizes = learn_sizes(operands);
  for (std::size_t i = 0; i < result.size(); ++i) {
    require(sizes.contains(result[i]), "the result has an index that no operand has");
    require(std::count(result.begin(), result.end(), result[i]) == 1, "the result has an index twice");
  }
  Operand product = without_repeated(operands[0], sizes);
  for (std::size_t i = 1; i < operands.size(); ++i) {
    Labels kept = result;
    for (std::size_t later = i + 1; later < operands.size(); ++later) kept = joined(kept, operands[later].labels);
    require(operands[i].tensor.type() == product.tensor.type(), "the operands have different element types");
    product = multiply_einsum(context, product, without_repeated(operands[i], sizes), kept, sizes);
  }
  context.set_output(0, ordered(context, sum_others(context, product, result), result));
}

}  // namespace

void register_einsum(KernelRegistry& registry) {
  registry.add("Einsum", all_versions(), einsum, {.noise = noise::matrix_product});
}

}  // namespace onnxkit::reference
