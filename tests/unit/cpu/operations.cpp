// Loops over elements (libonnxkit/cpu/map/operations.h) on each instruction set of the machine.
#include "libonnxkit/cpu/map/operations.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "tests/unit/cpu/kernels_support.h"

namespace onnxkit::tests::cpu_operations {

using namespace cpu_kernels;
using cpu::Held;
using plan::Operation;

namespace {

const cpu::OperationTable& table_of(const cpu::Isa& isa) {
#if defined(__x86_64__)
  const std::string_view name = cpu::isa_name(isa);
  if (name == "v4") return cpu::operations_v4;
  if (name == "v3") return cpu::operations_v3;
#endif
  return cpu::operations_baseline;
}

template <class Test>
void on_each_table(const Test& test) {
  on_each_isa([&](const cpu::Isa& isa) { test(table_of(isa)); });
}

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

Floats special_floats() {
  return {0.0F,      -0.0F,    1.0F,         -1.0F,         0.5F,     0x1p-149F, -0x1p-149F, 0x1p-126F, 65504.0F,
          65519.99F, 65520.0F, 1e30F,        -1e30F,        infinity, -infinity, 3e-8F,      127.5F,    128.5F,
          -128.5F,   255.5F,   not_a_number, -not_a_number, 0x1p63F,  -0x1p63F,  0x1p62F,    2.5F};
}

/// Of any bits.
Floats any_floats(std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  Floats floats = special_floats();
  while (static_cast<std::int64_t>(floats.size()) < count)
    floats.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(generator())));
  return floats;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

bool same(float a, float b) {
  return std::isnan(a) ? std::isnan(b) : std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

const std::int64_t apart[] = {1, 1, 1};

}  // namespace

TEST_CASE("cpu: sines and cosines of moderate angles are rounded once, others are left to the C library") {
  Floats angles = {0.0F,        -0.0F,       0x1p-149F, -0x1p-149F, 0x1p-126F,
                   3.14159274F, 1.57079637F, 0x1p20F,   -0x1p20F,   0x1.921fb6p+19F};
  for (std::uint32_t bits = 0; bits < std::bit_cast<std::uint32_t>(0x1p20F); bits += 4099) {
    angles.push_back(std::bit_cast<float>(bits));
    angles.push_back(-angles.back());
  }
  const auto count = static_cast<std::int64_t>(angles.size());
  on_each_table([&](const cpu::OperationTable& table) {
    for (const auto operation : {Operation::sine, Operation::cosine}) {
      cpu::TryOperate* const run = table.find_limited(operation);
      Floats found = filled(count);
      REQUIRE(run(found.data(), angles.data(), nullptr, count, apart));
      int faults = 0;
      for (std::size_t i = 0; i < angles.size(); ++i) {
        const double x = angles[i], wanted = operation == Operation::sine ? std::sin(x) : std::cos(x);
        const double unit = std::ldexp(1.0, std::max(wanted == 0 ? -126 : std::ilogb(wanted), -126) - 23);
        faults += std::abs(found[i] - wanted) > 0.51 * unit || std::signbit(found[i]) != std::signbit(wanted);
      }
      CHECK(faults == 0);
      Floats some(40, 1.0F);
      some[37] = not_a_number;
      REQUIRE(run(found.data(), some.data(), nullptr, 40, apart));
      CHECK(std::isnan(found[37]));
      for (const float far : {0x1.000002p20F, -1e30F, infinity}) {
        some[37] = far;
        Floats untouched = filled(40);
        CHECK_FALSE(run(untouched.data(), some.data(), nullptr, 40, apart));
        CHECK(untouched == filled(40));
      }
    }
  });
}

TEST_CASE("cpu: remainders are exact, or left to the C library") {
  std::mt19937_64 generator(3);
  on_each_table([&](const cpu::OperationTable& table) {
    int faults = 0, left = 0;
    Floats x = any_floats(4000, 5), by = any_floats(4000, 6);
    std::shuffle(by.begin(), by.end(), generator);
    for (std::size_t i = 0; i < x.size(); i += 2)
      by[i] = x[i] * 0x1p-20F + 0.001F;  // quotients that are whole or nearly so
    for (std::size_t i = 0; i < x.size(); ++i) {
      float rest = 0, modulo = 0;
      const bool is_found = table.find_limited(Operation::floating_modulo)(&rest, &x[i], &by[i], 1, apart);
      REQUIRE(is_found == table.find_limited(Operation::modulo)(&modulo, &x[i], &by[i], 1, apart));
      if (!is_found) {
        ++left;
        continue;
      }
      const float wanted = std::fmod(x[i], by[i]);
      const float positive = wanted == 0                   ? std::copysign(0.0F, by[i])
                             : (wanted < 0) != (by[i] < 0) ? wanted + by[i]
                                                           : wanted;
      faults += !same(rest, wanted) + !same(modulo, positive);
    }
    CHECK(faults == 0);
    CHECK(left < 2000);
    float rest = 0;
    const float one = 1, zero = 0;
    CHECK_FALSE(table.find_limited(Operation::floating_modulo)(&rest, &one, &zero, 1, apart));
    CHECK_FALSE(table.find_limited(Operation::floating_modulo)(&rest, &one, &infinity, 1, apart));
    CHECK_FALSE(table.find_limited(Operation::floating_modulo)(&rest, &infinity, &one, 1, apart));
  });
}

TEST_CASE("cpu: truth values of a caller may be other than 0 and 1") {
  on_each_table([](const cpu::OperationTable& table) {
    const std::uint8_t bytes[] = {0, 1, 2, 255, 128};
    float reals[5];
    std::int64_t integers[5];
    table.convert(Held::truth, Held::f32)(reals, bytes, nullptr, nullptr, 5, apart);
    table.convert(Held::truth, Held::i64)(integers, bytes, nullptr, nullptr, 5, apart);
    for (int i = 0; i < 5; ++i) {
      CHECK(reals[i] == (i == 0 ? 0 : 1));
      CHECK(integers[i] == (i == 0 ? 0 : 1));
    }
  });
}

TEST_CASE("cpu: conversions give the same bits on each instruction set") {
  const Floats from = any_floats(100'003, 1);
  const auto count = static_cast<std::int64_t>(from.size());
  const auto& plain = cpu::operations_baseline;
  on_each_table([&](const cpu::OperationTable& table) {
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16}) {
      std::vector<std::uint16_t> wanted(from.size()), found(from.size());
      plain.store(type, Held::f32)(wanted.data(), from.data(), count);
      table.store(type, Held::f32)(found.data(), from.data(), count);
      CHECK(same_bits(found, wanted));
      Floats back = filled(count), wanted_back = filled(count);
      plain.load(type, Held::f32)(wanted_back.data(), wanted.data(), count);
      table.load(type, Held::f32)(back.data(), wanted.data(), count);
      CHECK(same_bits(back, wanted_back));
    }
    std::vector<std::int64_t> wanted(from.size()), found(from.size());
    plain.convert(Held::f32, Held::i64)(wanted.data(), from.data(), nullptr, nullptr, count, apart);
    table.convert(Held::f32, Held::i64)(found.data(), from.data(), nullptr, nullptr, count, apart);
    CHECK(found == wanted);
    int faults = 0;
    Floats numbers = from;
    for (float& x : numbers) x = std::isnan(x) ? 0 : std::rint(x);
    std::vector<std::uint8_t> bytes(from.size());
    table.store_saturated(ElementType::uint8)(bytes.data(), numbers.data(), count);
    for (std::size_t i = 0; i < bytes.size(); ++i) faults += bytes[i] != std::clamp(numbers[i], 0.0F, 255.0F);
    table.store_saturated(ElementType::int8)(bytes.data(), numbers.data(), count);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      faults += static_cast<std::int8_t>(bytes[i]) != std::clamp(numbers[i], -128.0F, 127.0F);
    CHECK(faults == 0);
  });
}

TEST_CASE("cpu: pairs of operations are what both are one after the other, signed zeros and NaN included") {
  const Floats a = any_floats(531, 7), special = special_floats();
  const std::pair<Operation, Operation> pairs[] = {{Operation::multiply, Operation::add},
                                                   {Operation::subtract, Operation::multiply},
                                                   {Operation::maximum, Operation::minimum},
                                                   {Operation::add, Operation::maximum}};
  const auto count = static_cast<std::int64_t>(a.size());
  on_each_table([&](const cpu::OperationTable& table) {
    for (const auto& [first, second] : pairs) {
      for (int kind = 0; kind < 8; ++kind) {
        const std::int64_t strides[] = {kind & 1, kind >> 1 & 1, kind >> 2 & 1};
        for (std::size_t start = 0; start < special.size(); ++start) {
          Floats b = a, c = a;
          std::rotate(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(start), b.end());
          std::rotate(c.begin(), c.begin() + 9, c.end());
          const std::int64_t some = kind == 0 ? 1 : count;
          const std::int64_t of_first[] = {strides[0], strides[1], 0},
                             of_second[] = {strides[0] | strides[1], strides[2], 0};
          Floats between = filled(count), wanted = filled(count), found = filled(count);
          const std::int64_t between_count = of_second[0] == 0 ? 1 : some;
          table.find(first, Held::f32)(between.data(), a.data(), b.data(), nullptr, between_count, of_first);
          table.find(second, Held::f32)(wanted.data(), between.data(), c.data(), nullptr, some, of_second);
          table.find_pair(first, second)(found.data(), a.data(), b.data(), c.data(), some, strides);
          int faults = 0;
          for (std::size_t i = 0; i < found.size(); ++i) faults += !same(found[i], wanted[i]);
          CHECK(faults == 0);
        }
      }
    }
  });
}

TEST_CASE("cpu: truth values are bytes, those of a caller other than 1 too") {
  const std::vector<std::uint8_t> a = {0, 1, 2, 0, 255, 1, 0}, b = {0, 0, 1, 7, 2, 1, 1};
  std::vector<std::uint8_t> found(a.size());
  on_each_table([&](const cpu::OperationTable& table) {
    const auto results = [&](Operation operation) {
      table.find(operation, Held::truth)(found.data(), a.data(), b.data(), nullptr, static_cast<std::int64_t>(a.size()),
                                         apart);
      return found;
    };
    CHECK(results(Operation::logical_and) == std::vector<std::uint8_t>{0, 0, 1, 0, 1, 1, 0});
    CHECK(results(Operation::logical_or) == std::vector<std::uint8_t>{0, 1, 1, 1, 1, 1, 1});
    CHECK(results(Operation::logical_xor) == std::vector<std::uint8_t>{0, 1, 0, 1, 0, 0, 1});
    CHECK(results(Operation::equal) == std::vector<std::uint8_t>{1, 0, 1, 0, 1, 1, 0});
    CHECK(results(Operation::logical_not) == std::vector<std::uint8_t>{1, 0, 0, 1, 0, 0, 1});
  });
}

}  // namespace onnxkit::tests::cpu_operations
