#include "libonnxkit/cuda/text/prelude.h"

#include <string>

// A compiler may refuse string literals of more than 64 KiB, so the parts stay apart.
namespace onnxkit::cuda {
namespace {

constexpr std::string_view types = R"cuda(
// Numbers as they are stored. Loads give float, double or long long; stores narrow: to nearest, ties to even; integers wrap.
struct float16 {
  unsigned short bits;
};
struct bfloat16 {
  unsigned short bits;
};
/// ONNX's float8e4m3fn: 4 bits of exponent, 3 of mantissa, no infinity; stores saturate at 448.
struct float8 {
  unsigned char bits;
};

__device__ __forceinline__ unsigned bits_of(float x) { return __float_as_uint(x); }
__device__ __forceinline__ float float_of(unsigned bits) { return __uint_as_float(bits); }

/// The float next to x whose last bit is 1, unless x is a float: rounding it once more is rounding x.
__device__ __forceinline__ float rounded_to_odd(double x) {
  const float near = (float)x;
  const unsigned bits = bits_of(near);
  if (near == x || x != x || bits & 1) return near;
  const bool is_short = fabs((double)near) < fabs(x);
  return float_of(is_short ? bits + 1 : bits - 1);
}

__device__ __forceinline__ float decoded(float x) { return x; }
__device__ __forceinline__ double decoded(double x) { return x; }
__device__ __forceinline__ long long decoded(long long x) { return x; }
__device__ __forceinline__ long long decoded(unsigned long long x) { return (long long)x; }
__device__ __forceinline__ long long decoded(int x) { return x; }
__device__ __forceinline__ long long decoded(unsigned x) { return x; }
__device__ __forceinline__ long long decoded(short x) { return x; }
__device__ __forceinline__ long long decoded(unsigned short x) { return x; }
__device__ __forceinline__ long long decoded(signed char x) { return x; }
__device__ __forceinline__ long long decoded(unsigned char x) { return x; }
__device__ __forceinline__ long long decoded(bool x) { return x ? 1 : 0; }
__device__ __forceinline__ float decoded(bfloat16 x) { return float_of((unsigned)x.bits << 16); }
__device__ __forceinline__ float decoded(float16 x) {
#ifdef ONNXKIT_CUDA_HOST
  const unsigned sign = (x.bits & 0x8000u) << 16, rest = x.bits & 0x7fffu;
  const float scaled = float_of(rest << 13) * 0x1p112f;
  return float_of((rest >= 0x7c00u ? rest << 13 | 0x7f800000u : bits_of(scaled)) | sign);
#else
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
#endif
}

__device__ __forceinline__ float decoded(float8 x) {
  const unsigned sign = (x.bits & 0x80u) << 24, rest = x.bits & 0x7fu;
  const float scaled = float_of(rest << 20) * 0x1p120f;
  return float_of((rest == 0x7fu ? 0x7fc00000u : bits_of(scaled)) | sign);
}

template <class Stored, class T>
__device__ __forceinline__ Stored encoded(T x) {
  return (Stored)x;
}
template <>
__device__ __forceinline__ bool encoded<bool, long long>(long long x) {
  return x != 0;
}
template <>
__device__ __forceinline__ float16 encoded<float16, float>(float x) {
#ifdef ONNXKIT_CUDA_HOST
  const unsigned bits = bits_of(x), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  unsigned result = 0;
  if (magnitude > 0x7f800000u) {
    result = 0x7e00u;
  } else if (magnitude >= 0x477ff000u) {  // rounds beyond 65504
    result = 0x7c00u;
  } else if (magnitude < 0x38800000u) {  // below the least normal number; floats from 2^-1 on are 2^-24 apart
    result = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000u;
  } else {
    result = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  }
  return float16{(unsigned short)(sign | result)};
#else
  float16 y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
#endif
}
template <>
__device__ __forceinline__ bfloat16 encoded<bfloat16, float>(float x) {
#ifdef ONNXKIT_CUDA_HOST
  const unsigned bits = bits_of(x);
  if (x != x) return bfloat16{(unsigned short)(bits >> 16 | 0x40u)};
  return bfloat16{(unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
#else
  bfloat16 y;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
#endif
}
template <>
__device__ __forceinline__ float8 encoded<float8, float>(float x) {
  const unsigned bits = bits_of(x), sign = bits >> 24 & 0x80u, magnitude = bits & 0x7fffffffu;
  unsigned result = 0;
  if (magnitude > 0x7f800000u) {
    result = 0x7fu;
  } else if (magnitude >= 0x43e00000u) {  // 448, the greatest number
    result = 0x7eu;
  } else if (magnitude < 0x3c800000u) {  // below the least normal number; floats from 2^14 on are 2^-9 apart
    result = bits_of(float_of(magnitude) + 0x1p14f) - 0x46800000u;
  } else {
    result = (magnitude - 0x3c000000u + 0x7ffffu + (magnitude >> 20 & 1u)) >> 20;
  }
  return float8{(unsigned char)(sign | result)};
}
template <>
__device__ __forceinline__ float16 encoded<float16, double>(double x) {
  return encoded<float16>(rounded_to_odd(x));
}
template <>
__device__ __forceinline__ bfloat16 encoded<bfloat16, double>(double x) {
  return encoded<bfloat16>(rounded_to_odd(x));
}

template <>
__device__ __forceinline__ float8 encoded<float8, double>(double x) {
  return encoded<float8>(rounded_to_odd(x));
}

/// The least power of two, none that is subnormal, over which numbers up to `most` are at most 448; NaN where `most` is not finite.
__device__ __forceinline__ float float8_scale(float most) {
  if (!(most < float_of(0x7f800000u))) return float_of(0x7fc00000u);
  const unsigned power = (bits_of(most) + 0x1fffffu) & 0x7f800000u;  // 448 is 1.75 times a power
  return float_of(power > 0x04800000u ? power - 0x04000000u : 0x00800000u);
}
/// 1 over a power of two that is not subnormal; something of a NaN.
__device__ __forceinline__ float over_power(float power) { return float_of(0x7f000000u - bits_of(power)); }

/// Between float, double and long long. What no long long holds becomes the nearest end, NaN 0.
template <class To, class From>
__device__ __forceinline__ To converted(From x) {
  return (To)x;
}
template <>
__device__ __forceinline__ long long converted<long long, float>(float x) {
  return x >= -0x1p63f && x < 0x1p63f ? (long long)x : x != x ? 0 : (long long)(x > 0 ? ~0ull >> 1 : 1ull << 63);
}
template <>
__device__ __forceinline__ long long converted<long long, double>(double x) {
  return x >= -0x1p63 && x < 0x1p63 ? (long long)x : x != x ? 0 : (long long)(x > 0 ? ~0ull >> 1 : 1ull << 63);
}

/// Neighbours that are loaded and stored at once.
template <class T, int count>
struct alignas(sizeof(T) * count) Pack {
  T at[count];
};
template <int count, class T>
__device__ __forceinline__ Pack<T, count> load_pack(const T* from) {
  return *(const Pack<T, count>*)from;
}
template <int count, class T>
__device__ __forceinline__ Pack<T, count> repeated(T element) {
  Pack<T, count> pack;
#pragma unroll
  for (int i = 0; i < count; ++i) pack.at[i] = element;
  return pack;
}
template <int count, class T>
__device__ __forceinline__ void store_pack(T* to, const Pack<T, count>& pack) {
  *(Pack<T, count>*)to = pack;
}
)cuda";

constexpr std::string_view functions = R"cuda(
// A name for each operation, by number type. Comparisons with NaN are false; smaller and larger pass it on. Integers wrap.
#define UNARY_FUNCTION(name, function)                                      \
  __device__ __forceinline__ float name(float x) { return function##f(x); } \
  __device__ __forceinline__ double name(double x) { return function(x); }
UNARY_FUNCTION(exp_of, exp)
UNARY_FUNCTION(log_of, log)
UNARY_FUNCTION(sqrt_of, sqrt)
UNARY_FUNCTION(tanh_of, tanh)
UNARY_FUNCTION(erf_of, erf)
UNARY_FUNCTION(sin_of, sin)
UNARY_FUNCTION(cos_of, cos)
UNARY_FUNCTION(tan_of, tan)
UNARY_FUNCTION(asin_of, asin)
UNARY_FUNCTION(acos_of, acos)
UNARY_FUNCTION(atan_of, atan)
UNARY_FUNCTION(sinh_of, sinh)
UNARY_FUNCTION(cosh_of, cosh)
UNARY_FUNCTION(asinh_of, asinh)
UNARY_FUNCTION(acosh_of, acosh)
UNARY_FUNCTION(atanh_of, atanh)
UNARY_FUNCTION(floor_of, floor)
UNARY_FUNCTION(ceil_of, ceil)
UNARY_FUNCTION(round_of, rint)
UNARY_FUNCTION(trunc_of, trunc)
UNARY_FUNCTION(absolute, fabs)
#undef UNARY_FUNCTION

typedef unsigned long long Natural;

__device__ __forceinline__ long long plus(long long x, long long y) { return (long long)((Natural)x + (Natural)y); }
__device__ __forceinline__ long long minus(long long x, long long y) { return (long long)((Natural)x - (Natural)y); }
__device__ __forceinline__ long long times(long long x, long long y) { return (long long)((Natural)x * (Natural)y); }
__device__ __forceinline__ long long negated(long long x) { return (long long)(0 - (Natural)x); }
__device__ __forceinline__ long long absolute(long long x) { return x < 0 ? negated(x) : x; }
__device__ __forceinline__ long long over(long long x, long long y) {
  return y == 0 ? 0 : y == -1 ? negated(x) : x / y;
}
/// Takes the sign of the divisor.
__device__ __forceinline__ long long modulo(long long x, long long y) {
  if (y == 0 || y == -1) return 0;
  const long long rest = x % y;
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}
/// Takes the sign of the dividend.
__device__ __forceinline__ long long remainder_of(long long x, long long y) {
  return y == 0 || y == -1 ? 0 : x % y;
}
__device__ __forceinline__ float remainder_of(float x, float y) { return fmodf(x, y); }
__device__ __forceinline__ double remainder_of(double x, double y) { return fmod(x, y); }
__device__ __forceinline__ float modulo(float x, float y) {
  const float rest = remainder_of(x, y);
  if (rest == 0) return copysignf(0.0f, y);
  return (rest < 0) != (y < 0) ? rest + y : rest;
}
__device__ __forceinline__ double modulo(double x, double y) {
  const double rest = remainder_of(x, y);
  if (rest == 0) return copysign(0.0, y);
  return (rest < 0) != (y < 0) ? rest + y : rest;
}
__device__ __forceinline__ long long shifted_left(long long x, long long by) {
  return by < 0 || by >= 64 ? 0 : (long long)((Natural)x << by);
}
__device__ __forceinline__ long long shifted_right(long long x, long long by) {
  return by < 0 || by >= 64 ? (x < 0 ? -1 : 0) : x >> by;
}

__device__ __forceinline__ float power(float x, float y) { return y == 2 ? x * x : powf(x, y); }
__device__ __forceinline__ double power(double x, double y) { return y == 2 ? x * x : pow(x, y); }
__device__ __forceinline__ long long power(long long x, long long y) {
  if (y < 0) return x == 1 || (x == -1 && y % 2 == 0) ? 1 : x == -1 ? -1 : 0;
  long long result = 1;
  for (; y > 0; y /= 2, x = times(x, x)) {
    if (y % 2 != 0) result = times(result, x);
  }
  return result;
}

template <class T>
__device__ __forceinline__ T smaller(T x, T y) {
  return x < y || x != x ? x : y;
}
template <class T>
__device__ __forceinline__ T larger(T x, T y) {
  return x > y || x != x ? x : y;
}
template <class T>
__device__ __forceinline__ T sign_of(T x) {
  return x != x ? x : (T)((x > 0) - (x < 0));
}
template <class T>
__device__ __forceinline__ long long is_infinite(T x) {
  return x == x && x - x != x - x;
}
/// Small results underflow gradually.
template <class T>
__device__ __forceinline__ T sigmoid_of(T x) {
  const T power = exp_of(-absolute(x));
  return (x < 0 ? power : (T)1) / (power + (T)1);
}

template <class T>
struct Sum {
  __device__ __forceinline__ T operator()(T x, T y) const { return x + y; }
};
template <>
struct Sum<long long> {
  __device__ __forceinline__ long long operator()(long long x, long long y) const { return plus(x, y); }
};
template <class T>
struct Product {
  __device__ __forceinline__ T operator()(T x, T y) const { return x * y; }
};
template <>
struct Product<long long> {
  __device__ __forceinline__ long long operator()(long long x, long long y) const { return times(x, y); }
};
template <class T>
struct Largest {
  __device__ __forceinline__ T operator()(T x, T y) const { return larger(x, y); }
};
template <class T>
struct Smallest {
  __device__ __forceinline__ T operator()(T x, T y) const { return smaller(x, y); }
};
)cuda";

constexpr std::string_view blocks = R"cuda(
/// Combines the numbers of `width` neighbouring threads, a power of two; all of them get the result. All threads of the block must come here, and
/// there is a multiple of 32.
template <int width, class Combine, class T>
__device__ __forceinline__ T combined(T x) {
  const Combine combine;
#pragma unroll
  for (int mask = 1; mask < (width < 32 ? width : 32); mask *= 2) x = combine(x, __shfl_xor_sync(0xffffffffu, x, mask));
  if (width > 32) {
    constexpr int warps = width > 32 ? width / 32 : 1;
    __shared__ T parts[32];
    const int warp = threadIdx.x / 32, first = warp / warps * warps;
    __syncthreads();  // the parts of an earlier call have been read
    if (threadIdx.x % 32 == 0) parts[warp] = x;
    __syncthreads();
    x = parts[first];
    for (int i = 1; i < warps; ++i) x = combine(x, parts[first + i]);
  }
  return x;
}
)cuda";

}  // namespace

std::string_view prelude() {
  static const std::string all = std::string(types) + std::string(functions) + std::string(blocks);
  return all;
}

}  // namespace onnxkit::cuda
