#pragma once

// What the machine can run beyond the baseline, for files that are compiled once for each instruction set.
namespace onnxkit::reference {

#if defined(__x86_64__)
/// x86-64-v3: AVX2 and FMA.
inline bool has_v3() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
/// x86-64-v4: AVX-512 with what servers have of it.
inline bool has_v4() {
  return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
}
#endif

}  // namespace onnxkit::reference
