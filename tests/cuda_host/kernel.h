#pragma once

// Stands before the text of a program that NVRTC would compile: keywords, built-in variables and functions of CUDA for a compiler of the host.
#include "thread.h"

extern "C" __attribute__((visibility("default"))) HostThread* onnxkit_host_thread;
HostThread* onnxkit_host_thread = nullptr;

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __constant__ static
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define threadIdx (onnxkit_host_thread->thread)
#define blockIdx (onnxkit_host_thread->block)
#define blockDim (onnxkit_host_thread->threads)
#define gridDim (onnxkit_host_thread->blocks)
#define warpSize 32

// ---- mathematics: those of C, and by number type
extern "C" {
double exp(double), exp2(double), expm1(double), log(double), log2(double), log10(double), log1p(double), sqrt(double),
    cbrt(double);
double tanh(double), erf(double), erfc(double), sin(double), cos(double), tan(double), asin(double), acos(double),
    atan(double);
double sinh(double), cosh(double), asinh(double), acosh(double), atanh(double), floor(double), ceil(double),
    trunc(double), rint(double), nearbyint(double), round(double), fabs(double), tgamma(double), lgamma(double);
double pow(double, double), fmod(double, double), fmin(double, double), fmax(double, double), copysign(double, double),
    atan2(double, double), hypot(double, double), fma(double, double, double), ldexp(double, int), scalbn(double, int);
float expf(float), exp2f(float), expm1f(float), logf(float), log2f(float), log10f(float), log1pf(float), sqrtf(float),
    cbrtf(float);
float tanhf(float), erff(float), erfcf(float), sinf(float), cosf(float), tanf(float), asinf(float), acosf(float),
    atanf(float);
float sinhf(float), coshf(float), asinhf(float), acoshf(float), atanhf(float), floorf(float), ceilf(float),
    truncf(float), rintf(float), nearbyintf(float), roundf(float), fabsf(float), tgammaf(float), lgammaf(float);
float powf(float, float), fmodf(float, float), fminf(float, float), fmaxf(float, float), copysignf(float, float),
    atan2f(float, float), hypotf(float, float), fmaf(float, float, float), ldexpf(float, int), scalbnf(float, int);
}
#define ONNXKIT_HOST_ONE(name) \
  inline float name(float x) { return name##f(x); }
ONNXKIT_HOST_ONE(exp)
ONNXKIT_HOST_ONE(exp2)
ONNXKIT_HOST_ONE(expm1)
ONNXKIT_HOST_ONE(log)
ONNXKIT_HOST_ONE(log2)
ONNXKIT_HOST_ONE(log1p)
ONNXKIT_HOST_ONE(sqrt)
ONNXKIT_HOST_ONE(tanh)
ONNXKIT_HOST_ONE(erf)
ONNXKIT_HOST_ONE(sin)
ONNXKIT_HOST_ONE(cos)
ONNXKIT_HOST_ONE(tan)
ONNXKIT_HOST_ONE(asin)
ONNXKIT_HOST_ONE(acos)
ONNXKIT_HOST_ONE(atan)
ONNXKIT_HOST_ONE(sinh)
ONNXKIT_HOST_ONE(cosh)
ONNXKIT_HOST_ONE(asinh)
ONNXKIT_HOST_ONE(acosh)
ONNXKIT_HOST_ONE(atanh)
ONNXKIT_HOST_ONE(floor)
ONNXKIT_HOST_ONE(ceil)
ONNXKIT_HOST_ONE(trunc)
ONNXKIT_HOST_ONE(rint)
ONNXKIT_HOST_ONE(round)
ONNXKIT_HOST_ONE(fabs)
inline float pow(float x, float y) { return powf(x, y); }
inline float fmod(float x, float y) { return fmodf(x, y); }
inline float fmin(float x, float y) { return fminf(x, y); }
inline float fmax(float x, float y) { return fmaxf(x, y); }
inline float copysign(float x, float y) { return copysignf(x, y); }
inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
inline float rsqrtf(float x) { return 1.0F / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline bool isnan(float x) { return __builtin_isnan(x); }
inline bool isnan(double x) { return __builtin_isnan(x); }
inline bool isinf(float x) { return __builtin_isinf(x); }
inline bool isinf(double x) { return __builtin_isinf(x); }
inline bool isfinite(float x) { return __builtin_isfinite(x); }
inline bool isfinite(double x) { return __builtin_isfinite(x); }
inline bool signbit(float x) { return __builtin_signbit(x); }
inline bool signbit(double x) { return __builtin_signbit(x); }
#define ONNXKIT_HOST_EXTREMES(type)                         \
  inline type min(type x, type y) { return y < x ? y : x; } \
  inline type max(type x, type y) { return x < y ? y : x; }
ONNXKIT_HOST_EXTREMES(int)
ONNXKIT_HOST_EXTREMES(unsigned)
ONNXKIT_HOST_EXTREMES(long)
ONNXKIT_HOST_EXTREMES(unsigned long)
ONNXKIT_HOST_EXTREMES(long long)
ONNXKIT_HOST_EXTREMES(unsigned long long)
inline float min(float x, float y) { return fminf(x, y); }
inline float max(float x, float y) { return fmaxf(x, y); }
inline double min(double x, double y) { return fmin(x, y); }
inline double max(double x, double y) { return fmax(x, y); }
inline long long llabs(long long x) { return x < 0 ? -x : x; }
inline int abs(int x) { return x < 0 ? -x : x; }
inline long long abs(long long x) { return x < 0 ? -x : x; }

// ---- bits
template <class To, class From>
inline To onnxkit_host_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof(To));
  return to;
}
inline unsigned __float_as_uint(float x) { return onnxkit_host_bits<unsigned>(x); }
inline int __float_as_int(float x) { return onnxkit_host_bits<int>(x); }
inline float __uint_as_float(unsigned x) { return onnxkit_host_bits<float>(x); }
inline float __int_as_float(int x) { return onnxkit_host_bits<float>(x); }
inline long long __double_as_longlong(double x) { return onnxkit_host_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return onnxkit_host_bits<double>(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline float __double2float_rn(double x) { return static_cast<float>(x); }
template <class T>
inline T __ldg(const T* at) {
  return *at;
}

// ---- threads together
inline void onnxkit_host_warp(unsigned lanes) {
  if (!onnxkit_host_thread->wait_for_warp) __builtin_trap();
  onnxkit_host_thread->wait_for_warp(lanes);
}
/// Called in a kernel whose launch did not say that its threads meet: a fault of the step's file, which a GPU would not show.
inline void __syncthreads() {
  if (!onnxkit_host_thread->wait_for_block) __builtin_trap();
  onnxkit_host_thread->wait_for_block();
}
inline void __syncwarp(unsigned lanes = 0xffffffffU) { onnxkit_host_warp(lanes); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline unsigned onnxkit_host_lane() { return threadIdx.x % 32; }
template <class T>
inline T onnxkit_host_exchange(unsigned lanes, T value, unsigned from) {
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  onnxkit_host_thread->exchange[onnxkit_host_lane()] = bits;
  onnxkit_host_warp(lanes);
  bits = onnxkit_host_thread->exchange[from];
  onnxkit_host_warp(lanes);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}
template <class T>
inline T __shfl_sync(unsigned lanes, T value, int from, int width = 32) {
  const int lane = static_cast<int>(onnxkit_host_lane());
  return onnxkit_host_exchange(lanes, value, static_cast<unsigned>(lane / width * width + from % width));
}
template <class T>
inline T __shfl_down_sync(unsigned lanes, T value, unsigned by, int width = 32) {
  const int lane = static_cast<int>(onnxkit_host_lane()), from = lane + static_cast<int>(by);
  return onnxkit_host_exchange(lanes, value, static_cast<unsigned>(from / width == lane / width ? from : lane));
}
template <class T>
inline T __shfl_up_sync(unsigned lanes, T value, unsigned by, int width = 32) {
  const int lane = static_cast<int>(onnxkit_host_lane()), from = lane - static_cast<int>(by);
  return onnxkit_host_exchange(lanes, value, static_cast<unsigned>(from >= lane / width * width ? from : lane));
}
template <class T>
inline T __shfl_xor_sync(unsigned lanes, T value, int with, int width = 32) {
  const int lane = static_cast<int>(onnxkit_host_lane()), from = lane ^ with;
  return onnxkit_host_exchange(lanes, value, static_cast<unsigned>(from / width == lane / width ? from : lane));
}
inline unsigned __ballot_sync(unsigned lanes, int predicate) {
  onnxkit_host_thread->exchange[onnxkit_host_lane()] = predicate != 0;
  onnxkit_host_warp(lanes);
  unsigned bits = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if ((lanes >> lane & 1U) != 0 && onnxkit_host_thread->exchange[lane] != 0) bits |= 1U << lane;
  onnxkit_host_warp(lanes);
  return bits;
}
inline int __any_sync(unsigned lanes, int predicate) { return __ballot_sync(lanes, predicate) != 0; }
inline int __all_sync(unsigned lanes, int predicate) { return __ballot_sync(lanes, !predicate) == 0; }
template <class T, class U>
inline T atomicAdd(T* at, U value) {
  const T old = *at;
  *at = static_cast<T>(old + value);
  return old;
}
template <class T, class U>
inline T atomicMax(T* at, U value) {
  const T old = *at;
  if (*at < value) *at = static_cast<T>(value);
  return old;
}
template <class T, class U>
inline T atomicMin(T* at, U value) {
  const T old = *at;
  if (value < *at) *at = static_cast<T>(value);
  return old;
}
template <class T>
inline T atomicCAS(T* at, T expected, T value) {
  const T old = *at;
  if (old == expected) *at = value;
  return old;
}
template <class T>
inline T atomicExch(T* at, T value) {
  const T old = *at;
  *at = value;
  return old;
}

// ---- how the library calls a kernel
template <unsigned long... I>
struct OnnxkitHostNumbers {};
template <unsigned long N, unsigned long... I>
struct OnnxkitHostCount : OnnxkitHostCount<N - 1, N - 1, I...> {};
template <unsigned long... I>
struct OnnxkitHostCount<0, I...> {
  using Numbers = OnnxkitHostNumbers<I...>;
};
template <class... P, unsigned long... I>
inline void onnxkit_host_call(void (*kernel)(P...), void** parameters, OnnxkitHostNumbers<I...>) {
  kernel(*static_cast<P*>(parameters[I])...);
}
template <class... P>
inline void onnxkit_host_call(void (*kernel)(P...), void** parameters) {
  onnxkit_host_call(kernel, parameters, typename OnnxkitHostCount<sizeof...(P)>::Numbers());
}
template <class... P>
constexpr unsigned onnxkit_host_arity(void (*)(P...)) {
  return sizeof...(P);
}
template <class P>
constexpr unsigned onnxkit_host_is_pointer = 0;
template <class P>
constexpr unsigned onnxkit_host_is_pointer<P*> = 1;
template <class... P>
constexpr unsigned onnxkit_host_pointers(void (*)(P...)) {
  return (0 + ... + onnxkit_host_is_pointer<P>);
}
#define ONNXKIT_HOST_KERNEL(name)                                                                                \
  extern "C" __attribute__((visibility("default"))) void name##_call(void** parameters) {                        \
    onnxkit_host_call(name, parameters);                                                                         \
  }                                                                                                              \
  extern "C" __attribute__((visibility("default"))) unsigned name##_arity() { return onnxkit_host_arity(name); } \
  extern "C" __attribute__((visibility("default"))) unsigned name##_pointers() { return onnxkit_host_pointers(name); }
