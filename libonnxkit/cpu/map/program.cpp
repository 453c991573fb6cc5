#include "libonnxkit/cpu/map/program.h"

#include <algorithm>
#include <cstring>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cpu/by_width.h"

namespace onnxkit::cpu {
namespace {

using plan::Operation;

/// One element at `count` places.
void repeat(std::byte* to, std::int64_t width, std::int64_t stride, const std::byte* element, std::int64_t count) {
  by_width(width, [&]<class T>(T number) {
    std::memcpy(&number, element, sizeof number);
    auto* const places = reinterpret_cast<T*>(to);
    if (stride == 1) {
      std::fill_n(places, count, number);
    } else {
      for (std::int64_t i = 0; i < count; ++i) places[i * stride] = number;
    }
  });
}

/// Writes the first row over all.
void repeat_row(std::byte* to, std::int64_t row_bytes, std::int64_t rows) {
  const std::int64_t all = rows * row_bytes;
  for (std::int64_t done = row_bytes; done < all; done *= 2)
    std::memcpy(to + done, to, static_cast<std::size_t>(std::min(done, all - done)));
}

void round_numbers(std::byte* to, const std::byte* from, Held held, ElementType type, const Conversion& conversion,
                   std::int64_t count) {
  if (held == Held::f64) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(double));
    round_to(type, std::span(reinterpret_cast<double*>(to), static_cast<std::size_t>(count)));
    return;
  }
  alignas(64) std::byte stored[Program::block * 8];
  conversion.store(stored, 1, from, count);
  conversion.load(to, stored, 1, count);
}

/// Rows follow one another.
bool is_side_by_side(const BlockOperand& operand, std::int64_t rows, std::int64_t columns) {
  return operand.column_stride == 1 && (rows == 1 || operand.row_stride == columns);
}

}  // namespace

Program::Program(std::vector<Line> lines, std::size_t registers, const Conversion& result)
    : lines_(std::move(lines)), registers_(registers), result_(result) {
  std::int64_t widest = 1;
  for (const Line& line : lines_) widest = std::max(widest, bytes_of(line.held));
  register_bytes_ = static_cast<std::size_t>(block * widest);
}

const std::byte* Program::load(const Line& line, const BlockOperand& input, std::int64_t rows, std::int64_t columns,
                               std::byte* to, bool has_to_move) const {
  const Conversion& conversion = line.conversion;
  if (line.to.is_one) {
    conversion.load(to, input.data, 1, 1);
  } else if (is_side_by_side(input, rows, columns)) {
    if (conversion.is_plain() && !has_to_move) return input.data;
    conversion.load(to, input.data, 1, rows * columns);
  } else if (input.row_stride == 0) {
    conversion.load(to, input.data, input.column_stride, columns);
    repeat_row(to, columns * bytes_of(line.held), rows);
  } else if (input.column_stride == 0) {
    alignas(64) std::byte numbers[block * 8];
    const std::int64_t width = bytes_of(line.held);
    conversion.load(numbers, input.data, input.row_stride, rows);
    for (std::int64_t row = 0; row < rows; ++row)
      repeat(to + row * columns * width, width, 1, numbers + row * width, columns);
  } else {
    const std::int64_t row_bytes = columns * bytes_of(line.held);
    for (std::int64_t row = 0; row < rows; ++row)
      conversion.load(to + row * row_bytes, input.data + row * input.row_stride * conversion.width(),
                      input.column_stride, columns);
  }
  return to;
}

void Program::store(const BlockOperand& result, std::int64_t rows, std::int64_t columns,
                    const std::byte* numbers) const {
  auto* const target = const_cast<std::byte*>(result.data);
  const Line& last = lines_.back();
  if (!last.to.is_one && is_side_by_side(result, rows, columns))
    return result_.store(target, 1, numbers, rows * columns);
  alignas(8) std::byte one[8];
  if (last.to.is_one) result_.store(one, 1, numbers, 1);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::byte* const to = target + row * result.row_stride * result_.width();
    if (last.to.is_one)
      repeat(to, result_.width(), result.column_stride, one, columns);
    else
      result_.store(to, result.column_stride, numbers + row * columns * bytes_of(last.held), columns);
  }
}

void Program::run(std::span<const BlockOperand> inputs, const BlockOperand& result, std::int64_t rows,
                  std::int64_t columns, std::byte* scratch) const {
  scratch = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(scratch) + 63) / 64 * 64);
  const std::byte* places
      [most_registers];  // by register: where its numbers are, which is the input itself where nothing is to convert
  const std::int64_t count = rows * columns;
  const Line& last = lines_.back();
  const bool is_direct = result_.is_plain() && !last.to.is_one && is_side_by_side(result, rows, columns);
  for (const Line& line : lines_) {
    const bool goes_out = is_direct && &line == &last;
    const std::int64_t steps = line.to.is_one ? 1 : count;
    std::byte* const to = goes_out ? const_cast<std::byte*>(result.data)
                                   : scratch + static_cast<std::size_t>(line.to.at) * register_bytes_;
    const std::byte*& place = places[line.to.at];
    switch (line.operation) {
      case Operation::input:
        place = load(line, inputs[line.input], rows, columns, to, goes_out);
        break;
      case Operation::constant:
        place = line.constant;
        break;
      case Operation::round_to:
        round_numbers(to, places[line.sources[0].at], line.held, line.type, line.conversion, steps);
        place = to;
        break;
      default: {
        const std::byte* operands[3] = {};
        std::int64_t strides[3] = {};
        for (int k = 0; k < line.arity; ++k) {
          operands[k] = places[line.sources[k].at];
          strides[k] = line.sources[k].is_one ? 0 : 1;
        }
        line.operate(to, operands[0], operands[1], operands[2], steps, strides);
        place = to;
      }
    }
  }
  if (!is_direct) store(result, rows, columns, places[last.to.at]);
}

}  // namespace onnxkit::cpu
