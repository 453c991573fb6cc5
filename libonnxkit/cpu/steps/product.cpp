#include <algorithm>

#include <fmt/core.h>

#include "libonnxkit/cpu/epilogue.h"
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

NumberBlocks numbers_of(const plan::BlockedWeights& blocks) {
  const Rounding rounding = blocks.rounded_to == ElementType::float16    ? Rounding::float16
                            : blocks.rounded_to == ElementType::bfloat16 ? Rounding::bfloat16
                                                                         : Rounding::none;
  return {.k = blocks.k, .n = blocks.n, .bits = blocks.bits == 8 ? 8 : 4, .size = blocks.size, .rounding = rounding};
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
  ProductKernel(const plan::Step& step, std::unique_ptr<StepEpilogue> epilogue, PackedWeights::Floats packed,
                const StoredMatrix& stored)
      : a_(step.inputs[0]),
        b_(step.inputs[1]),
        c_(step.outputs[0]),
        epilogue_(std::move(epilogue)),
        packed_(std::move(packed)),
        stored_(stored) {
    for (std::size_t i = 2; i < step.inputs.size(); ++i) others_.push_back(step.inputs[i]);
    const std::size_t rank = c_.rank();
    product_ = {.a_stride = a_.strides[rank - 2],
                .c_stride = c_.strides[rank - 2],
                .m = c_.dims[rank - 2],
                .k = a_.dims[rank - 1],
                .n = c_.dims[rank - 1]};
    for (std::size_t axis = 0; axis + 2 < rank; ++axis) batches_ *= c_.dims[axis];
    if (const auto& blocks = parameters_of(step).blocks) numbers_ = numbers_of(*blocks);
    if (!packed_ && !stored_.from) own_packed_.emplace(packed_b_floats(product_.k, product_.n));
  }

  void run(RunState& state) override {
    std::vector<std::int64_t> offsets(others_.size());
    std::int64_t packed_from = -1;
    for (std::int64_t batch = 0; batch < batches_; ++batch) {
      Product product = product_;
      product.a = state.at<float>(a_) + offset(a_, batch);
      product.c = state.at<float>(c_) + offset(c_, batch);
      for (std::size_t i = 0; i < others_.size(); ++i) offsets[i] = offset(others_[i], batch);
      if (stored_.from) {
        product.stored_b = stored_;
      } else if (packed_) {
        product.packed_b = packed_->data();
        if (numbers_) product.numbers = &*numbers_;
      } else {
        const std::int64_t from = offset(b_, batch);
        if (from != packed_from) {
          const std::size_t rank = b_.rank();
          pack_b(own_packed_->data(), state.at<float>(b_) + from, product.k, product.n, b_.strides[rank - 2],
                 b_.strides[rank - 1]);
          packed_from = from;
        }
        product.packed_b = own_packed_->data();
      }
      cpu::product(*state.threads, product, epilogue_->bind(state, offsets));
    }
  }

 private:
  std::int64_t offset(const View& view, std::int64_t batch) const { return leading_offset(view, c_.dims, batch); }

  View a_, b_, c_;
  std::vector<View> others_;
  std::unique_ptr<StepEpilogue> epilogue_;
  PackedWeights::Floats packed_;
  std::optional<NumberBlocks> numbers_;  ///< of which b is packed
  StoredMatrix stored_;                  ///< where no b is packed before it is used
  std::optional<AlignedFloats> own_packed_;
  Product product_;
  std::int64_t batches_ = 1;
};

/// Of float64 and int64, by the reference's products. A product for each index of the leading axes.
template <class T>
class WideProductKernel : public Kernel {
 public:
  explicit WideProductKernel(const plan::Step& step) : a_(step.inputs[0]), b_(step.inputs[1]), c_(step.outputs[0]) {
    for (std::size_t axis = 0; axis + 2 < c_.rank(); ++axis) batches_ *= c_.dims[axis];
  }

  void run(RunState& state) override {
    for (std::int64_t batch = 0; batch < batches_; ++batch) {
      const auto a = matrix<const T>(state, a_, batch), b = matrix<const T>(state, b_, batch);
      if constexpr (std::is_floating_point_v<T>)
        reference::gemm_exact(*state.threads, a, b, matrix<T>(state, c_, batch));
      else
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

/// Once for a session where all of it lies in the model's file.
PackedWeights::Floats packed_blocks(const View& b, const plan::BlockedWeights& blocks, Preparation& preparation) {
  WeightKey key = preparation.weight_key(blocks.text(), b);
  for (const Tensor* tensor : {&blocks.scales, &blocks.zeros}) {
    if (tensor->type() == ElementType::undefined) continue;
    key.name += fmt::format(" {}", fmt::ptr(tensor->bytes().data()));
    key.is_lasting = key.is_lasting && preparation.is_lasting(*tensor);
  }
  auto packed = preparation.pack_once(key, [&] {
    const NumberBlocks numbers = numbers_of(blocks);
    auto floats = std::make_shared<AlignedFloats>(packed_number_floats(numbers));
    const auto content = preparation.plan.constants[preparation.plan.buffers[b.buffer].index].bytes();
    const auto read = [&](std::int64_t column, std::uint8_t* to, float* scales, float* zeros) {
      plan::BlockedColumn of;
      read_column(blocks, content, column, of);
      std::copy(of.numbers.begin(), of.numbers.end(), to);
      std::copy(of.scales.begin(), of.scales.end(), scales);
      std::copy(of.zeros.begin(), of.zeros.end(), zeros);
    };
    pack_numbers(preparation.threads, floats->data(), numbers, read);
    return floats;
  });
  preparation.is_packed(b);
  return packed;
}

Result<std::unique_ptr<Kernel>> make_product(const plan::Step& step, Preparation& preparation) {
  if (const auto reason = refuse_product(preparation.plan, step)) return make_error("not-supported", *reason);
  if (is_wide(step)) {
    if (step.outputs[0].type == ElementType::float64)
      return std::unique_ptr<Kernel>(std::make_unique<WideProductKernel<double>>(step));
    return std::unique_ptr<Kernel>(std::make_unique<WideProductKernel<std::int64_t>>(step));
  }
  auto epilogue = product_epilogue(step);
  const View& b = step.inputs[1];
  PackedWeights::Floats packed;
  StoredMatrix stored;
  if (const auto& blocks = parameters_of(step).blocks) {
    packed = packed_blocks(b, *blocks, preparation);
  } else if (is_packed_once(preparation.plan, b) && b.type == ElementType::bfloat16) {
    // Numbers of half the size are read where they lie: packed ahead, a large model would take memory for both or twice as much.
    const auto content = preparation.plan.constants[preparation.plan.buffers[b.buffer].index].bytes();
    stored = {.from = reinterpret_cast<const Bfloat16*>(content.data()) + b.offset,
              .k_stride = b.strides[b.rank() - 2],
              .n_stride = b.strides.back()};
  } else if (is_packed_once(preparation.plan, b)) {
    const std::int64_t k = b.dims[b.rank() - 2], n = b.dims.back();
    packed = preparation.pack_once(preparation.weight_key("b", b), [&] {
      auto floats = std::make_shared<AlignedFloats>(packed_b_floats(k, n));
      const auto numbers = preparation.stored(b);
      pack_b(preparation.threads, floats->data(), numbers.data(), k, n, numbers.strides[b.rank() - 2],
             numbers.strides.back());
      return floats;
    });
    preparation.is_packed(b);
  }
  return std::unique_ptr<Kernel>(
      std::make_unique<ProductKernel>(step, *std::move(epilogue), std::move(packed), stored));
}

}  // namespace

void register_product(KernelRegistry& registry);
void register_product(KernelRegistry& registry) { registry.add(plan::product_step, make_product, refuse_product); }

}  // namespace onnxkit::cpu
