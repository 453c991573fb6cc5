#include <algorithm>

#include "libonnxkit/cpu/epilogue.h"
#include "libonnxkit/cpu/right_factor.h"
#include "reference/kernels/gemm.h"

namespace onnxkit::cpu {
namespace {

View last_two_axes(const View& view) {
  View two = view;
  two.dims.assign(view.dims.end() - 2, view.dims.end());
  two.strides.assign(view.strides.end() - 2, view.strides.end());
  return two;
}

const plan::ProductParameters& parameters_of(const plan::Step& step) {
  return static_cast<const plan::ProductParameters&>(*step.parameters);
}

/// Where product number `batch` begins in a view, counted through the leading axes of `dims`.
std::int64_t leading_offset(const View& view, const Dims& dims, std::int64_t batch) {
  std::int64_t offset = 0;
  for (std::size_t axis = dims.size() - 2; axis-- > 0 && batch > 0;) {
    offset += batch % dims[axis] * view.strides[axis];
    batch /= dims[axis];
  }
  return offset;
}

/// One product for each index of the leading axes.
class ProductKernel : public Kernel {
 public:
  ProductKernel(const plan::Step& step, std::unique_ptr<StepEpilogue> epilogue, RightFactor factor, int threads)
      : a_(step.inputs[0]),
        b_(step.inputs[1]),
        c_(step.outputs[0]),
        epilogue_(std::move(epilogue)),
        factor_(std::move(factor)) {
    for (std::size_t i = 2; i < step.inputs.size(); ++i) others_.push_back(step.inputs[i]);
    const std::size_t rank = c_.rank();
    product_ = {.a_stride = a_.strides[rank - 2],
                .c_stride = c_.strides[rank - 2],
                .m = c_.dims[rank - 2],
                .k = a_.dims[rank - 1],
                .n = c_.dims[rank - 1]};
    for (std::size_t axis = 0; axis + 2 < rank; ++axis) batches_ *= c_.dims[axis];
    if (factor_.is_ready()) return;
    const int at_once = shares_batches(threads) ? threads : 1;
    for (int i = 0; i < at_once; ++i) own_packed_.emplace_back(packed_b_floats(product_.k, product_.n));
  }

  void run(RunState& state) override {
    const auto at_once = static_cast<std::int64_t>(own_packed_.size());
    if (at_once < 2) return multiply(state, 0, batches_, own_packed_.empty() ? nullptr : own_packed_.data());
    state.threads->for_range(at_once, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i)
        multiply(state, batches_ * i / at_once, batches_ * (i + 1) / at_once,
                 &own_packed_[static_cast<std::size_t>(i)]);
    });
  }

  std::uint64_t held_bytes() const override {
    return own_packed_.empty() ? 0 : own_packed_.size() * own_packed_.front().bytes();
  }

 private:
  /// Threads share many small products; large ones are shared themselves, a b of all is packed once, and those with other operands bind their epilogue
  /// one after the other.
  bool shares_batches(int threads) const {
    constexpr double most_products = 1 << 27;
    constexpr std::int64_t most_floats = 1 << 22;
    const bool has_one_b =
        std::all_of(b_.strides.begin(), b_.strides.end() - 2, [](std::int64_t stride) { return stride == 0; });
    return batches_ >= std::int64_t{4} * threads && others_.empty() && !has_one_b && products() < most_products &&
           packed_b_floats(product_.k, product_.n) < most_floats;
  }

  double products() const {
    return static_cast<double>(product_.m) * static_cast<double>(product_.n) * static_cast<double>(product_.k);
  }

  /// `packed`: room for b where it is no constant.
  void multiply(RunState& state, std::int64_t first, std::int64_t last, AlignedFloats* packed) const {
    std::vector<std::int64_t> offsets(others_.size());
    std::int64_t packed_from = -1;
    constexpr double much = 1e7;  // some hundred microseconds
    double done = 0;
    for (std::int64_t batch = first; batch < last; ++batch) {
      if (done > much) ThreadPool::ask_watch(), done = 0;
      done += products();
      Product product = product_;
      product.a = state.at<float>(a_) + offset(a_, batch);
      product.c = state.at<float>(c_) + offset(c_, batch);
      for (std::size_t i = 0; i < others_.size(); ++i) offsets[i] = offset(others_[i], batch);
      if (packed == nullptr) {
        factor_.give(product);
      } else {
        const std::int64_t from = offset(b_, batch);
        if (from != packed_from) {
          const std::size_t rank = b_.rank();
          pack_b(packed->data(), state.at<float>(b_) + from, product.k, product.n, b_.strides[rank - 2],
                 b_.strides[rank - 1]);
          packed_from = from;
        }
        product.packed_b = packed->data();
      }
      cpu::product(*state.threads, product, epilogue_->bind(state, offsets));
    }
  }

  std::int64_t offset(const View& view, std::int64_t batch) const { return leading_offset(view, c_.dims, batch); }

  View a_, b_, c_;
  std::vector<View> others_;
  std::unique_ptr<StepEpilogue> epilogue_;
  RightFactor factor_;  ///< of one constant b
  /// Room for another b while it is used, for each batch that is multiplied at once.
  std::vector<AlignedFloats> own_packed_;
  Product product_;
  std::int64_t batches_ = 1;
};

/// Of float64 and int64, by the reference's products; sums of float64 are rounded term by term. A product for each index of the leading axes.
template <class T>
class WideProductKernel : public Kernel {
 public:
  explicit WideProductKernel(const plan::Step& step) : a_(step.inputs[0]), b_(step.inputs[1]), c_(step.outputs[0]) {
    for (std::size_t axis = 0; axis + 2 < c_.rank(); ++axis) batches_ *= c_.dims[axis];
  }

  void run(RunState& state) override {
    for (std::int64_t batch = 0; batch < batches_; ++batch) {
      const auto a = matrix<const T>(state, a_, batch), b = matrix<const T>(state, b_, batch);
      reference::gemm(*state.threads, a, b, matrix<T>(state, c_, batch));
    }
  }

 private:
  template <class Number>
  reference::MatrixView<Number> matrix(const RunState& state, const View& view, std::int64_t batch) const {
    const std::size_t rank = view.rank();
    return {state.at<T>(view) + leading_offset(view, c_.dims, batch), view.dims[rank - 2], view.dims[rank - 1],
            view.strides[rank - 2], view.strides[rank - 1]};
  }

  View a_, b_, c_;
  std::int64_t batches_ = 1;
};

Result<std::unique_ptr<StepEpilogue>> product_epilogue(const plan::Step& step) {
  std::vector<View> others;
  for (std::size_t i = 2; i < step.inputs.size(); ++i) others.push_back(last_two_axes(step.inputs[i]));
  return StepEpilogue::make(parameters_of(step).epilogue, std::move(others));
}

bool has_float_rows(const View& view) {
  return view.type == ElementType::float32 && (view.strides.back() == 1 || view.dims.back() == 1);
}

/// The same constant matrix in all products.
bool is_packed_once(const plan::Plan& plan, const View& b) {
  const bool is_one = std::all_of(b.dims.begin(), b.dims.end() - 2, [](std::int64_t size) { return size == 1; });
  return is_one && plan.buffers[b.buffer].home == plan::Home::constant;
}

/// Of float64 or int64 throughout, without an epilogue; sums of integers wrap.
bool is_wide(const plan::Step& step) {
  const ElementType type = step.outputs[0].type;
  return (type == ElementType::float64 || type == ElementType::int64) && step.inputs[0].type == type &&
         step.inputs[1].type == type && parameters_of(step).epilogue.empty();
}

std::optional<std::string> refuse_product(const plan::Plan& plan, const plan::Step& step) {
  const View &a = step.inputs[0], &b = step.inputs[1];
  if (is_wide(step)) return std::nullopt;
  if (!has_float_rows(a) || !has_float_rows(step.outputs[0])) return "rows whose numbers are not float32 side by side";
  if (!parameters_of(step).blocks && b.type != ElementType::float32 && !is_packed_once(plan, b))
    return "a matrix that is not float32";
  const auto epilogue = product_epilogue(step);
  return epilogue ? std::nullopt : std::optional(epilogue.error().diagnostic.message);
}

RightFactor constant_factor(const plan::Step& step, Preparation& preparation) {
  const View& b = step.inputs[1];
  const auto& blocks = parameters_of(step).blocks;
  if (!blocks && !is_packed_once(preparation.plan, b)) return {};
  RightFactor factor =
      blocks ? right_factor(b, *blocks, 0, blocks->n, preparation) : right_factor(last_two_axes(b), preparation);
  if (factor.packed) preparation.is_packed(b);
  return factor;
}

Result<std::unique_ptr<Kernel>> make_product(const plan::Step& step, Preparation& preparation) {
  if (const auto reason = refuse_product(preparation.plan, step)) return make_error("not-supported", *reason);
  if (is_wide(step)) {
    if (step.outputs[0].type == ElementType::float64)
      return std::unique_ptr<Kernel>(std::make_unique<WideProductKernel<double>>(step));
    return std::unique_ptr<Kernel>(std::make_unique<WideProductKernel<std::int64_t>>(step));
  }
  auto epilogue = product_epilogue(step);
  return std::unique_ptr<Kernel>(std::make_unique<ProductKernel>(
      step, *std::move(epilogue), constant_factor(step, preparation), preparation.threads.threads()));
}

}  // namespace

void register_product(KernelRegistry& registry);
void register_product(KernelRegistry& registry) { registry.add(plan::product_step, make_product, refuse_product); }

}  // namespace onnxkit::cpu
