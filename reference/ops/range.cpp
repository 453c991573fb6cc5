// Range: start, start + delta ... short of limit. float16 and bfloat16, which come with version 27, are computed in the type that `stash_type` names.
// That of com.microsoft may leave delta out, which is 1 then.
#include <cmath>

#include "reference/executor/kernel.h"
#include "reference/numerics/arithmetic.h"

namespace onnxkit::reference {
namespace {

template <class T>
T one_element(const KernelContext& context, std::size_t index) {
  const Tensor& tensor = context.input(index);
  require(tensor.size() == 1 && tensor.type() == context.input(0).type(),
          "start, limit and delta must be single elements of the same type");
  return tensor.as<T>()[0];
}

/// ceil((limit - start) / delta), not below 0. Differences of int64 need all 64 bits.
template <class T>
std::int64_t count_between(T start, T limit, T delta) {
  if (delta > 0 ? start >= limit : start <= limit) return 0;
  const auto low = static_cast<std::uint64_t>(delta > 0 ? start : limit),
             high = static_cast<std::uint64_t>(delta > 0 ? limit : start);
  const auto step = delta > 0 ? static_cast<std::uint64_t>(delta) : 0 - static_cast<std::uint64_t>(delta);
  const std::uint64_t count = (high - low - 1) / step + 1;
  require(count <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()), "the range is too long");
  return static_cast<std::int64_t>(count);
}

/// The type that reals are computed in.
ElementType working_type(const KernelContext& context, ElementType type) {
  if (type != ElementType::float16 && type != ElementType::bfloat16) return type;
  const std::int64_t number = context.integer("stash_type", 1);
  const bool known = number > 0 && number < element_type_count && is_floating(static_cast<ElementType>(number));
  require(known, "`stash_type` is not a floating-point type");
  return static_cast<ElementType>(number);
}

Tensor range_of_reals(const KernelContext& context, double start, double limit, double delta) {
  const ElementType type = context.input(0).type();
  const ElementType working = working_type(context, type);
  const auto narrow = [&](double value) { return context.is_unrounded() ? value : round_to(working, value); };
  start = narrow(start);
  const double count = std::ceil(narrow(narrow(limit) - start) / narrow(delta));
  require(!std::isnan(count) && count < 9007199254740992.0, "the range is too long or not defined");
  Tensor y = context.make(type, {static_cast<std::int64_t>(greater_of(count, 0.0))});
  const auto all = y.write<double>();
  context.for_range(y.size(), 1 << 14, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i)
      all[static_cast<std::size_t>(i)] = narrow(start + static_cast<double>(i) * delta);
  });
  return y;
}

template <class T>
Tensor range_of_integers(const KernelContext& context, T start, T limit, T delta) {
  Tensor y = context.make(context.input(0).type(), {count_between(start, limit, delta)});
  T value = start;
  Pace pace(context);
  for (T& element : y.template write<T>()) {
    pace.advance(1);
    element = value;
    value = add(value, delta);
  }
  return y;
}

void range(KernelContext& context) {
  context.set_output(0, dispatch_numbers(context.input(0).domain(), [&]<class T>(std::type_identity<T>) {
                       const T start = one_element<T>(context, 0), limit = one_element<T>(context, 1);
                       const T delta = context.has_input(2) ? one_element<T>(context, 2) : T(1);
                       require(delta != 0, "the step must not be 0");
                       if constexpr (std::is_same_v<T, double>)
                         return range_of_reals(context, start, limit, delta);
                       else
                         return range_of_integers(context, start, limit, delta);
                     }));
}

}  // namespace

void register_range(KernelRegistry& registry) {
  registry.add("Range", all_versions(), range, {.noise = noise::ordinary});
  registry.add("com.microsoft", "Range", all_versions(), range, {.noise = noise::ordinary});
}

}  // namespace onnxkit::reference
