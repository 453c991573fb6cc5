// MaxPool, AveragePool, LpPool: a window that moves over the image axes. GlobalMaxPool, GlobalAveragePool, GlobalLpPool: one window as large
// as the image. MaxUnpool: the reverse of MaxPool.
//   ceil_mode: MaxPool, AveragePool since 10, LpPool since 18. dilations: MaxPool since 10, LpPool since 18, AveragePool since 19.
//   From 22 on windows that would start in the padding behind the image are left out.
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/window_rules.h"

namespace onnxkit::checker {
namespace {

void infer_pool(InferContext& context) {
  if (rank_below(context, 0, 3)) return;
  const Shape* x = context.input_shape(0);
  if (!x) return;
  auto window = read_window(context, x->size() - 2, nullptr);
  Shape y{(*x)[0], (*x)[1]};
  if (window) {
    window->drops_windows_in_padding = context.since() >= 22;
    const Shape image = window_counts(context, *window, std::span(*x).subspan(2));
    y.insert(y.end(), image.begin(), image.end());
  } else {
    y.resize(x->size());
    context.lose_shape(0, "the window attributes are missing or wrong");
  }
  context.set_shape(0, y);
  context.set_shape(1, std::move(y));
}

void infer_global_pool(InferContext& context) {
  if (rank_below(context, 0, 3)) return;
  const Shape* x = context.input_shape(0);
  if (!x) return;
  Shape y(x->size(), Dim(1));
  y[0] = (*x)[0];
  y[1] = (*x)[1];
  context.set_shape(0, std::move(y));
}

void infer_max_pool(InferContext& context) {
  require_in_range(context, "storage_order", context.integer("storage_order"), 0, 1);
  infer_pool(context);
}

/// Image sizes from which a MaxPool with these attributes gives the input's.
Shape unpooled(InferContext& context, const Shape& x) {
  DimPool& dims = context.dims();
  Shape y(x.begin(), x.begin() + 2);
  const auto window = read_window(context, x.size() - 2, nullptr);
  for (std::size_t axis = 0; axis + 2 < x.size(); ++axis) {
    Dim size;
    if (window) {
      const Dim steps = dims.mul(dims.sub(x[axis + 2], 1), window->strides[axis]);
      size = dims.sub(dims.add(steps, window->kernel[axis]), total_pads(context, *window, axis));
    }
    y.push_back(size);
  }
  return y;
}

void infer_max_unpool(InferContext& context) {
  if (rank_below(context, 0, 3)) return;
  const Shape* x = context.input_shape(0);
  if (!x) return;
  require_shape(context, 1, *x, "there must be one index per value");
  Shape y = unpooled(context, *x);
  if (context.has_input(2)) {
    require_shape(context, 2, {static_cast<std::int64_t>(x->size())}, "output_shape must have one entry per axis");
    const Constant* stated = context.input_value(2);
    y = stated && stated->elements.size() == x->size() ? stated->dims() : Shape(x->size());
    context.lose_shape(0, "output_shape is unknown");
  }
  context.set_shape(0, std::move(y));
}

}  // namespace

void register_pool(InferRegistry& registry) {
  registry.add("MaxPool", all_versions(), infer_max_pool);
  for (const char* op : {"AveragePool", "LpPool"}) registry.add(op, all_versions(), infer_pool);
  for (const char* op : {"GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"})
    registry.add(op, all_versions(), infer_global_pool);
  registry.add("MaxUnpool", all_versions(), infer_max_unpool);
}

}  // namespace onnxkit::checker
