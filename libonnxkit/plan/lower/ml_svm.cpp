// ai.onnx.ml: support vector machines. Kernel values and decisions in float64, since the terms of a decision cancel.
#include <algorithm>
#include <cmath>

#include "libonnxkit/plan/ml_scores.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

/// Of kernel values and of sums between them, in a plan for a node.
constexpr std::int64_t most_kernel_values = std::int64_t{1} << 25;
constexpr std::int64_t turned_matrix[] = {1, 0};

struct SvmKernel {
  enum class Type : std::uint8_t { linear, poly, rbf, sigmoid } type = Type::linear;
  double gamma = 0, coef0 = 0, degree = 0;
};

Unlowered read_kernel(LowerCall& call, SvmKernel& kernel) {
  const auto parameters = call.reals("kernel_params").value_or(std::vector<float>());
  if (!parameters.empty() && parameters.size() != 3) return "parameters of a kernel of another number";
  if (!parameters.empty()) {
    kernel.gamma = static_cast<double>(parameters[0]);
    kernel.coef0 = static_cast<double>(parameters[1]);
    kernel.degree = static_cast<double>(parameters[2]);
  }
  const auto name = call.string("kernel_type");
  using Type = SvmKernel::Type;
  kernel.type = name == "POLY"      ? Type::poly
                : name == "RBF"     ? Type::rbf
                : name == "SIGMOID" ? Type::sigmoid
                                    : Type::linear;
  return std::nullopt;
}

/// Support vectors [count, features].
struct Supports {
  std::vector<float> numbers = {};
  std::int64_t count = 0, features = 0;
};

Unlowered read_supports(LowerCall& call, std::int64_t count, Supports& supports) {
  if (auto refused = unfit_features(call)) return refused;
  supports = {call.reals("support_vectors").value_or(std::vector<float>()), count, call.input_dims(0).back()};
  const auto held = static_cast<std::int64_t>(supports.numbers.size());
  if (count < 1 || held % count != 0 || held / count != supports.features || supports.features == 0)
    return "support vectors of another length";
  if (call.input(0).size() / supports.features > most_kernel_values / count) return "too many kernel values";
  return std::nullopt;
}

/// Products of rows and support vectors, [rows, supports].
View row_products(LowerCall& call, const View& rows, std::span<const double> vectors, const Supports& supports) {
  const View matrix =
      permuted(table_constant<double>(call, vectors, {supports.count, supports.features}), turned_matrix);
  return matrix_product(call, rows, matrix, {rows.dims[0], supports.count});
}

/// Vectors with their middle as the origin, and their lengths squared.
struct Centered {
  std::vector<double> middle, vectors, squares;
};

Centered around_middle(const Supports& supports) {
  const auto features = static_cast<std::size_t>(supports.features), count = static_cast<std::size_t>(supports.count);
  Centered made{std::vector<double>(features), {supports.numbers.begin(), supports.numbers.end()}, {}};
  for (std::size_t i = 0; i < made.vectors.size(); ++i) made.middle[i % features] += made.vectors[i];
  for (double& at : made.middle) at /= static_cast<double>(count);
  for (std::size_t k = 0; k < count; ++k) {
    double sum = 0;
    for (std::size_t i = 0; i < features; ++i) {
      double& number = made.vectors[k * features + i];
      number -= made.middle[i];
      sum += number * number;
    }
    made.squares.push_back(sum);
  }
  return made;
}

/// exp(-gamma |x - s|^2) with |x|^2 + |s|^2 - 2 x s around the middle of the support vectors. What cancels there is no larger than their spread where
/// the distance is small, and no error where it is large, so the spread tells how precise it is.
Unlowered write_rbf(LowerCall& call, const Supports& supports, double gamma, View& values) {
  const Centered around = around_middle(supports);
  const double spread = *std::max_element(around.squares.begin(), around.squares.end());
  constexpr double most_spread = 0x1p25;  // times gamma: errors of 2^-53 of it are below those of float32 then
  const bool is_finite =
      std::all_of(around.squares.begin(), around.squares.end(), [](double x) { return std::isfinite(x); });
  if (!is_finite || !(std::abs(gamma) * spread <= most_spread)) return "support vectors too far apart for their kernel";
  Expression shift;
  shift.apply(Operation::subtract, shift.input(0, Lane::f64), shift.input(1, Lane::f64));
  const View given = feature_rows(call, ElementType::float64);
  const View rows = mapped(call, shift, {given, table_constant<double>(call, around.middle, {supports.features})},
                           ElementType::float64, given.dims);
  const View lengths = reshaped(reduced(call, Reduction::sum, squared(call, rows), {false, true}), {rows.dims[0], 1});
  const View products = row_products(call, rows, around.vectors, supports);
  Expression e;
  const auto number = [&](double value) { return e.constant(Lane::f64, value); };
  const Number row = e.input(1, Lane::f64);
  const Number both = e.apply(Operation::add, row, e.input(2, Lane::f64));
  const Number twice = e.apply(Operation::multiply, e.input(0, Lane::f64), number(2));
  const Number square = e.apply(Operation::maximum, e.apply(Operation::subtract, both, twice), number(0));
  // The product of an infinite row and zeros is no number, its distance is infinite.
  const Number distance = e.apply(Operation::select, e.apply(Operation::is_infinite, row), row, square);
  e.apply(Operation::exponential, e.apply(Operation::multiply, distance, number(-gamma)));
  values = mapped(call, e, {products, lengths, table_constant<double>(call, around.squares, {supports.count})},
                  ElementType::float64, products.dims);
  return std::nullopt;
}

/// Of each row and each support vector, [rows, supports].
Unlowered write_kernel_values(LowerCall& call, const Supports& supports, View& values) {
  SvmKernel kernel;
  if (auto refused = read_kernel(call, kernel)) return refused;
  if (kernel.type == SvmKernel::Type::rbf) return write_rbf(call, supports, kernel.gamma, values);
  const std::vector<double> vectors(supports.numbers.begin(), supports.numbers.end());
  values = row_products(call, feature_rows(call, ElementType::float64), vectors, supports);
  if (kernel.type == SvmKernel::Type::linear) return std::nullopt;
  Expression e;
  const Number scaled = e.apply(Operation::multiply, e.input(0, Lane::f64), e.constant(Lane::f64, kernel.gamma));
  const Number sum = e.apply(Operation::add, scaled, e.constant(Lane::f64, kernel.coef0));
  if (kernel.type == SvmKernel::Type::sigmoid)
    e.apply(Operation::tanh, sum);
  else if (kernel.degree == 2)
    e.apply(Operation::multiply, sum, sum);
  else if (kernel.degree == 3)
    e.apply(Operation::multiply, e.apply(Operation::multiply, sum, sum), sum);
  else if (kernel.degree != 1)
    e.apply(Operation::power, sum, e.constant(Lane::f64, kernel.degree));
  values = mapped(call, e, {values}, ElementType::float64, values.dims);
  return std::nullopt;
}

/// Kernel values times one list of coefficients, and rho: [rows, 1].
View decision(LowerCall& call, const View& values, std::span<const float> coefficients, float rho) {
  const std::vector<double> numbers(coefficients.begin(), coefficients.end());
  const View column = table_constant<double>(call, numbers, {values.dims[1], 1});
  const View product = matrix_product(call, values, column, {values.dims[0], 1});
  Expression e;
  e.apply(Operation::add, e.input(0, Lane::f64), e.constant(Lane::f64, static_cast<double>(rho)));
  return mapped(call, e, {product}, ElementType::float64, product.dims);
}

std::vector<float> reals_of(LowerCall& call, const char* attribute) {
  return call.reals(attribute).value_or(std::vector<float>());
}

/// The sum of the terms and rho, [rows, 1].
Unlowered write_regression(LowerCall& call, View& sums) {
  const std::vector<float> coefficients = reals_of(call, "coefficients"), rho = reals_of(call, "rho");
  const std::int64_t count = call.integer("n_supports");
  if (rho.size() != 1 || count < 0) return "operands of other forms";
  if (count == 0) {
    const LinearSums linear = linear_sums(call, coefficients, rho, 1);
    sums = linear.sums;
    return linear.refused;
  }
  if (static_cast<std::int64_t>(coefficients.size()) != count) return "coefficients of another number";
  Supports supports;
  if (auto refused = read_supports(call, count, supports)) return refused;
  View values;
  if (auto refused = write_kernel_values(call, supports, values)) return refused;
  sums = decision(call, values, coefficients, rho[0]);
  return std::nullopt;
}

Unlowered lower_svm_regressor(LowerCall& call) {
  const auto transform = post_transform_of(call);
  if (!transform) return no_such_transform;
  View sums;
  if (auto refused = write_regression(call, sums)) return refused;
  const View y = call.make(ElementType::float32, sums.dims);
  if (call.integer("one_class") == 0) {
    write_scores(call, sums, *transform, y);
  } else {
    Expression e;
    const Lane lane = lane_of(sums.type);
    const Number is_inside = e.apply(Operation::less, e.constant(lane, 0), e.input(0, lane));
    e.apply(Operation::select, is_inside, e.constant(Lane::f32, 1), e.constant(Lane::f32, -1));
    call.emit_map(e, {sums}, y);
  }
  call.set_output(0, reshaped(y, call.output_dims(0)));
  return std::nullopt;
}

// ---- classifier

/// A function for each pair of classes, of the kernel values of their support vectors.
struct Pairwise {
  std::vector<std::int64_t> counts = {};  ///< of support vectors, by class
  std::vector<float> coefficients = {};   ///< [classes - 1, support vectors]
  std::vector<float> rho = {};            ///< by pair
  Supports supports = {};

  std::int64_t classes() const { return static_cast<std::int64_t>(counts.size()); }
  std::int64_t pairs() const { return classes() * (classes() - 1) / 2; }
};

Unlowered read_pairwise(LowerCall& call, Pairwise& machine) {
  constexpr std::int64_t most_classes = 128, most_vectors = std::int64_t{1} << 30;
  machine.counts = call.integers("vectors_per_class").value_or(std::vector<std::int64_t>());
  const std::int64_t classes = machine.classes();
  if (classes < 2 || classes > most_classes) return "a single class or too many";
  if (!reals_of(call, "prob_a").empty() || !reals_of(call, "prob_b").empty())
    return "probabilities of pairs are brought together step by step";
  std::int64_t count = 0;
  for (const std::int64_t of_class : machine.counts) {
    if (of_class < 0 || of_class > most_vectors) return "support vectors of another number";
    count += of_class;
  }
  if (count == 0) return "support vectors of another number";
  machine.coefficients = reals_of(call, "coefficients");
  machine.rho = reals_of(call, "rho");
  if (static_cast<std::int64_t>(machine.coefficients.size()) != count * (classes - 1) ||
      static_cast<std::int64_t>(machine.rho.size()) < machine.pairs())
    return "coefficients of another number";
  if (auto refused = read_supports(call, count, machine.supports)) return refused;
  const std::int64_t rows = call.input(0).size() / machine.supports.features;
  if (rows > most_kernel_values / (classes * classes)) return "too many kernel values";
  return std::nullopt;
}

/// What the vectors of each class add by each list of coefficients: [rows, classes * (classes - 1)].
View class_sides(LowerCall& call, const Pairwise& machine, const View& values) {
  const std::int64_t lists = machine.classes() - 1;
  const std::vector<double> numbers(machine.coefficients.begin(), machine.coefficients.end());
  const View coefficients = table_constant<double>(call, numbers, {lists, machine.supports.count});
  const View sides = call.make(ElementType::float64, {values.dims[0], machine.classes() * lists});
  std::int64_t first = 0;
  for (std::int64_t i = 0; i < machine.classes(); ++i) {
    const std::int64_t count = machine.counts[static_cast<std::size_t>(i)];
    const View side = sliced(sides, 1, i * lists, 1, lists);
    if (count == 0) {
      fill(call, side, 0);
    } else {
      const View own = permuted(sliced(coefficients, 1, first, 1, count), turned_matrix);
      call.emit(product_step, {sliced(values, 1, first, 1, count), own}, {side}, ProductParameters());
    }
    first += count;
  }
  return sides;
}

/// The function of each pair, [rows, pairs].
View pair_decisions(LowerCall& call, const Pairwise& machine, const View& values) {
  const std::int64_t classes = machine.classes(), lists = classes - 1;
  if (classes == 2) return decision(call, values, machine.coefficients, machine.rho[0]);
  const View sides = class_sides(call, machine, values);
  std::vector<std::int64_t> of_first, of_second;
  for (std::int64_t i = 0; i < classes; ++i) {
    for (std::int64_t j = i + 1; j < classes; ++j) {
      of_first.push_back(i * lists + j - 1);
      of_second.push_back(j * lists + i);
    }
  }
  const std::vector<double> rho(machine.rho.begin(),
                                machine.rho.begin() + static_cast<std::ptrdiff_t>(machine.pairs()));
  Expression e;
  const Number sum = e.apply(Operation::add, e.input(0, Lane::f64), e.input(1, Lane::f64));
  e.apply(Operation::add, sum, e.input(2, Lane::f64));
  std::vector<View> inputs = {taken(call, sides, 1, of_first), taken(call, sides, 1, of_second),
                              table_constant<double>(call, rho, {machine.pairs()})};
  return mapped(call, e, std::move(inputs), ElementType::float64, {values.dims[0], machine.pairs()});
}

/// The class that wins most pairs, the first of equal ones: a pair is the second's unless its function is positive.
View winners(LowerCall& call, const View& decisions, std::int64_t classes) {
  const std::int64_t rows = decisions.dims[0], pairs = decisions.dims[1];
  Expression e;
  const Number is_first = e.apply(Operation::less, e.constant(Lane::f64, 0), e.input(0, Lane::f64));
  if (classes == 2) {
    e.apply(Operation::logical_not, is_first);
    return mapped(call, e, {decisions}, ElementType::int64, {rows, 1});
  }
  e.convert(is_first, Lane::f32);
  const View wins = mapped(call, e, {decisions}, ElementType::float32, decisions.dims);
  call.spend_on_tables(pairs * classes, sizeof(float));
  std::vector<float> matrix(static_cast<std::size_t>(pairs * classes)), without_wins;
  std::size_t at = 0;
  for (std::int64_t i = 0; i < classes; ++i) {
    without_wins.push_back(static_cast<float>(i));
    for (std::int64_t j = i + 1; j < classes; ++j, at += static_cast<std::size_t>(classes)) {
      matrix[at + static_cast<std::size_t>(i)] = 1;
      matrix[at + static_cast<std::size_t>(j)] = -1;
    }
  }
  ProductParameters counts;
  counts.has_exact_sums = true;
  const View turned = matrix_product(call, wins, call.constant(matrix, {pairs, classes}), {rows, classes}, counts);
  Expression votes;
  votes.apply(Operation::add, votes.input(0, Lane::f32), votes.input(1, Lane::f32));
  return first_greatest(
      call, mapped(call, votes, {turned, call.constant(without_wins, {classes})}, ElementType::float32, turned.dims),
      1);
}

struct Classified {
  View classes, scores;
};

Unlowered classify_pairwise(LowerCall& call, PostTransform how, Classified& found) {
  Pairwise machine;
  if (auto refused = read_pairwise(call, machine)) return refused;
  View values;
  if (auto refused = write_kernel_values(call, machine.supports, values)) return refused;
  const View decisions = pair_decisions(call, machine, values);
  found.classes = winners(call, decisions, machine.classes());
  found.scores = call.make(ElementType::float32, {decisions.dims[0], std::max<std::int64_t>(machine.pairs(), 2)});
  if (machine.classes() != 2) {
    write_scores(call, decisions, how, found.scores);
  } else {
    const bool is_logistic = how == PostTransform::logistic;
    write_both_scores(call, decisions, is_logistic, is_logistic || how == PostTransform::none ? 0 : 1, found.scores);
  }
  return std::nullopt;
}

/// A linear function for each class.
Unlowered classify_linearly(LowerCall& call, std::int64_t classes, PostTransform how, Classified& found) {
  const std::vector<float> rho = reals_of(call, "rho");
  if (rho.empty()) return "operands of other forms";
  const std::vector<float> intercepts(static_cast<std::size_t>(classes), rho[0]);
  const LinearSums linear = linear_sums(call, reals_of(call, "coefficients"), intercepts, classes);
  if (linear.refused) return linear.refused;
  found.classes = first_greatest(call, linear.sums, 1);
  found.scores = call.make(ElementType::float32, linear.sums.dims);
  write_scores(call, linear.sums, how, found.scores);
  return std::nullopt;
}

Unlowered lower_svm_classifier(LowerCall& call) {
  const auto labels = call.integers("classlabels_ints");
  if (!labels || labels->empty() || call.strings("classlabels_strings")) return "strings lie in no buffer";
  const auto transform = post_transform_of(call);
  if (!transform) return no_such_transform;
  const auto classes = static_cast<std::int64_t>(labels->size());
  const auto counts = call.integers("vectors_per_class");
  const bool is_pairwise = counts && !counts->empty();
  if (is_pairwise && static_cast<std::int64_t>(counts->size()) > classes) return "fewer labels than classes";
  Classified found;
  if (auto refused = is_pairwise ? classify_pairwise(call, *transform, found)
                                 : classify_linearly(call, classes, *transform, found))
    return refused;
  give_labels(call, *labels, found.classes);
  if (call.has_output(1)) call.set_output(1, reshaped(found.scores, call.output_dims(1)));
  return std::nullopt;
}

}  // namespace

void register_ml_svm(LoweringRegistry& registry);
void register_ml_svm(LoweringRegistry& registry) {
  registry.add("ai.onnx.ml", "SVMRegressor", all_versions(), lower_svm_regressor);
  registry.add("ai.onnx.ml", "SVMClassifier", all_versions(), lower_svm_classifier);
}

}  // namespace onnxkit::plan
