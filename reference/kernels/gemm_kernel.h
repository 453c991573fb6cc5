#pragma once

#include <cstdint>
#include <vector>

#include "reference/kernels/gemm.h"

// What gemm.cpp needs of an instruction set. gemm_kernel.inc is compiled once for each; nothing of its code is shared between them.
namespace onnxkit::reference {

/// Operands are packed into strips: a strip holds `rows` rows of a (or `columns` columns of b) for all k, those of one k side by side, and
/// is filled up with zeros.
struct GemmKernel {
  const char* name;
  std::int64_t rows, columns;  ///< of the tile that is computed in registers

  /// Packs `across` rows or columns, `across_stride` apart, of `depth` elements, `depth_stride` apart.
  using Pack = void(double* to, const double* from, std::int64_t across, std::int64_t depth, std::int64_t across_stride,
                    std::int64_t depth_stride);
  Pack* pack_rows;
  Pack* pack_columns;

  /// c = a * b or c += a * b for packed operands.
  using Multiply = void(const double* a, const double* b, std::int64_t depth, MatrixView<double> c, bool accumulate);
  Multiply* multiply;
  Multiply* multiply_exact;

  /// c[j] += sum over k of a[k] * b[k * b_stride + j], for b in row-major order.
  void (*add_rows)(const double* a, const double* b, std::int64_t b_stride, std::int64_t depth, double* c,
                   std::int64_t columns);
  /// Sum over k of a[k] * b[k].
  double (*dot)(const double* a, const double* b, std::int64_t depth);
};

/// Those that this machine can run, best first; the last runs everywhere.
std::vector<const GemmKernel*> usable_gemm_kernels();

void gemm(ThreadPool& threads, const GemmKernel& kernel, MatrixView<const double> a, MatrixView<const double> b,
          MatrixView<double> c, bool accumulate, const Poll& poll = {});
PackedFactor pack_factor(ThreadPool& threads, const GemmKernel& kernel, MatrixView<const double> b,
                         PackedFactor used = {});
void gemm_exact(ThreadPool& threads, const GemmKernel& kernel, MatrixView<const double> a, MatrixView<const double> b,
                MatrixView<double> c, bool accumulate, const Poll& poll = {});

extern const GemmKernel gemm_kernel_baseline;
#if defined(__x86_64__)
extern const GemmKernel gemm_kernel_v3, gemm_kernel_v4;
#endif

}  // namespace onnxkit::reference
