#include "libonnxkit/plan/fp8_products.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/arena.h"
#include "libonnxkit/plan/step_edit.h"
#include "libonnxkit/plan/steps.h"

namespace onnxkit::plan {
namespace {

constexpr ElementType float8 = ElementType::float8e4m3fn;
constexpr std::int64_t multiple = 16;    ///< of the sizes that tensor cores read in cuBLASLt
constexpr std::int64_t least_rows = 16;  ///< fewer do not pay for a kernel that rounds them
constexpr double greatest_float8 = 448;

/// The operators whose products these are; those inside of recurrences, attention and integer operators stay.
bool is_matrix_product(std::string_view op) {
  return op == "MatMul" || op == "Gemm" || op == "FusedMatMul" || op == "TransposeMatMul";
}

/// The exponent of the least power of two over which numbers up to `most` are at most 448; that of a normal float32.
int exponent_for(double most) {
  if (most == 0) return 0;
  constexpr int least = -126;
  const int exponent = std::ilogb(most / greatest_float8);
  return std::max(least, std::ldexp(greatest_float8, exponent) < most ? exponent + 1 : exponent);
}

/// A matrix [k, n] in columns that lie side by side, each over a power of two.
struct Columns {
  std::vector<std::byte> numbers;
  std::vector<int> exponents;
};

/// Nothing when a number is not finite.
std::optional<Columns> columns_of(const Tensor& constant, const View& b) {
  const std::size_t rank = b.rank();
  const std::int64_t k = b.dims[rank - 2], n = b.dims[rank - 1];
  std::vector<double> all(static_cast<std::size_t>(constant.size()));
  decode(constant.type(), constant.bytes(), std::span<double>(all));
  Columns columns;
  columns.numbers.resize(static_cast<std::size_t>(k * n));
  std::vector<double> column(static_cast<std::size_t>(k));
  for (std::int64_t j = 0; j < n; ++j) {
    double most = 0;
    for (std::int64_t i = 0; i < k; ++i) {
      const double number = all[static_cast<std::size_t>(b.offset + i * b.strides[rank - 2] + j * b.strides[rank - 1])];
      if (!std::isfinite(number)) return std::nullopt;
      column[static_cast<std::size_t>(i)] = number;
      most = std::max(most, std::abs(number));
    }
    columns.exponents.push_back(exponent_for(most));
    for (double& number : column) number = std::ldexp(number, -columns.exponents.back());
    encode(float8, std::span<const double>(column),
           std::span(columns.numbers).subspan(static_cast<std::size_t>(j * k), static_cast<std::size_t>(k)));
  }
  return columns;
}

/// 2^-exponent times a sum of k products is at most what float16 holds, for libraries that store it so in front of the rest of the epilogue.
int exponent_of_sums(std::int64_t k) {
  constexpr double most = 65504;
  return static_cast<int>(std::ceil(std::log2(static_cast<double>(k) * greatest_float8 * greatest_float8 / most)));
}

class ProductRewriting {
 public:
  explicit ProductRewriting(Plan& plan) : plan_(plan), ops_(plan.lowered.begin(), plan.lowered.end()) {}

  void run() {
    std::vector<Step> steps = std::move(plan_.steps);
    plan_.steps.clear();
    for (Step& step : steps) {
      add(step);
      const Step& added = plan_.steps.back();
      for (const View& view : added.outputs) forget(view.buffer);
      if (is_rounding(added)) narrowed_.emplace_back(added.outputs[0], added.inputs[0]);
    }
    tell();
    drop_unused_steps(plan_);
    place_buffers(plan_);
  }

 private:
  struct Rows {
    View numbers, powers;
  };

  void add(Step& step) {
    if (step.kind.multiplies && step.kind != product_step) {
      ++others_[step.kind.name];
    } else if (step.kind == product_step && !step.parameters->is_exact()) {
      const auto reason = reason_to_stay(step);
      const auto columns = reason ? std::nullopt : columns_of(constant_of(step.inputs[1]), step.inputs[1]);
      if (columns) {
        change(step, *columns);
        ++changed_;
      } else {
        step.stays = fmt::format("float16: {}", reason.value_or("a weight that is not finite"));
        ++stay_[step.stays.substr(step.stays.find(' ') + 1)];
      }
    }
    plan_.steps.push_back(std::move(step));
  }

  /// From what float32 a value of float16 was rounded and nothing else.
  static bool is_rounding(const Step& step) {
    return is_conversion(step) && step.inputs[0].type == ElementType::float32 &&
           step.outputs[0].type == ElementType::float16;
  }

  void forget(std::uint32_t buffer) {
    std::erase_if(rows_, [&](const auto& known) { return known.first.buffer == buffer; });
    std::erase_if(narrowed_,
                  [&](const auto& known) { return known.first.buffer == buffer || known.second.buffer == buffer; });
  }

  /// What is rounded in place of a float16 that was rounded itself.
  View source_of(const View& a) const {
    const auto known =
        std::find_if(narrowed_.begin(), narrowed_.end(), [&](const auto& one) { return one.first == a; });
    return known != narrowed_.end() && row_stride_of(known->second) ? known->second : a;
  }

  const Tensor& constant_of(const View& view) const { return plan_.constants[plan_.buffers[view.buffer].index]; }

  std::optional<std::string> reason_to_stay(const Step& step) const {
    const View &a = step.inputs[0], &b = step.inputs[1], &to = step.outputs[0];
    const std::size_t rank = to.rank();
    const bool is_operator = std::any_of(step.nodes.begin(), step.nodes.end(), [&](const std::string& node) {
      const auto op = ops_.find(node);
      return op != ops_.end() && is_matrix_product(op->second);
    });
    if (!is_operator) return "no product of a MatMul, Gemm or FusedMatMul";
    if (a.type != ElementType::float16) return "not of float16";
    if (plan_.buffers[b.buffer].home != Home::constant) return "a right factor that only the run tells";
    for (std::size_t axis = 0; axis + 2 < rank; ++axis)
      if (b.dims[axis] != 1 && b.strides[axis] != 0) return "more than one matrix of weights";
    const std::int64_t k = a.dims[rank - 1], n = to.dims[rank - 1];
    if (k % multiple != 0 || n % multiple != 0) return fmt::format("a size not a multiple of {}", multiple);
    if (to.size() / n < least_rows) return fmt::format("fewer than {} rows", least_rows);
    if (!row_stride_of(a)) return "rows that are not evenly apart";
    return std::nullopt;
  }

  void change(Step& step, const Columns& columns) {
    const View to = step.outputs[0];
    const std::size_t rank = to.rank();
    const std::int64_t k = step.inputs[0].dims[rank - 1], n = to.dims[rank - 1];
    const int exponent = exponent_of_sums(k);
    const Rows rows = rows_of(source_of(step.inputs[0]), step.nodes);
    View weights = constant_view(float8, {n, k}, columns.numbers);
    weights.dims = step.inputs[1].dims;
    weights.strides.assign(rank, 0);
    weights.strides[rank - 2] = 1;
    weights.strides[rank - 1] = k;
    std::vector<float> powers;
    for (const int power : columns.exponents) powers.push_back(std::ldexp(1.0F, power + exponent));
    const auto bytes = std::as_bytes(std::span(powers));
    const View of_columns = constant_view(ElementType::float32, {n}, {bytes.begin(), bytes.end()});
    View of_rows = rows.powers;
    of_rows.dims.push_back(n);
    of_rows.strides.push_back(0);

    auto changed = std::make_shared<ProductParameters>(static_cast<const ProductParameters&>(*step.parameters));
    changed->epilogue = scaled(changed->epilogue, exponent);
    step.parameters = std::move(changed);
    std::vector<View> inputs = {rows.numbers, weights, of_rows, broadcast_to(of_columns, to.dims)};
    inputs.insert(inputs.end(), step.inputs.begin() + 2, step.inputs.end());
    step.inputs = std::move(inputs);
  }

  /// The epilogue on the sum times 2^-exponent and two further operands, which come before its own.
  static Expression scaled(const Expression& epilogue, int exponent) {
    Expression scale;
    auto sum = scale.input(0, Lane::f32);
    sum = scale.apply(Operation::multiply, sum, scale.constant(Lane::f32, std::ldexp(1.0, -exponent)));
    sum = scale.apply(Operation::multiply, sum, scale.input(1, Lane::f32));
    scale.apply(Operation::multiply, sum, scale.input(2, Lane::f32));
    if (epilogue.empty()) return scale;
    const std::size_t own = epilogue.input_count() - 1;
    std::vector<std::size_t> numbers(own + 3);
    for (std::size_t i = 0; i < own; ++i) numbers[i] = 3 + i;
    for (std::size_t i = 0; i < 3; ++i) numbers[own + i] = i;
    return epilogue.with_input(0, scale).renumbered(numbers);
  }

  View constant_view(ElementType type, const Dims& dims, std::vector<std::byte> bytes) {
    const View view = new_value(plan_, type, dims);
    Buffer& buffer = plan_.buffers[view.buffer];
    buffer.home = Home::constant;
    buffer.index = plan_.constants.size();
    plan_.constants.push_back(*Tensor::from_bytes(type, dims, std::move(bytes)));
    return view;
  }

  /// Rounded by a step of their own, which products of the same rows share.
  Rows rows_of(const View& a, const std::vector<std::string>& nodes) {
    const auto known = std::find_if(rows_.begin(), rows_.end(), [&](const auto& one) { return one.first == a; });
    if (known != rows_.end()) return known->second;
    const Rows rows{new_value(plan_, float8, a.dims),
                    new_value(plan_, ElementType::float32, Dims(a.dims.begin(), a.dims.end() - 1))};
    plan_.steps.push_back(
        {.kind = quantize_rows_step, .inputs = {a}, .outputs = {rows.numbers, rows.powers}, .nodes = nodes});
    rows_.emplace_back(a, rows);
    return rows;
  }

  void tell() {
    std::vector<std::string> others;
    for (const auto& [kind, count] : others_) others.push_back(fmt::format("{} {}", count, kind));
    for (const auto& [reason, count] : stay_) others.push_back(fmt::format("{} product: {}", count, reason));
    plan_.notes.push_back(
        fmt::format("precision fp8: {} of the products are of float8e4m3fn{}", changed_,
                    others.empty() ? "" : fmt::format("; these stay float16: {}", fmt::join(others, ", "))));
  }

  Plan& plan_;
  std::unordered_map<std::string, std::string> ops_;
  std::vector<std::pair<View, Rows>> rows_;  ///< that were rounded and have not changed since
  std::vector<std::pair<View, View>>
      narrowed_;  ///< values of float16 and those of float32 that they were rounded from, likewise
  std::size_t changed_ = 0;
  std::map<std::string_view, std::size_t> others_;
  std::map<std::string, std::size_t> stay_;
};

}  // namespace

void use_fp8_products(Plan& plan) { ProductRewriting(plan).run(); }

}  // namespace onnxkit::plan
