#include "libonnxkit/diff/matching.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::diffing {
namespace {

using Dims = std::vector<std::int64_t>;
using Order = std::vector<std::size_t>;

bool fits_dims(std::span<const std::int64_t> dims, std::span<const std::int64_t> declared) {
  return std::equal(dims.begin(), dims.end(), declared.begin(), declared.end(),
                    [](std::int64_t is, std::int64_t want) { return want < 0 || is == want; });
}

Dims permuted_dims(std::span<const std::int64_t> dims, const Order& order) {
  Dims out;
  for (const std::size_t axis : order) out.push_back(dims[axis]);
  return out;
}

/// Channels from the second axis to the last, and back.
std::array<Order, 2> channel_moves(std::size_t rank) {
  Order to_last(rank), to_second(rank);
  std::iota(to_last.begin(), to_last.end(), std::size_t{0});
  to_second = to_last;
  if (rank > 2) {
    std::rotate(to_last.begin() + 1, to_last.begin() + 2, to_last.end());
    std::rotate(to_second.begin() + 1, to_second.end() - 1, to_second.end());
  }
  return {to_last, to_second};
}

/// Pairs what is left on both sides by a predicate, where each has one partner only, or by order when all are alike.
template <class Fits>
void pair_rest(std::vector<std::optional<std::size_t>>& partner_of, std::size_t others, const Fits& fits) {
  std::vector<bool> taken(others, false);
  for (const auto& partner : partner_of) {
    if (partner) taken[*partner] = true;
  }
  std::vector<std::size_t> open, free;
  for (std::size_t i = 0; i < partner_of.size(); ++i) {
    if (!partner_of[i]) open.push_back(i);
  }
  for (std::size_t j = 0; j < others; ++j) {
    if (!taken[j]) free.push_back(j);
  }
  if (open.size() == 1 && free.size() == 1) {
    partner_of[open[0]] = free[0];
    return;
  }
  for (const std::size_t i : open) {
    std::vector<std::size_t> candidates;
    for (const std::size_t j : free) {
      if (fits(i, j)) candidates.push_back(j);
    }
    const auto claims = [&](std::size_t j) {
      return std::count_if(open.begin(), open.end(), [&](std::size_t other) { return fits(other, j); });
    };
    if (candidates.size() == 1 && claims(candidates[0]) == 1) partner_of[i] = candidates[0];
  }
}

const std::string& mapped(const NameMap& names, const std::string& name) {
  const auto found = names.find(name);
  return found == names.end() ? name : found->second;
}

template <class Range, class Name>
std::string listed(const Range& range, Name name) {
  std::vector<std::string> quoted;
  for (const auto& item : range) quoted.push_back(quote(name(item)));
  return quoted.empty() ? "nothing" : fmt::format("{}", fmt::join(quoted, ", "));
}

bool is_alike(ElementType a, ElementType b, Types types) {
  return a == b || (types == Types::same_domain && domain_of(a) == domain_of(b));
}

}  // namespace

std::optional<Order> layout_order(std::span<const std::int64_t> dims, std::span<const std::int64_t> declared) {
  if (dims.size() != declared.size() || dims.size() < 3 || fits_dims(dims, declared)) return std::nullopt;
  const auto moves = channel_moves(dims.size());
  const bool last = fits_dims(permuted_dims(dims, moves[0]), declared),
             second = fits_dims(permuted_dims(dims, moves[1]), declared);
  if (last == second && (!last || moves[0] != moves[1])) return std::nullopt;
  return last ? moves[0] : moves[1];
}

std::optional<Tensor> permuted(const Tensor& tensor, std::span<const std::size_t> order) {
  const auto one = packed_size(tensor.type(), 2);
  if (!one || *one < 2 || *one % 2 != 0) return std::nullopt;
  const std::size_t width = *one / 2;
  if (packed_size(tensor.type(), 1) != width) return std::nullopt;
  const Dims dims = permuted_dims(tensor.dims(), Order(order.begin(), order.end()));
  Dims strides(dims.size(), 1), source(dims.size(), 1);
  for (std::size_t axis = dims.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * tensor.dims()[axis];
  for (std::size_t axis = 0; axis < dims.size(); ++axis) source[axis] = strides[order[axis]];
  std::vector<std::byte> bytes(tensor.bytes().size());
  Dims at(dims.size(), 0);
  std::int64_t from = 0;
  for (std::int64_t to = 0; to < tensor.size(); ++to) {
    std::memcpy(bytes.data() + static_cast<std::size_t>(to) * width,
                tensor.bytes().data() + static_cast<std::size_t>(from) * width, width);
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      from += source[axis];
      if (++at[axis] < dims[axis]) break;
      from -= at[axis] * source[axis];
      at[axis] = 0;
    }
  }
  auto moved = Tensor::from_bytes(tensor.type(), dims, std::move(bytes));
  return moved ? std::optional(*std::move(moved)) : std::nullopt;
}

std::optional<Tensor> with_channels(const Tensor& tensor, bool last) {
  if (tensor.dims().size() < 3) return std::nullopt;
  return permuted(tensor, channel_moves(tensor.dims().size())[last ? 0 : 1]);
}

std::optional<Tensor> cast(const Tensor& tensor, ElementType type) {
  const std::vector<double> reals = to_reals(tensor);
  std::vector<std::byte> bytes(packed_size(type, tensor.size()).value_or(0));
  encode(type, std::span<const double>(reals), bytes);
  auto made = Tensor::from_bytes(type, tensor.dims(), std::move(bytes));
  return made ? std::optional(*std::move(made)) : std::nullopt;
}

bool is_same_name(const NameMap& names, const std::string& a, const std::string& b) {
  return a == b || mapped(names, a) == b || mapped(names, b) == a;
}

Value fitted(const Value& value, const exec::ValueDesc& declared) {
  if (!value.is_tensor() || !declared.has_shape) return value;
  const auto order = layout_order(value.tensor.dims(), declared.dims);
  auto moved = order ? permuted(value.tensor, *order) : std::nullopt;
  return moved ? Value(*std::move(moved)) : value;
}

Result<MatchedInputs> inputs_for(std::span<const exec::ValueDesc> inputs, const InputSet& set, const NameMap& names) {
  std::vector<NamedValue> given;
  for (const NamedValue& value : set.values) {
    if (value.value.kind != ValueKind::none) given.push_back(value);
  }
  std::vector<std::optional<std::size_t>> partner(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t j = 0; j < given.size(); ++j) {
      if (is_same_name(names, given[j].name, inputs[i].name)) partner[i] = j;
    }
  }
  pair_rest(partner, given.size(), [&](std::size_t i, std::size_t j) {
    const Value& value = given[j].value;
    if (!value.is_tensor() || inputs[i].kind != ValueKind::tensor || value.tensor.type() != inputs[i].type)
      return false;
    return !inputs[i].has_shape || fits_dims(value.tensor.dims(), inputs[i].dims) ||
           layout_order(value.tensor.dims(), inputs[i].dims).has_value();
  });
  MatchedInputs matched;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (partner[i]) {
      const NamedValue& from = given[*partner[i]];
      Value value = fitted(from.value, inputs[i]);
      if (value.is_tensor() && value.tensor.dims() != from.value.tensor.dims()) matched.moved.push_back(from.name);
      if (value.is_tensor() && value.tensor.type() != inputs[i].type && is_floating(value.tensor.type()) &&
          is_floating(inputs[i].type)) {
        if (auto made = cast(value.tensor, inputs[i].type)) {
          value.tensor = *std::move(made);
          matched.cast.push_back(from.name);
        }
      }
      matched.values.push_back({inputs[i].name, std::move(value)});
    } else if (!inputs[i].optional) {
      return make_error("input-missing",
                        fmt::format("the inputs do not match: the model has {}; given: {}",
                                    listed(inputs, [](const exec::ValueDesc& input) { return input.name; }),
                                    listed(given, [](const NamedValue& value) { return value.name; })));
    }
  }
  return matched;
}

std::vector<std::optional<std::size_t>> pair_outputs(std::span<const NamedValue> outputs,
                                                     std::span<const NamedValue> wanted, const NameMap& names,
                                                     Types types) {
  std::vector<std::optional<std::size_t>> partner(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    for (const std::string& name : {mapped(names, wanted[i].name), wanted[i].name}) {
      for (std::size_t j = 0; j < outputs.size() && !partner[i]; ++j) {
        if (outputs[j].name == name || mapped(names, outputs[j].name) == name) partner[i] = j;
      }
    }
  }
  pair_rest(partner, outputs.size(), [&](std::size_t i, std::size_t j) {
    const Value &want = wanted[i].value, &is = outputs[j].value;
    if (!want.is_tensor() || !is.is_tensor()) return want.kind == is.kind;
    return is_alike(want.tensor.type(), is.tensor.type(), types) &&
           (want.tensor.dims() == is.tensor.dims() || layout_order(is.tensor.dims(), want.tensor.dims()).has_value());
  });
  return partner;
}

Result<MatchedOutputs> matched_outputs(std::vector<NamedValue> outputs, const std::vector<NamedValue>& wanted,
                                       const NameMap& names) {
  MatchedOutputs matched;
  if (wanted.empty()) {
    matched.values = std::move(outputs);
    return matched;
  }
  const auto partner = pair_outputs(outputs, wanted, names);
  const std::string there = listed(outputs, [](const NamedValue& value) { return value.name; });
  if (std::none_of(partner.begin(), partner.end(), [](const auto& found) { return found.has_value(); }))
    return make_error("output-missing",
                      fmt::format("no output matches {}; this side has {}",
                                  listed(wanted, [](const NamedValue& value) { return value.name; }), there));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!partner[i]) {
      matched.absent[wanted[i].name] = "no output of this side matches it; it has " + there;
      matched.values.push_back({wanted[i].name, {}});
      continue;
    }
    Value value = outputs[*partner[i]].value;
    if (value.is_tensor() && wanted[i].value.is_tensor()) {
      const auto order = layout_order(value.tensor.dims(), wanted[i].value.tensor.dims());
      auto moved = order ? permuted(value.tensor, *order) : std::nullopt;
      if (moved) {
        value = *std::move(moved);
        matched.moved.push_back(wanted[i].name);
      }
    }
    matched.values.push_back({wanted[i].name, std::move(value)});
  }
  return matched;
}

}  // namespace onnxkit::diffing
