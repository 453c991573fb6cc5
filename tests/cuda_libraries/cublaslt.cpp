// Stands in for libcublasLt: reads the descriptors that it is given and multiplies with plain loops. It refuses what NVIDIA's documentation does
// not allow, so that a wrong descriptor is an error or a wrong number.
#include "libonnxkit/cuda/libraries/cublaslt.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <type_traits>
#include <vector>

#include "tests/cuda_libraries/memory.h"

namespace {

using namespace onnxkit::cuda::cublaslt;
using onnxkit::ElementType;

struct LayoutState {
  std::int32_t type = 0, order = 0, batches = 1;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0, stride = 0;
};

struct OperationState {
  std::int32_t compute = 0, scale = 0, transpose_a = 0, transpose_b = 0, bias_type = -1;
  std::uint32_t epilogue = 1;
  const void *bias = nullptr, *a_scale = nullptr, *b_scale = nullptr;
  std::int32_t a_scale_mode = 0, b_scale_mode = 0;
  std::int64_t bias_stride = 0;
};

struct PreferenceState {
  std::uint64_t most_workspace = 0;
  std::uint32_t alignment[4] = {256, 256, 256, 256};
};

/// What was made and not destroyed; a pointer that is not among it is refused.
struct Live {
  std::mutex mutex;
  std::set<const void*> all;
};
Live& live() {
  static Live state;
  return state;
}
template <class T>
T* made(T* state) {
  const std::scoped_lock lock(live().mutex);
  live().all.insert(state);
  return state;
}
bool is_live(const void* state) {
  const std::scoped_lock lock(live().mutex);
  return live().all.contains(state);
}
template <class T>
Status destroy(void* state) {
  {
    const std::scoped_lock lock(live().mutex);
    if (live().all.erase(state) == 0) return invalid_value;
  }
  delete static_cast<T*>(state);
  return success;
}

template <class T>
Status assign(T& to, const void* value, std::size_t bytes) {
  if (!value || bytes != sizeof(T)) return invalid_value;
  std::memcpy(&to, value, bytes);
  return success;
}

std::optional<ElementType> element_type(std::int32_t type) {
  switch (static_cast<DataType>(type)) {
    case DataType::f32:
      return ElementType::float32;
    case DataType::f64:
      return ElementType::float64;
    case DataType::f16:
      return ElementType::float16;
    case DataType::bf16:
      return ElementType::bfloat16;
    case DataType::f8_e4m3:
      return ElementType::float8e4m3fn;
  }
  return std::nullopt;
}

/// As devices of other capabilities than 9.0 do.
bool refuses_scales() { return std::getenv("ONNXKIT_STAND_IN_WITHOUT_SCALES") != nullptr; }

bool has_bias(const OperationState& o) { return (o.epilogue & static_cast<std::uint32_t>(Epilogue::bias)) != 0; }

/// What is multiplied: the descriptors of a call, read and found sound.
struct Product {
  OperationState operation;
  LayoutState a, b, c, d;
  ElementType type = ElementType::float32, to = ElementType::float32;
  std::int64_t m = 0, n = 0, k = 0;

  /// One algorithm is made for one description.
  std::uint64_t hash() const;
};

bool is_sound(const LayoutState& l, std::uint64_t rows, std::uint64_t columns, std::int32_t batches) {
  return l.order == 0 && l.rows == rows && l.columns == columns && l.batches == batches &&
         l.leading >= static_cast<std::int64_t>(rows);
}

bool are_types_known(const Product& p) {
  const auto compute = static_cast<ComputeType>(p.operation.compute);
  const auto scale = static_cast<DataType>(p.operation.scale);
  if (p.a.type != p.b.type || p.c.type != p.d.type) return false;
  if (compute == ComputeType::f64)
    return scale == DataType::f64 && p.type == ElementType::float64 && p.to == ElementType::float64;
  if (scale != DataType::f32 || p.type == ElementType::float64 || p.to == ElementType::float64) return false;
  if (compute == ComputeType::tf32 && p.type != ElementType::float32) return false;
  if (p.type == ElementType::float8e4m3fn) return p.to != p.type;
  return p.to == p.type || p.to == ElementType::float32;
}

bool has_scales(const OperationState& o) {
  return o.a_scale_mode == static_cast<std::int32_t>(ScaleMode::outer_vector);
}

/// As NVIDIA's documentation asks of float8: the terms side by side in both factors, at multiples of 16 bytes; scales of rows and columns, if any, of
/// both factors and without a batch.
bool is_sound_float8(const Product& p) {
  const OperationState& o = p.operation;
  constexpr std::int64_t multiple = 16;
  const auto width = onnxkit::cuda_libraries::width_of(p.to);
  if (o.transpose_a == 0 || o.transpose_b != 0 || p.k % multiple != 0 || p.m % multiple != 0) return false;
  if (p.a.leading % multiple != 0 || p.b.leading % multiple != 0 || p.d.leading * width % multiple != 0) return false;
  if (o.a_scale_mode != o.b_scale_mode) return false;
  return !has_scales(o) || (o.a_scale && o.b_scale && p.d.batches == 1 && !refuses_scales());
}

Status read(Product& p, Operation operation, Layout a, Layout b, Layout c, Layout d) {
  for (const void* state : std::initializer_list<const void*>{operation, a, b, c, d})
    if (!is_live(state)) return invalid_value;
  p.operation = *reinterpret_cast<OperationState*>(operation);
  p.a = *reinterpret_cast<LayoutState*>(a);
  p.b = *reinterpret_cast<LayoutState*>(b);
  p.c = *reinterpret_cast<LayoutState*>(c);
  p.d = *reinterpret_cast<LayoutState*>(d);
  const auto type = element_type(p.a.type), to = element_type(p.d.type);
  if (!type || !to) return not_supported;
  p.type = *type;
  p.to = *to;
  if (!are_types_known(p)) return not_supported;
  p.m = static_cast<std::int64_t>(p.d.rows);
  p.n = static_cast<std::int64_t>(p.d.columns);
  p.k = static_cast<std::int64_t>(p.operation.transpose_a != 0 ? p.a.rows : p.a.columns);
  const auto m = p.d.rows, n = p.d.columns, k = static_cast<std::uint64_t>(p.k);
  const bool a_swaps = p.operation.transpose_a != 0, b_swaps = p.operation.transpose_b != 0;
  const std::int32_t batches = p.d.batches;
  if (!is_sound(p.a, a_swaps ? k : m, a_swaps ? m : k, batches) ||
      !is_sound(p.b, b_swaps ? n : k, b_swaps ? k : n, batches) || !is_sound(p.c, m, n, batches) ||
      !is_sound(p.d, m, n, batches) || (batches > 1 && p.d.stride == 0))
    return invalid_value;
  if (p.type == ElementType::float8e4m3fn && !is_sound_float8(p)) return not_supported;
  if (p.type != ElementType::float8e4m3fn && (p.operation.a_scale_mode != 0 || p.operation.b_scale_mode != 0))
    return not_supported;
  // Epilogues in double are left out to have a type that lacks them.
  if (p.to == ElementType::float64 && p.operation.epilogue != static_cast<std::uint32_t>(Epilogue::none))
    return not_supported;
  if (has_bias(p.operation) && (!p.operation.bias || p.operation.bias_type != p.d.type)) return not_supported;
  return success;
}

std::uint64_t Product::hash() const {
  std::uint64_t hash = 1469598103934665603ULL;
  const auto add = [&](auto value) { hash = (hash ^ static_cast<std::uint64_t>(value)) * 1099511628211ULL; };
  for (const LayoutState* l : {&a, &b, &c, &d}) {
    for (const std::int64_t value :
         {std::int64_t{l->type}, static_cast<std::int64_t>(l->rows), static_cast<std::int64_t>(l->columns), l->leading,
          l->stride, std::int64_t{l->batches}})
      add(value);
  }
  for (const auto value : {operation.compute, operation.transpose_a, operation.transpose_b}) add(value);
  add(operation.epilogue);
  add(operation.bias_stride);
  add(operation.a_scale_mode);
  return hash;
}

double activated(std::uint32_t epilogue, double x) {
  if ((epilogue & static_cast<std::uint32_t>(Epilogue::relu)) != 0) return std::isnan(x) ? x : std::fmax(x, 0);
  if ((epilogue & static_cast<std::uint32_t>(Epilogue::gelu)) != 0)
    return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
  return x;
}

struct Operands {
  const void *a, *b, *c;
  void* d;
  double alpha, beta;
};

std::vector<double> factor(const Product& p, const LayoutState& l, const void* first, std::int64_t batch) {
  std::vector<double> numbers(l.rows * l.columns);
  const bool rounds = static_cast<ComputeType>(p.operation.compute) == ComputeType::tf32;
  for (std::uint64_t column = 0; column < l.columns; ++column) {
    for (std::uint64_t row = 0; row < l.rows; ++row) {
      const auto at = static_cast<std::int64_t>(column) * l.leading + static_cast<std::int64_t>(row) + batch * l.stride;
      const double value = onnxkit::cuda_libraries::element(p.type, first, at);
      numbers[column * l.rows + row] = rounds ? onnxkit::cuda_libraries::as_tf32(value) : value;
    }
  }
  return numbers;
}

void multiply_batch(const Product& p, const Operands& operands, std::int64_t batch) {
  const std::vector<double> a = factor(p, p.a, operands.a, batch), b = factor(p, p.b, operands.b, batch);
  const bool a_swaps = p.operation.transpose_a != 0, b_swaps = p.operation.transpose_b != 0;
  for (std::int64_t column = 0; column < p.n; ++column) {
    for (std::int64_t row = 0; row < p.m; ++row) {
      double sum = 0;
      for (std::int64_t i = 0; i < p.k; ++i)
        sum += a[static_cast<std::size_t>(a_swaps ? row * p.k + i : i * p.m + row)] *
               b[static_cast<std::size_t>(b_swaps ? i * p.n + column : column * p.k + i)];
      sum *= operands.alpha;
      if (has_scales(p.operation))
        sum *= onnxkit::cuda_libraries::element(ElementType::float32, p.operation.a_scale, row) *
               onnxkit::cuda_libraries::element(ElementType::float32, p.operation.b_scale, column);
      if (operands.beta != 0)
        sum += operands.beta *
               onnxkit::cuda_libraries::element(p.to, operands.c, column * p.c.leading + row + batch * p.c.stride);
      if (has_bias(p.operation))
        sum += onnxkit::cuda_libraries::element(p.to, p.operation.bias, row + batch * p.operation.bias_stride);
      onnxkit::cuda_libraries::set_element(p.to, operands.d, column * p.d.leading + row + batch * p.d.stride,
                                           activated(p.operation.epilogue, sum));
    }
  }
}

constexpr std::size_t workspace_bytes = 512;
std::size_t workspace_of(const Product& p) { return p.k > 4 ? workspace_bytes : 0; }

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT std::size_t cublasLtGetVersion() {
  const char* version = std::getenv("ONNXKIT_STAND_IN_VERSION");
  return version ? std::strtoul(version, nullptr, 10) : 130000;
}
EXPORT std::size_t onnxkit_cublaslt_live() {
  const std::scoped_lock lock(live().mutex);
  return live().all.size();
}
EXPORT Status cublasLtCreate(Handle* handle) {
  *handle = reinterpret_cast<Handle>(made(new int(0)));
  return success;
}
EXPORT Status cublasLtDestroy(Handle handle) { return destroy<int>(handle); }

EXPORT Status cublasLtMatmulDescCreate(Operation* operation, ComputeType compute, DataType scale) {
  *operation = reinterpret_cast<Operation>(
      made(new OperationState{.compute = static_cast<int>(compute), .scale = static_cast<int>(scale)}));
  return success;
}
EXPORT Status cublasLtMatmulDescDestroy(Operation operation) { return destroy<OperationState>(operation); }
EXPORT Status cublasLtMatmulDescSetAttribute(Operation operation, OperationAttribute name, const void* value,
                                             std::size_t bytes) {
  if (!is_live(operation)) return invalid_value;
  auto& o = *reinterpret_cast<OperationState*>(operation);
  switch (name) {
    case OperationAttribute::transpose_a:
      return assign(o.transpose_a, value, bytes);
    case OperationAttribute::transpose_b:
      return assign(o.transpose_b, value, bytes);
    case OperationAttribute::epilogue:
      return assign(o.epilogue, value, bytes);
    case OperationAttribute::bias_pointer:
      return assign(o.bias, value, bytes);
    case OperationAttribute::bias_stride:
      return assign(o.bias_stride, value, bytes);
    case OperationAttribute::bias_type:
      return assign(o.bias_type, value, bytes);
    case OperationAttribute::a_scale_pointer:
      return assign(o.a_scale, value, bytes);
    case OperationAttribute::b_scale_pointer:
      return assign(o.b_scale, value, bytes);
    case OperationAttribute::a_scale_mode:
      return assign(o.a_scale_mode, value, bytes);
    case OperationAttribute::b_scale_mode:
      return assign(o.b_scale_mode, value, bytes);
    default:
      return invalid_value;
  }
}

EXPORT Status cublasLtMatrixLayoutCreate(Layout* layout, DataType type, std::uint64_t rows, std::uint64_t columns,
                                         std::int64_t leading) {
  *layout = reinterpret_cast<Layout>(
      made(new LayoutState{.type = static_cast<int>(type), .rows = rows, .columns = columns, .leading = leading}));
  return success;
}
EXPORT Status cublasLtMatrixLayoutDestroy(Layout layout) { return destroy<LayoutState>(layout); }
EXPORT Status cublasLtMatrixLayoutSetAttribute(Layout layout, LayoutAttribute name, const void* value,
                                               std::size_t bytes) {
  if (!is_live(layout)) return invalid_value;
  auto& l = *reinterpret_cast<LayoutState*>(layout);
  switch (name) {
    case LayoutAttribute::order:
      return assign(l.order, value, bytes);
    case LayoutAttribute::batches:
      return assign(l.batches, value, bytes);
    case LayoutAttribute::stride:
      return assign(l.stride, value, bytes);
    default:
      return invalid_value;
  }
}

EXPORT Status cublasLtMatmulPreferenceCreate(Preference* preference) {
  *preference = reinterpret_cast<Preference>(made(new PreferenceState()));
  return success;
}
EXPORT Status cublasLtMatmulPreferenceDestroy(Preference preference) { return destroy<PreferenceState>(preference); }
EXPORT Status cublasLtMatmulPreferenceSetAttribute(Preference preference, PreferenceAttribute name, const void* value,
                                                   std::size_t bytes) {
  if (!is_live(preference)) return invalid_value;
  auto& p = *reinterpret_cast<PreferenceState*>(preference);
  if (name == PreferenceAttribute::most_workspace) return assign(p.most_workspace, value, bytes);
  const int matrix = static_cast<int>(name) - static_cast<int>(PreferenceAttribute::alignment_a);
  return matrix >= 0 && matrix < 4 ? assign(p.alignment[matrix], value, bytes) : invalid_value;
}

/// Of a pointer, up to 256.
std::uint64_t alignment_of(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer) | 256U;
  return address & (~address + 1);
}

/// The algorithm holds what it was chosen for: the description and the alignment of the matrices and of the bias.
EXPORT Status cublasLtMatmulAlgoGetHeuristic(Handle handle, Operation operation, Layout a, Layout b, Layout c, Layout d,
                                             Preference preference, int most, HeuristicResult* results, int* found) {
  if (!is_live(handle) || !is_live(preference) || most < 1) return invalid_value;
  Product p;
  if (const Status status = read(p, operation, a, b, c, d); status != success) return status;
  const auto& wishes = *reinterpret_cast<PreferenceState*>(preference);
  if (workspace_of(p) > wishes.most_workspace) return not_supported;
  HeuristicResult result{};
  result.workspace = workspace_of(p);
  result.algorithm.data[0] = p.hash();
  for (int i = 0; i < 4; ++i) result.algorithm.data[1 + i] = wishes.alignment[i];
  result.algorithm.data[5] = has_bias(p.operation) ? alignment_of(p.operation.bias) : 1;
  results[0] = result;
  *found = 1;
  return success;
}

EXPORT Status cublasLtMatmul(Handle handle, Operation operation, const void* alpha, const void* a, Layout a_layout,
                             const void* b, Layout b_layout, const void* beta, const void* c, Layout c_layout, void* d,
                             Layout d_layout, const Algorithm* algorithm, void* workspace, std::size_t bytes,
                             onnxkit::cuda::DriverStream stream) {
  if (!is_live(handle) || !alpha || !beta || !a || !b || !c || !d || !algorithm) return invalid_value;
  Product p;
  if (const Status status = read(p, operation, a_layout, b_layout, c_layout, d_layout); status != success)
    return status;
  if (algorithm->data[0] != p.hash() || bytes < workspace_of(p)) return invalid_value;
  if (workspace_of(p) > 0 && (!workspace || !onnxkit::cuda_libraries::is_aligned(workspace, 256))) return invalid_value;
  const void* matrices[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i)
    if (!onnxkit::cuda_libraries::is_aligned(matrices[i], algorithm->data[1 + i])) return invalid_value;
  if (has_bias(p.operation) && !onnxkit::cuda_libraries::is_aligned(p.operation.bias, algorithm->data[5]))
    return invalid_value;
  const bool is_double = static_cast<DataType>(p.operation.scale) == DataType::f64;
  const auto number = [&](const void* at) {
    return onnxkit::cuda_libraries::element(is_double ? ElementType::float64 : ElementType::float32, at, 0);
  };
  const Operands operands{.a = a, .b = b, .c = c, .d = d, .alpha = number(alpha), .beta = number(beta)};
  if (c == d && operands.beta != 0 && (p.c.leading != p.d.leading || p.c.stride != p.d.stride)) return invalid_value;
  const bool queued = onnxkit::cuda_libraries::run_on(stream, [p, operands, workspace] {
    for (std::int64_t batch = 0; batch < p.d.batches; ++batch) multiply_batch(p, operands, batch);
    constexpr int scribble = 0x5a;
    if (workspace_of(p) > 0) std::memset(workspace, scribble, workspace_of(p));
  });
  return queued ? success : execution_failed;
}
