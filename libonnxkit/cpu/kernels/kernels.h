#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "libonnxkit/base/system/thread_pool.h"

// The float32 kernels of the backend `cpu`. All are compiled once for each instruction set; a caller that names none gets the best that the
// machine has. No pointer needs an alignment, though 64 bytes are fastest. Sizes and strides count floats. Images are NHWC: pixel (n, y, x)
// is at ((n * height + y) * width + x) * pixel_stride, its channels side by side.
namespace onnxkit::cpu {

/// The kernels for one instruction set. Packed operands belong to the one that packed them.
struct Isa;

/// Those of best_level() (level.h).
const Isa& best_isa();
/// Those that this machine can run, best first; the last runs everywhere.
std::vector<const Isa*> usable_isas();
const char* isa_name(const Isa& isa);
/// Floats of a vector.
std::int64_t isa_lanes(const Isa& isa);

/// The most rows and columns of a block that Epilogue::finish sees.
constexpr std::int64_t finish_rows = 48, finish_columns = 512;

/// What becomes of the sums of a product or a convolution, in this order. Rows are rows of c, or pixels of the output counted through all
/// images; columns are columns of c, or channels.
struct Epilogue {
  const float* bias = nullptr;  ///< one number for each column, or none
  const float* residual =
      nullptr;  ///< added: row i is at residual + i * residual_stride; may be where the result is written
  std::int64_t residual_stride = 0;
  bool clamps = false;  ///< to [lower, upper]; a NaN stays
  float lower = 0, upper = 0;
  /// Called once for each finished block, in any order and on any thread of the pool; it changes the block in place. At most finish_rows
  /// rows and finish_columns columns; row i of the block is at block + i * row_stride. Must not throw.
  using Finish = void(const void* state, float* block, std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
                      std::int64_t first_row, std::int64_t first_column);
  Finish* finish = nullptr;
  const void* state = nullptr;
};

/// Floats that a packed b of k rows and n columns takes.
std::int64_t packed_b_floats(std::int64_t k, std::int64_t n, const Isa& isa = best_isa());
/// Packs b, whose element (r, c) is at from + r * k_stride + c * n_stride; one of the strides should be 1. `from` may be any address.
void pack_b(float* to, const float* from, std::int64_t k, std::int64_t n, std::int64_t k_stride, std::int64_t n_stride,
            const Isa& isa = best_isa());
/// The same on all threads.
void pack_b(ThreadPool& threads, float* to, const float* from, std::int64_t k, std::int64_t n, std::int64_t k_stride,
            std::int64_t n_stride, const Isa& isa = best_isa());

/// A number of type bfloat16.
struct Bfloat16 {
  std::uint16_t bits;
};
/// A matrix of bfloat16 where it lies: element (r, c) is at from + r * k_stride + c * n_stride.
struct StoredMatrix {
  const Bfloat16* from = nullptr;
  std::int64_t k_stride = 0, n_stride = 0;
};

/// The type that elements are rounded to.
enum class Rounding : std::uint8_t { none, float16, bfloat16 };
/// A matrix b of numbers of a few bits, with a scale and a zero point for each block of a column: its elements are (number - zero) * scale.
struct NumberBlocks {
  std::int64_t k = 0, n = 0;
  std::int64_t bits = 4;   ///< 4 or 8
  std::int64_t size = 32;  ///< numbers of a block, a multiple of 8
  Rounding rounding = Rounding::none;

  std::int64_t blocks() const { return k / size + (k % size != 0 ? 1 : 0); }  ///< of a column
  std::int64_t byte_rows() const { return bits == 4 ? (k + 1) / 2 : k; }
};
/// Writes the k numbers of a column, one in each byte, and the scales and zero points of its blocks.
using ReadColumn = std::function<void(std::int64_t column, std::uint8_t* numbers, float* scales, float* zeros)>;
/// Floats of memory that it takes packed.
std::int64_t packed_number_floats(const NumberBlocks& numbers, const Isa& isa = best_isa());
/// `read` is called on all threads.
void pack_numbers(ThreadPool& threads, float* to, const NumberBlocks& numbers, const ReadColumn& read,
                  const Isa& isa = best_isa());

/// c = a * b. Row i of a is at a + i * a_stride, its k elements side by side; row i of c is at c + i * c_stride.
struct Product {
  const float* a = nullptr;
  std::int64_t a_stride = 0;
  const float* packed_b = nullptr;
  float* c = nullptr;
  std::int64_t c_stride = 0;
  std::int64_t m = 0, k = 0, n = 0;
  StoredMatrix stored_b = {};             ///< in the place of packed_b: packed part by part while it is multiplied
  const NumberBlocks* numbers = nullptr;  ///< packed_b is from pack_numbers(): made floats part by part
};
/// The result does not depend on the number of threads.
void product(ThreadPool& threads, const Product& product, const Epilogue& epilogue = {}, const Isa& isa = best_isa());

/// A window that moves over an image; what a convolution and a pooling have in common. A convolution in one dimension has height 1.
struct Window {
  std::int64_t images = 1, height = 1, width = 1, channels = 1;  ///< of the input
  std::int64_t out_height = 1, out_width = 1;
  std::int64_t kernel_height = 1, kernel_width = 1;
  std::int64_t stride_height = 1, stride_width = 1;
  std::int64_t dilation_height = 1, dilation_width = 1;
  std::int64_t pad_top = 0,
               pad_left = 0;  ///< what the window covers beyond the other two borders counts as padding as well
  std::int64_t in_pixel_stride = 1, out_pixel_stride = 1;  ///< at least the channels of the input and of the output
  std::int64_t in_row_stride = 0, in_image_stride = 0;     ///< 0: rows, or images, follow one another
  std::int64_t out_row_stride = 0, out_image_stride = 0;   ///< the same; of a convolution only
};

struct Convolution {
  Window window;
  std::int64_t out_channels = 1, groups = 1;
  bool has_finite_weights = false;  ///< those that meet padding may be passed over
};
/// Which of two orders packed weights have: it depends on the window, too, not on the weights alone.
bool packs_by_columns(const Convolution& convolution, const Isa& isa = best_isa());
/// Floats that the packed weights take.
std::int64_t packed_weights_floats(const Convolution& convolution, const Isa& isa = best_isa());
/// Packs weights in ONNX's order [out_channels][channels / groups][kernel_height][kernel_width]. They may be at any address.
void pack_weights(ThreadPool& threads, float* to, const float* weights, const Convolution& convolution,
                  const Isa& isa = best_isa());
/// Dense, grouped or depthwise. The result does not depend on the number of threads.
void convolve(ThreadPool& threads, const Convolution& convolution, const float* in, const float* packed_weights,
              float* out, const Epilogue& epilogue = {}, const Isa& isa = best_isa());

struct Pooling {
  Window window;
  enum class Kind { max, average } kind = Kind::max;
  /// For averages: padding counts, up to pad_bottom and pad_right beyond the image.
  bool count_include_pad = false;
  std::int64_t pad_bottom = 0, pad_right = 0;
};
/// A maximum passes NaN on; that of a window without an element is the lowest float, its average 0.
void pool(ThreadPool& threads, const Pooling& pooling, const float* in, float* out, const Isa& isa = best_isa());

/// Rows of floats side by side.
struct Rows {
  const float* from = nullptr;
  std::int64_t from_stride = 0;
  float* to = nullptr;  ///< may be `from`
  std::int64_t to_stride = 0;
  std::int64_t rows = 0, columns = 0;
};
void softmax_rows(ThreadPool& threads, const Rows& rows, const Isa& isa = best_isa());
void log_softmax_rows(ThreadPool& threads, const Rows& rows, const Isa& isa = best_isa());

struct Normalization {
  float epsilon = 0;
  const float* scale = nullptr;  ///< one number for each column, or none
  const float* bias = nullptr;   ///< the same
  bool centers = true;           ///< LayerNormalization; otherwise RMSNormalization, which does not subtract the mean
};
void normalize_rows(ThreadPool& threads, const Rows& rows, const Normalization& normalization,
                    const Isa& isa = best_isa());

enum class Reduction { sum, mean, max, min, product };
/// to[i] = what row i is reduced to. A maximum or minimum passes NaN on; that of nothing is the lowest or the largest float.
void reduce_rows(ThreadPool& threads, Reduction reduction, const float* from, std::int64_t row_stride,
                 std::int64_t rows, std::int64_t columns, float* to, const Isa& isa = best_isa());
/// to[j] = what column j is reduced to; a global average pooling of one image when rows are its pixels.
void reduce_columns(ThreadPool& threads, Reduction reduction, const float* from, std::int64_t row_stride,
                    std::int64_t rows, std::int64_t columns, float* to, const Isa& isa = best_isa());
/// The same for doubles, and for integers, which wrap and have no mean. Sums of doubles keep what additions round off.
void reduce_rows(ThreadPool& threads, Reduction reduction, const double* from, std::int64_t row_stride,
                 std::int64_t rows, std::int64_t columns, double* to, const Isa& isa = best_isa());
void reduce_columns(ThreadPool& threads, Reduction reduction, const double* from, std::int64_t row_stride,
                    std::int64_t rows, std::int64_t columns, double* to, const Isa& isa = best_isa());
void reduce_rows(ThreadPool& threads, Reduction reduction, const std::int64_t* from, std::int64_t row_stride,
                 std::int64_t rows, std::int64_t columns, std::int64_t* to, const Isa& isa = best_isa());
void reduce_columns(ThreadPool& threads, Reduction reduction, const std::int64_t* from, std::int64_t row_stride,
                    std::int64_t rows, std::int64_t columns, std::int64_t* to, const Isa& isa = best_isa());

/// Writes the places of all numbers that are not worse than `bound`, in their order, and returns how many they are. `places` has room for `count`.
/// NaN is the largest number.
std::int64_t places_of_best(bool is_largest, const float* from, std::int64_t count, float bound, std::int64_t* places,
                            const Isa& isa = best_isa());

/// to[i * to_row + j] = from[i + j * from_column] for numbers of 32 bits of any type, on the calling thread.
void transpose(float* to, const float* from, std::int64_t rows, std::int64_t columns, std::int64_t to_row,
               std::int64_t from_column, const Isa& isa = best_isa());

enum class Function {
  exp,
  log,
  tanh,
  erf,
  sigmoid,
  silu,  ///< x * sigmoid(x)
  atan,
  asin,
  acos
};
/// to[i] = function(from[i]) for count floats; `to` may be `from`. exp and log are at most 2 units in the last place off, the others at
/// most 3, over all floats; results underflow gradually.
using ArrayFunction = void(float* to, const float* from, std::int64_t count);
ArrayFunction* array_function(Function function, const Isa& isa = best_isa());

/// One head of attention: out = softmax(q * k^T * scale + mask) * v. Row i of q is at q + i * q_stride, and so on.
struct Attention {
  const float* q = nullptr;
  std::int64_t q_stride = 0;
  const float* k = nullptr;
  std::int64_t k_stride = 0;
  const float* v = nullptr;
  std::int64_t v_stride = 0;
  float* out = nullptr;
  std::int64_t out_stride = 0;
  std::int64_t queries = 0, keys = 0, depth = 0, value_depth = 0;  ///< k has depth columns, v has value_depth
  float scale = 1;
  const float* mask = nullptr;  ///< added: row i is at mask + i * mask_stride; or none
  std::int64_t mask_stride = 0;
  bool mask_replaces = false;  ///< it is 0 or takes a score's place
  float softcap = 0;           ///< scores are softcap * tanh(score / softcap) before the mask is added; 0: as they are
  /// Query i sees the keys up to i + causal_offset only, if causal.
  bool causal = false;
  std::int64_t causal_offset = 0;
  float blind = 0;  ///< what a query gets that sees no key: 0 or NaN
};
/// One head of linear attention, as plan::linear_attention_step computes it. Rows of q, k, v and y are so far apart in time.
struct LinearAttention {
  std::int64_t time = 0, keys = 0, values = 0, results = 0;
  const float* const* q = nullptr;  ///< by result; so is y
  float* const* y = nullptr;
  const float *k = nullptr, *v = nullptr;
  const float *decay = nullptr, *rate = nullptr;  ///< null: none
  std::int64_t q_stride = 0, k_stride = 0, v_stride = 0, y_stride = 0;
  std::int64_t decay_stride = 0, decay_key_stride = 0, rate_stride = 0;  ///< one decay for all keys: 0
  float scale = 1;
  float* state = nullptr;    ///< [keys, values]: the first, then the last one
  float* factors = nullptr;  ///< room for `keys` floats
};
void linear_attend(const LinearAttention& attention, const Isa& isa = best_isa());

/// Points that are sums of rows, as plan::weighted_gather_step computes them. Tap t of point p is at positions + p * position_stride + t *
/// position_tap_stride, its weight likewise.
struct WeightedGather {
  const float* data = nullptr;
  std::int64_t rows = 0, row_stride = 0, column_stride = 1;
  const std::int64_t* positions = nullptr;
  std::int64_t position_stride = 0, position_tap_stride = 0;
  const float* weights = nullptr;
  std::int64_t weight_stride = 0, weight_tap_stride = 0;
  std::int64_t points = 0, taps = 0, columns = 0;
  float* y = nullptr;
  std::int64_t y_stride = 0, y_column_stride = 1;
  bool takes_greatest = false;
};
/// On the calling thread. False where a position is behind the last row.
bool weighted_gather(const WeightedGather& gather, const Isa& isa = best_isa());

/// Up to this many queries, packing the keys and values costs more than reading them row by row.
inline constexpr std::int64_t few_queries = 4;
/// Floats of scratch that attend() needs, for each thread.
std::int64_t attention_scratch_floats(const Attention& attention, const Isa& isa = best_isa());
/// On the calling thread; the caller divides heads among threads. A row of which every key is masked by -infinity becomes zeros.
void attend(const Attention& attention, float* scratch, const Isa& isa = best_isa());

}  // namespace onnxkit::cpu
