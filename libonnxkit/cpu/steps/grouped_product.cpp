#include <algorithm>
#include <vector>

#include "libonnxkit/cpu/right_factor.h"

namespace onnxkit::cpu {
namespace {

const plan::GroupedProductParameters& grouped_parameters(const plan::Step& step) {
  return static_cast<const plan::GroupedProductParameters&>(*step.parameters);
}

/// Rows that are multiplied at once, as they are copied side by side.
constexpr std::int64_t most_rows = 64;

/// The rows of each matrix as one product.
class GroupedProductKernel : public Kernel {
 public:
  GroupedProductKernel(const plan::Step& step, std::vector<RightFactor> factors)
      : a_(step.inputs[0]),
        b_(step.inputs[1]),
        choices_(step.inputs[2]),
        c_(step.outputs[0]),
        rows_(choices_.size()),
        groups_(groups_of(step)),
        factors_(std::move(factors)),
        side_by_side_(std::min(rows_, most_rows) * (a_.dims[2] + c_.dims[2])) {
    if (factors_.empty()) own_packed_.emplace(packed_b_floats(a_.dims[2], c_.dims[2]));
    by_group_.resize(static_cast<std::size_t>(rows_));
    ends_.resize(static_cast<std::size_t>(groups_));
  }

  void run(RunState& state) override {
    const std::int64_t* const choices = state.at<std::int64_t>(choices_);
    if (std::any_of(choices, choices + rows_, [&](std::int64_t at) { return at < 0 || at >= groups_; })) {
      state.error = make_error("kernel", "a row chooses a matrix that is not there");
      return;
    }
    sort(choices);
    std::int64_t first = 0;
    for (std::int64_t group = 0; group < groups_; ++group) {
      const std::int64_t end = ends_[static_cast<std::size_t>(group)];
      if (first == end) continue;
      Product product{.k = a_.dims[2], .n = c_.dims[2]};
      give_factor(state, group, product);
      for (; first < end; first += product.m) {
        product.m = std::min(end - first, most_rows);
        multiply(state, by_group_.data() + first, product);
      }
    }
  }

  std::uint64_t held_bytes() const override { return own_packed_ ? own_packed_->bytes() : 0; }

 private:
  /// The rows of a group lie up to its end, from the end of the group before it.
  void sort(const std::int64_t* choices) {
    std::fill(ends_.begin(), ends_.end(), 0);
    for (std::int64_t row = 0; row < rows_; ++row) ++ends_[static_cast<std::size_t>(choices[row])];
    std::int64_t before = 0;
    for (std::int64_t& end : ends_) before += std::exchange(end, before);
    for (std::int64_t row = 0; row < rows_; ++row)
      by_group_[static_cast<std::size_t>(ends_[static_cast<std::size_t>(choices[row])]++)] = row;
  }

  void give_factor(RunState& state, std::int64_t group, Product& product) {
    if (!factors_.empty()) return factors_[static_cast<std::size_t>(group)].give(product);
    pack_b(*state.threads, own_packed_->data(), state.at<float>(b_) + group * b_.strides[0], product.k, product.n,
           b_.strides[1], b_.strides[2]);
    product.packed_b = own_packed_->data();
  }

  const float* row_of_a(const RunState& state, std::int64_t row) const {
    return state.at<float>(a_) + row / a_.dims[1] * a_.strides[0] + row % a_.dims[1] * a_.strides[1];
  }

  void multiply(RunState& state, const std::int64_t* rows, Product product) {
    float* const c = state.at<float>(c_);
    if (product.m == 1) {
      product.a = row_of_a(state, rows[0]);
      product.c = c + rows[0] * product.n;
      return cpu::product(*state.threads, product);
    }
    float *const a_rows = side_by_side_.data(), *const c_rows = a_rows + product.m * product.k;
    for (std::int64_t i = 0; i < product.m; ++i)
      std::copy_n(row_of_a(state, rows[i]), product.k, a_rows + i * product.k);
    product.a = a_rows, product.a_stride = product.k;
    product.c = c_rows, product.c_stride = product.n;
    cpu::product(*state.threads, product);
    for (std::int64_t i = 0; i < product.m; ++i)
      std::copy_n(c_rows + i * product.n, product.n, c + rows[i] * product.n);
  }

  View a_, b_, choices_, c_;
  std::int64_t rows_, groups_;
  std::vector<RightFactor> factors_;         ///< of a constant b, by group
  std::optional<AlignedFloats> own_packed_;  ///< of another b, while it is used
  AlignedFloats side_by_side_;
  std::vector<std::int64_t> by_group_, ends_;
};

std::optional<std::string> refuse_grouped_product(const plan::Plan& plan, const plan::Step& step) {
  const View &a = step.inputs[0], &b = step.inputs[1], &c = step.outputs[0];
  const auto is_float = [](const View& view) { return view.type == ElementType::float32; };
  if (!is_float(a) || !is_float(c)) return "rows that are not float32";
  const bool is_constant = plan.buffers[b.buffer].home == plan::Home::constant;
  if (!grouped_parameters(step).blocks && !is_float(b) && !is_constant) return "matrices that are not float32";
  return std::nullopt;
}

std::vector<RightFactor> constant_factors(const plan::Step& step, Preparation& preparation) {
  const View& b = step.inputs[1];
  const auto& blocks = grouped_parameters(step).blocks;
  std::vector<RightFactor> factors;
  if (!preparation.is_constant(b)) return factors;
  const std::int64_t n = step.outputs[0].dims[2], groups = groups_of(step);
  for (std::int64_t group = 0; group < groups; ++group)
    factors.push_back(blocks ? right_factor(b, *blocks, group * n, n, preparation)
                             : right_factor(picked(b, 0, group), preparation));
  if (factors.front().packed) preparation.is_packed(b);
  return factors;
}

Result<std::unique_ptr<Kernel>> make_grouped_product(const plan::Step& step, Preparation& preparation) {
  if (const auto reason = refuse_grouped_product(preparation.plan, step)) return make_error("not-supported", *reason);
  return std::unique_ptr<Kernel>(std::make_unique<GroupedProductKernel>(step, constant_factors(step, preparation)));
}

}  // namespace

void register_grouped_product(KernelRegistry& registry);
void register_grouped_product(KernelRegistry& registry) {
  registry.add(plan::grouped_product_step, make_grouped_product, refuse_grouped_product);
}

}  // namespace onnxkit::cpu
