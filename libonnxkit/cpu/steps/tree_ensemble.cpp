#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "libonnxkit/cpu/step.h"

namespace onnxkit::cpu {
namespace {

/// The numbers of a constant operand in row-major order.
template <class T>
std::span<const T> numbers_of(const Preparation& preparation, const View& view) {
  const Tensor& content = preparation.plan.constants[preparation.plan.buffers[view.buffer].index];
  return {reinterpret_cast<const T*>(content.bytes().data()) + view.offset, static_cast<std::size_t>(view.size())};
}

template <class T>
struct Branch {
  T threshold;
  std::uint32_t feature;
  std::uint32_t
      next[2];  ///< where the comparison does not hold, and where it does; of a leaf itself, so that walks need not ask
};

struct Leaf {
  std::uint32_t first, end;  ///< of its weights
};

/// The trees of a step as walks read them.
template <class T>
class Trees {
 public:
  Trees(const plan::Step& step, const Preparation& preparation)
      : roots_(copy_of<std::int32_t, std::uint32_t>(preparation, step.inputs[3])),
        targets_(copy_of<std::int32_t, std::uint32_t>(preparation, step.inputs[4])),
        weights_(copy_of<double, double>(preparation, step.inputs[5])) {
    const auto thresholds = numbers_of<T>(preparation, step.inputs[1]);
    const auto nodes = numbers_of<std::int32_t>(preparation, step.inputs[2]);
    for (std::size_t i = 0; i < thresholds.size(); ++i) {
      const std::int32_t kind = nodes[3 * i];
      const auto own = static_cast<std::uint32_t>(i), first = static_cast<std::uint32_t>(nodes[3 * i + 1]),
                 second = static_cast<std::uint32_t>(nodes[3 * i + 2]);
      const spec::TreeMode mode = plan::TreeKind::mode_of(kind);
      const bool is_leaf = mode == spec::TreeMode::leaf;
      kinds_.push_back(kind);
      leaves_.push_back(is_leaf ? Leaf{first, second} : Leaf{});
      if (is_leaf)
        branches_.push_back({0, 0, {own, own}});
      else
        branches_.push_back(
            {thresholds[i], static_cast<std::uint32_t>(kind >> plan::TreeKind::feature_shift), {second, first}});
      is_plain_ = is_plain_ && (is_leaf || (mode == spec::TreeMode::leq && (kind & plan::TreeKind::nan_holds) == 0));
    }
  }

  static constexpr std::size_t together = 8;
  /// Walks that go on at the same time, so that they do not wait for the memory of one another; replaces nodes by leaves.
  void walk(std::array<std::uint32_t, together>& at, const std::array<const T*, together>& rows) const {
    if (is_plain_)
      walk(at, rows, [](const Branch<T>& branch, std::uint32_t, T x) { return x <= branch.threshold; });
    else
      walk(at, rows, [this](const Branch<T>& branch, std::uint32_t node, T x) { return holds(branch, node, x); });
  }

  std::span<const std::uint32_t> roots() const { return roots_; }
  /// Calls f with the target and the weight of each weight of a leaf.
  template <class F>
  void for_weights(std::uint32_t leaf, const F& f) const {
    for (std::uint32_t i = leaves_[leaf].first; i < leaves_[leaf].end; ++i) f(targets_[i], weights_[i]);
  }

 private:
  template <class Stored, class Number>
  static std::vector<Number> copy_of(const Preparation& preparation, const View& view) {
    const auto from = numbers_of<Stored>(preparation, view);
    return {from.begin(), from.end()};
  }

  template <class Holds>
  void walk(std::array<std::uint32_t, together>& at, const std::array<const T*, together>& rows,
            const Holds& holds) const {
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (std::size_t i = 0; i < together; ++i) {
        const Branch<T>& branch = branches_[at[i]];
        const bool does = holds(branch, at[i], rows[i][branch.feature]);
        const std::uint32_t next = branch.next[does ? 1 : 0];  // a jump would be guessed wrong every other time
        goes_on |= next != at[i];
        at[i] = next;
      }
    }
  }

  bool holds(const Branch<T>& branch, std::uint32_t node, T x) const {
    const std::int32_t kind = kinds_[node];
    if (x != x) return (kind & plan::TreeKind::nan_holds) != 0;
    return spec::comparison_holds(plan::TreeKind::mode_of(kind), x, branch.threshold);
  }

  std::vector<Branch<T>> branches_;
  std::vector<Leaf> leaves_;
  std::vector<std::int32_t> kinds_;
  std::vector<std::uint32_t> roots_, targets_;
  std::vector<double> weights_;
  bool is_plain_ = true;  ///< all comparisons are `leq`, and no NaN holds
};

template <class T>
class TreeEnsembleKernel : public Kernel {
 public:
  TreeEnsembleKernel(const plan::Step& step, const Preparation& preparation)
      : x_(step.inputs[0]),
        y_(step.outputs[0]),
        reduction_(static_cast<const plan::TreeEnsembleParameters&>(*step.parameters).reduction),
        trees_(step, preparation) {}

  void run(RunState& state) override {
    const T* const x = state.at<T>(x_);
    double* const y = state.at<double>(y_);
    state.threads->for_range(x_.dims[0], 64, [&](std::int64_t first, std::int64_t last) {
      for (; first < last; first += block)
        predict(x + first * x_.strides[0], y + first * y_.dims[1], std::min(last - first, block));
    });
  }

 private:
  static constexpr std::int64_t block = 256;  ///< rows that go through one tree, so that both stay in a cache meanwhile
  static constexpr auto together = static_cast<std::int64_t>(Trees<T>::together);

  void predict(const T* x, double* y, std::int64_t rows) const {
    const std::int64_t count = rows * y_.dims[1];
    const bool is_choice = reduction_ == plan::Reduction::maximum || reduction_ == plan::Reduction::minimum;
    std::vector<char> has_weight(is_choice ? static_cast<std::size_t>(count) : 0);
    std::fill_n(y, count, 0.0);
    if (rows < together) {
      for (std::int64_t row = 0; row < rows; ++row) walk_trees(x + row * x_.strides[0], row, y, has_weight);
    } else {
      for (const std::uint32_t root : trees_.roots()) walk_rows(x, rows, root, y, has_weight);
    }
    if (reduction_ != plan::Reduction::mean) return;
    for (std::int64_t i = 0; i < count; ++i) y[i] /= static_cast<double>(trees_.roots().size());
  }

  /// One tree for all rows.
  void walk_rows(const T* x, std::int64_t rows, std::uint32_t root, double* y, std::vector<char>& has_weight) const {
    for (std::int64_t first = 0; first < rows; first += together) {
      std::array<std::uint32_t, Trees<T>::together> at;
      std::array<const T*, Trees<T>::together> from;
      at.fill(root);
      for (std::int64_t i = 0; i < together; ++i)
        from[static_cast<std::size_t>(i)] = x + std::min(first + i, rows - 1) * x_.strides[0];
      trees_.walk(at, from);
      const std::int64_t count = std::min(rows - first, together);
      for (std::int64_t i = 0; i < count; ++i) add(at[static_cast<std::size_t>(i)], first + i, y, has_weight);
    }
  }

  /// All trees for one row.
  void walk_trees(const T* x, std::int64_t row, double* y, std::vector<char>& has_weight) const {
    const auto roots = trees_.roots();
    std::array<const T*, Trees<T>::together> from;
    from.fill(x);
    for (std::size_t first = 0; first < roots.size(); first += Trees<T>::together) {
      std::array<std::uint32_t, Trees<T>::together> at;
      const std::size_t count = std::min(roots.size() - first, Trees<T>::together);
      for (std::size_t i = 0; i < Trees<T>::together; ++i) at[i] = roots[first + std::min(i, count - 1)];
      trees_.walk(at, from);
      for (std::size_t i = 0; i < count; ++i) add(at[i], row, y, has_weight);
    }
  }

  void add(std::uint32_t leaf, std::int64_t row, double* y, std::vector<char>& has_weight) const {
    double* const sums = y + row * y_.dims[1];
    if (has_weight.empty()) {
      trees_.for_weights(leaf, [&](std::uint32_t target, double weight) { sums[target] += weight; });
      return;
    }
    char* const had = has_weight.data() + row * y_.dims[1];
    trees_.for_weights(leaf, [&](std::uint32_t target, double weight) {
      const bool is_better = reduction_ == plan::Reduction::minimum ? weight < sums[target] : weight > sums[target];
      if (is_better || had[target] == 0) sums[target] = weight;
      had[target] = 1;
    });
  }

  View x_, y_;
  plan::Reduction reduction_;
  Trees<T> trees_;
};

std::optional<std::string> refuse_tree_ensemble(const plan::Plan& plan, const plan::Step& step) {
  const ElementType type = step.inputs[0].type;
  if (type != ElementType::float32 && type != ElementType::float64) return "rows that are neither float32 nor float64";
  if (!plan::row_stride_of(step.inputs[0])) return "features that do not lie side by side";
  for (std::size_t i = 1; i < step.inputs.size(); ++i)
    if (plan.buffers[step.inputs[i].buffer].home != plan::Home::constant) return "trees that are not constant";
  return std::nullopt;
}

Result<std::unique_ptr<Kernel>> make_tree_ensemble(const plan::Step& step, Preparation& preparation) {
  if (step.inputs[0].type == ElementType::float64)
    return std::unique_ptr<Kernel>(std::make_unique<TreeEnsembleKernel<double>>(step, preparation));
  return std::unique_ptr<Kernel>(std::make_unique<TreeEnsembleKernel<float>>(step, preparation));
}

}  // namespace

void register_tree_ensemble(KernelRegistry& registry);
void register_tree_ensemble(KernelRegistry& registry) {
  registry.add(plan::tree_ensemble_step, make_tree_ensemble, refuse_tree_ensemble);
}

}  // namespace onnxkit::cpu
