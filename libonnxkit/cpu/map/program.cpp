#include "libonnxkit/cpu/map/program.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cpu/by_width.h"
#include "libonnxkit/cpu/kernels/kernels.h"
#include "libonnxkit/cpu/map/convert.h"
#include "libonnxkit/cpu/map/narrow.h"

namespace onnxkit::cpu {
namespace {

using plan::Instruction;
using plan::Lane;
using plan::Operation;

template <class T, T (*function)(T)>
void call_unary(void* to, const void* a, const void*, const void*, std::int64_t count, const std::int64_t*) {
  for (std::int64_t i = 0; i < count; ++i) static_cast<T*>(to)[i] = function(static_cast<const T*>(a)[i]);
}

template <class T>
T sigmoid_of(T x) {
  return 1 / (1 + std::exp(-x));
}

template <class T>
void call_power(void* to, const void* a, const void* b, const void*, std::int64_t count, const std::int64_t* strides) {
  const auto* base = static_cast<const T*>(a);
  const auto* exponent = static_cast<const T*>(b);
  auto* result = static_cast<T*>(to);
  if (strides[1] == 0 && *exponent == 2) {
    for (std::int64_t i = 0; i < count; ++i) result[i] = base[i * strides[0]] * base[i * strides[0]];
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) result[i] = std::pow(base[i * strides[0]], exponent[i * strides[1]]);
}

template <class T, T (*function)(T, T)>
void call_binary(void* to, const void* a, const void* b, const void*, std::int64_t count, const std::int64_t* strides) {
  for (std::int64_t i = 0; i < count; ++i)
    static_cast<T*>(to)[i] =
        function(static_cast<const T*>(a)[i * strides[0]], static_cast<const T*>(b)[i * strides[1]]);
}

/// With the sign of the divisor, zeros included.
template <class T>
T modulo_of(T x, T by) {
  const T rest = std::fmod(x, by);
  if (rest == 0) return std::copysign(T(0), by);
  return (rest < 0) != (by < 0) ? rest + by : rest;
}
std::int64_t rest_of(std::int64_t x, std::int64_t by) { return by == 0 || by == -1 ? 0 : x % by; }
std::int64_t modulo_of(std::int64_t x, std::int64_t by) {
  const std::int64_t rest = rest_of(x, by);
  return rest != 0 && (rest < 0) != (by < 0) ? rest + by : rest;
}
std::int64_t quotient_of(std::int64_t x, std::int64_t by) {
  if (by == -1) return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(x));
  return by == 0 ? 0 : x / by;
}
bool shifts_out(std::int64_t by) { return by < 0 || by >= 64; }
std::int64_t shifted_left(std::int64_t x, std::int64_t by) {
  return shifts_out(by) ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(x) << by);
}
std::int64_t shifted_right(std::int64_t x, std::int64_t by) { return shifts_out(by) ? (x < 0 ? -1 : 0) : x >> by; }

template <class T>
Operate* library_function(Operation operation) {
  switch (operation) {
    case Operation::exponential:
      return call_unary<T, std::exp>;
    case Operation::logarithm:
      return call_unary<T, std::log>;
    case Operation::tanh:
      return call_unary<T, std::tanh>;
    case Operation::erf:
      return call_unary<T, std::erf>;
    case Operation::sigmoid:
      return call_unary<T, sigmoid_of<T>>;
    case Operation::sine:
      return call_unary<T, std::sin>;
    case Operation::cosine:
      return call_unary<T, std::cos>;
    case Operation::tangent:
      return call_unary<T, std::tan>;
    case Operation::arc_sine:
      return call_unary<T, std::asin>;
    case Operation::arc_cosine:
      return call_unary<T, std::acos>;
    case Operation::arc_tangent:
      return call_unary<T, std::atan>;
    case Operation::hyperbolic_sine:
      return call_unary<T, std::sinh>;
    case Operation::hyperbolic_cosine:
      return call_unary<T, std::cosh>;
    case Operation::arc_hyperbolic_sine:
      return call_unary<T, std::asinh>;
    case Operation::arc_hyperbolic_cosine:
      return call_unary<T, std::acosh>;
    case Operation::arc_hyperbolic_tangent:
      return call_unary<T, std::atanh>;
    case Operation::power:
      return call_power<T>;
    case Operation::floating_modulo:
      return call_binary<T, std::fmod>;
    case Operation::modulo:
      return call_binary<T, modulo_of<T>>;
    default:
      return nullptr;
  }
}

Operate* integer_function(Operation operation) {
  switch (operation) {
    case Operation::divide:
      return call_binary<std::int64_t, quotient_of>;
    case Operation::modulo:
      return call_binary<std::int64_t, modulo_of>;
    case Operation::floating_modulo:
      return call_binary<std::int64_t, rest_of>;
    case Operation::shift_left:
      return call_binary<std::int64_t, shifted_left>;
    case Operation::shift_right:
      return call_binary<std::int64_t, shifted_right>;
    default:
      return nullptr;
  }
}

std::optional<Function> array_function_of(Operation operation) {
  switch (operation) {
    case Operation::exponential:
      return Function::exp;
    case Operation::logarithm:
      return Function::log;
    case Operation::tanh:
      return Function::tanh;
    case Operation::erf:
      return Function::erf;
    case Operation::sigmoid:
      return Function::sigmoid;
    default:
      return std::nullopt;
  }
}

template <Function function>
void call_array(void* to, const void* a, const void*, const void*, std::int64_t count, const std::int64_t*) {
  static ArrayFunction* const run = array_function(function);
  run(static_cast<float*>(to), static_cast<const float*>(a), count);
}

Operate* fast_function(Operation operation) {
  const auto function = array_function_of(operation);
  if (!function) return nullptr;
  switch (*function) {
    case Function::exp:
      return call_array<Function::exp>;
    case Function::log:
      return call_array<Function::log>;
    case Function::tanh:
      return call_array<Function::tanh>;
    case Function::erf:
      return call_array<Function::erf>;
    default:
      return call_array<Function::sigmoid>;
  }
}

template <class From, class To>
void convert_numbers(void* to, const void* a, const void*, const void*, std::int64_t count, const std::int64_t*) {
  const auto* from = static_cast<const From*>(a);
  auto* result = static_cast<To*>(to);
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
      // What lies beyond becomes the nearest end, NaN 0.
      constexpr From edge = static_cast<From>(0x1p63);
      const bool fits = from[i] >= -edge && from[i] < edge;
      const To end = from[i] > 0 ? std::numeric_limits<To>::max() : std::numeric_limits<To>::min();
      result[i] = fits ? static_cast<To>(from[i]) : from[i] != from[i] ? 0 : end;
    } else {
      result[i] = static_cast<To>(from[i]);
    }
  }
}

template <class From>
Operate* conversion_from(Lane to) {
  if (to == Lane::f32) return convert_numbers<From, float>;
  return to == Lane::f64 ? convert_numbers<From, double> : convert_numbers<From, std::int64_t>;
}

Operate* conversion(Lane from, Lane to) {
  if (from == Lane::f32) return conversion_from<float>(to);
  return from == Lane::f64 ? conversion_from<double>(to) : conversion_from<std::int64_t>(to);
}

std::size_t lane_bytes(Lane lane) { return lane == Lane::f32 ? 4 : 8; }

Operate* operation_for(Operation operation, Lane lane) {
  if (lane == Lane::f32) {
    if (Operate* found = fast_function(operation)) return found;
    if (Operate* found = library_function<float>(operation)) return found;
  }
  if (lane == Lane::f64) {
    if (Operate* found = library_function<double>(operation)) return found;
  }
  if (lane == Lane::i64) {
    if (Operate* found = integer_function(operation)) return found;
  }
  return best_operations().find(operation, lane);
}

bool compares(Operation operation) {
  return operation == Operation::equal || operation == Operation::less || operation == Operation::less_or_equal ||
         operation == Operation::is_nan || operation == Operation::is_infinite;
}

/// Registers by number, those of dead values used again.
class Registers {
 public:
  std::int32_t take() {
    const auto free = std::find(is_used_.begin(), is_used_.end(), false);
    const auto at = free - is_used_.begin();
    if (free == is_used_.end()) is_used_.push_back(false);
    is_used_[static_cast<std::size_t>(at)] = true;
    return static_cast<std::int32_t>(at);
  }
  void give(std::int32_t at) { is_used_[static_cast<std::size_t>(at)] = false; }
  std::size_t size() const { return is_used_.size(); }

 private:
  std::vector<bool> is_used_;
};

/// select(is_nan(x), 0, x), which is one operation of x.
bool clears_nan(const std::vector<Instruction>& code, const Instruction& choice) {
  if (choice.operation != Operation::select || choice.lane == Lane::i64) return false;
  const Instruction &test = code[choice.operands[0]], &yes = code[choice.operands[1]];
  return test.operation == Operation::is_nan && test.operands[0] == choice.operands[2] &&
         yes.operation == Operation::constant && yes.real == 0;
}

/// Bytes in float32, which with_narrow_integers asks for.
void load_bytes_as_reals(float* to, const std::byte* from, ElementType type, std::int64_t stride, std::int64_t count) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(from);
  const bool is_signed = type == ElementType::int8;
  if (stride == 1) return best_operations().load_bytes(to, bytes, is_signed, count);
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = is_signed ? static_cast<float>(static_cast<std::int8_t>(bytes[i * stride]))
                      : static_cast<float>(bytes[i * stride]);
}

void store_reals_as_bytes(std::byte* to, std::int64_t stride, const float* from, std::int64_t count) {
  auto* bytes = reinterpret_cast<std::uint8_t*>(to);
  if (stride == 1) return best_operations().store_bytes(bytes, from, count);
  for (std::int64_t i = 0; i < count; ++i)
    bytes[i * stride] = static_cast<std::uint8_t>(static_cast<std::int32_t>(from[i]));
}

void load_in_lane(void* to, const std::byte* from, ElementType type, Lane lane, std::int64_t stride,
                  std::int64_t count) {
  if (lane == Lane::f32 && plan::lane_of(type) == Lane::i64)
    load_bytes_as_reals(static_cast<float*>(to), from, type, stride, count);
  else
    load_elements(to, from, type, stride, count);
}

void store_from_lane(std::byte* to, ElementType type, std::int64_t stride, const std::byte* from, Lane lane,
                     std::int64_t count) {
  if (lane == Lane::f32 && plan::lane_of(type) == Lane::i64)
    store_reals_as_bytes(to, stride, reinterpret_cast<const float*>(from), count);
  else
    store_elements(to, type, stride, from, count);
}

}  // namespace

const OperationTable& best_operations() {
#if defined(__x86_64__)
  const std::string_view isa = isa_name(best_isa());
  if (isa == "v4") return operations_v4;
  if (isa == "v3") return operations_v3;
#endif
  return operations_baseline;
}

Result<Program> Program::make(const plan::Expression& stated, std::span<const ElementType> inputs,
                              std::span<const bool> one_for_all, ElementType result) {
  Program program;
  program.inputs_.assign(inputs.begin(), inputs.end());
  program.result_ = result;
  const plan::Expression expression = with_narrow_integers(stated, inputs, result);
  const auto& code = expression.code();
  // What an instruction reads: of one that clears NaN only its last operand.
  const auto arity_at = [&](std::size_t i) {
    return clears_nan(code, code[i]) ? 1 : plan::arity_of(code[i].operation);
  };
  const auto operand_at = [&](std::size_t i, int k) { return code[i].operands[clears_nan(code, code[i]) ? 2 : k]; };
  std::vector<std::size_t> last_use(code.size(), 0);
  std::vector<bool> is_needed(code.size(), false);
  is_needed.back() = true;
  for (std::size_t i = code.size(); i-- > 0;) {
    for (int k = 0; is_needed[i] && k < arity_at(i); ++k) {
      is_needed[operand_at(i, k)] = true;
      last_use[operand_at(i, k)] = std::max(last_use[operand_at(i, k)], i);
    }
  }
  Registers registers;
  std::vector<Source> at(code.size());
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (!is_needed[i]) continue;
    const Instruction& instruction = code[i];
    const int arity = arity_at(i);
    Line line{.arity = arity,
              .instruction = instruction,
              .lane = instruction.lane,
              .operate = nullptr,
              .sources = {},
              .to = {}};
    bool is_one = instruction.operation == Operation::constant ||
                  (instruction.operation == Operation::input && one_for_all[instruction.index]);
    if (arity > 0) {
      is_one = true;
      for (int k = 0; k < arity; ++k) {
        line.sources[k] = at[operand_at(i, k)];
        is_one = is_one && line.sources[k].is_one;
      }
      if (compares(instruction.operation)) line.lane = code[instruction.operands[0]].lane;
      if (clears_nan(code, instruction)) {
        line.operate = best_operations().clear_nan[instruction.lane == Lane::f32 ? 0 : 1];
      } else if (instruction.operation == Operation::convert) {
        line.operate = conversion(code[instruction.operands[0]].lane, instruction.lane);
      } else if (instruction.operation != Operation::round_to) {
        line.operate = operation_for(instruction.operation, line.lane);
        if (!line.operate)
          return make_error("not-supported",
                            fmt::format("the backend cpu has no {}", plan::name_of(instruction.operation)));
      }
    }
    line.to = {.at = registers.take(), .is_one = is_one};
    at[i] = line.to;
    for (int k = 0; k < arity; ++k) {
      const std::uint32_t of = operand_at(i, k);
      bool is_first = true;
      for (int before = 0; before < k; ++before) is_first = is_first && operand_at(i, before) != of;
      if (last_use[of] == i && is_first) registers.give(at[of].at);
    }
    program.lines_.push_back(line);
  }
  program.registers_ = registers.size();
  if (program.registers_ > most_registers)
    return make_error("not-supported", "an expression of too many values at once");
  return program;
}

namespace {

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

void round_numbers(void* to, const void* from, Lane lane, ElementType type, std::int64_t count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * lane_bytes(lane);
  if (lane == Lane::f64 && type != ElementType::float64) {
    std::memcpy(to, from, bytes);
    round_to(type, std::span(static_cast<double*>(to), static_cast<std::size_t>(count)));
    return;
  }
  alignas(64) std::byte stored[Program::block * 8];
  store_elements(stored, type, 1, from, count);
  load_elements(to, stored, type, 1, count);
}

}  // namespace

void Program::load(const Line& line, const BlockOperand& input, std::int64_t rows, std::int64_t columns,
                   void* to) const {
  const ElementType type = inputs_[line.instruction.index];
  const auto width = static_cast<std::int64_t>(storage_bits(type) / 8);
  const auto lane = static_cast<std::int64_t>(lane_bytes(line.instruction.lane));
  if (line.to.is_one) return load_in_lane(to, input.data, type, line.instruction.lane, 1, 1);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::byte* const row_to = static_cast<std::byte*>(to) + row * columns * lane;
    load_in_lane(row_to, input.data + row * input.row_stride * width, type, line.instruction.lane, input.column_stride,
                 columns);
  }
}

void Program::run(std::span<const BlockOperand> inputs, const BlockOperand& result, std::int64_t rows,
                  std::int64_t columns, std::byte* scratch) const {
  scratch = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(scratch) + 63) / 64 * 64);
  const std::byte* places
      [most_registers];  // by register: where its numbers are, which is the input itself where nothing is to convert
  const std::int64_t count = rows * columns;
  const auto is_plain = [&](ElementType type, const BlockOperand& operand) {
    const bool is_same = type == ElementType::float32 || type == ElementType::float64 || type == ElementType::int64;
    return is_same && operand.column_stride == 1 && (rows == 1 || operand.row_stride == columns);
  };
  const bool is_direct = is_plain(result_, result);
  for (std::size_t l = 0; l < lines_.size(); ++l) {
    const Line& line = lines_[l];
    const bool is_last = l + 1 == lines_.size();
    const std::int64_t steps = line.to.is_one ? 1 : count;
    std::byte* to = scratch + static_cast<std::size_t>(line.to.at) * register_bytes;
    if (is_last && is_direct && !line.to.is_one) to = const_cast<std::byte*>(result.data);
    places[line.to.at] = to;
    switch (line.instruction.operation) {
      case Operation::input: {
        const BlockOperand& input = inputs[line.instruction.index];
        if (!line.to.is_one && !is_last && is_plain(inputs_[line.instruction.index], input))
          places[line.to.at] = input.data;
        else
          load(line, input, rows, columns, to);
        break;
      }
      case Operation::constant:
        if (line.instruction.lane == Lane::f32)
          *reinterpret_cast<float*>(to) = static_cast<float>(line.instruction.real);
        else if (line.instruction.lane == Lane::f64)
          *reinterpret_cast<double*>(to) = line.instruction.real;
        else
          *reinterpret_cast<std::int64_t*>(to) = line.instruction.integer;
        break;
      case Operation::round_to:
        round_numbers(to, places[line.sources[0].at], line.instruction.lane, line.instruction.type, steps);
        break;
      default: {
        const std::byte* operands[3] = {};
        std::int64_t strides[3] = {};
        for (int k = 0; k < line.arity; ++k) {
          operands[k] = places[line.sources[k].at];
          strides[k] = line.sources[k].is_one ? 0 : 1;
        }
        line.operate(to, operands[0], operands[1], operands[2], steps, strides);
      }
    }
  }
  const Line& last = lines_.back();
  const std::byte* numbers = places[last.to.at];
  if (is_direct && !last.to.is_one) return;
  const auto lane = static_cast<std::int64_t>(lane_bytes(last.instruction.lane));
  const auto width = static_cast<std::int64_t>(storage_bits(result_) / 8);
  auto* const target = const_cast<std::byte*>(result.data);
  alignas(8) std::byte one[8];
  if (last.to.is_one) store_from_lane(one, result_, 1, numbers, last.instruction.lane, 1);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::byte* const to = target + row * result.row_stride * width;
    if (last.to.is_one)
      repeat(to, width, result.column_stride, one, columns);
    else
      store_from_lane(to, result_, result.column_stride, numbers + row * columns * lane, last.instruction.lane,
                      columns);
  }
}

}  // namespace onnxkit::cpu
