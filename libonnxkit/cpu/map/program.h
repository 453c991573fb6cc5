#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libonnxkit/cpu/map/convert.h"
#include "libonnxkit/cpu/map/operations.h"
#include "libonnxkit/plan/expression.h"
#include "onnxkit/result.h"

namespace onnxkit::cpu {

/// Where an input or the result of a program lies, for a block of rows: element (r, c) at data + (r * row_stride + c * column_stride) elements.
struct BlockOperand {
  const std::byte* data = nullptr;
  std::int64_t row_stride = 0, column_stride = 0;
};

/// An expression made ready: it computes blocks of about a thousand numbers, operation by operation, so that what is between them stays in the nearest cache.
class Program {
 public:
  /// The most numbers of a block.
  static constexpr std::int64_t block = 1024;
  static constexpr std::size_t most_registers = 64;

  struct Source {
    std::int32_t at = -1;  ///< a register
    bool is_one = false;
  };
  /// Computes a register.
  struct Line {
    plan::Operation operation = plan::Operation::input;
    Held held = Held::f32;
    int arity = 0;
    Operate* operate = nullptr;
    Source sources[3];
    Source to;
    std::uint32_t input = 0;
    Conversion conversion;                      ///< of an input or of what is rounded
    ElementType type = ElementType::undefined;  ///< the latter's
    alignas(8) std::byte constant[8] = {};
  };

  /// Lines in order, the last gives the result.
  Program(std::vector<Line> lines, std::size_t registers, const Conversion& result);
  /// `inputs`: the stored type of each. `one_for_all`: those that are one number within every block. Error not-supported.
  static Result<Program> make(const plan::Expression& expression, std::span<const ElementType> inputs,
                              std::span<const bool> one_for_all, ElementType result);

  /// Bytes of memory that run() works in, aligned to 64.
  std::size_t scratch_bytes() const { return registers_ * register_bytes_ + 64; }
  /// rows * columns is at most `block`. The result may lie where an input of the same type and strides does.
  void run(std::span<const BlockOperand> inputs, const BlockOperand& result, std::int64_t rows, std::int64_t columns,
           std::byte* scratch) const;

 private:
  const std::byte* load(const Line& line, const BlockOperand& input, std::int64_t rows, std::int64_t columns,
                        std::byte* to, bool has_to_move) const;
  void store(const BlockOperand& result, std::int64_t rows, std::int64_t columns, const std::byte* numbers) const;

  std::vector<Line> lines_;
  std::size_t registers_ = 0, register_bytes_ = 0;
  Conversion result_;
};

}  // namespace onnxkit::cpu
