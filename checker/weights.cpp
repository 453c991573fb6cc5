#include "checker/weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>

#include <fmt/core.h>

#include "checker/for_each_tensor.h"
#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/ir/tensor/tensor_data.h"

namespace onnxkit::checker {
namespace {

/// Smallest normal number of the types whose denormals are slow on common hardware; 0 for the others.
double smallest_normal(ElementType type) {
  if (type == ElementType::float32) return 0x1p-126;
  if (type == ElementType::float64) return 0x1p-1022;
  return 0;
}

struct Census {
  std::uint64_t nan = 0, infinite = 0, denormal = 0, total = 0;
};

void add(Census& sum, const Census& more) {
  sum.nan += more.nan;
  sum.infinite += more.infinite;
  sum.denormal += more.denormal;
  sum.total += more.total;
}

Census count(std::span<const double> elements, double smallest) {
  Census census;
  census.total = elements.size();
  for (const double x : elements) {
    census.nan += std::isnan(x) ? 1 : 0;
    census.infinite += std::isinf(x) ? 1 : 0;
    census.denormal += x != 0 && std::abs(x) < smallest ? 1 : 0;
  }
  return census;
}

Census count(ir::ElementReader reader, double smallest) {
  Census census;
  std::array<double, 4096> buffer;
  for (std::size_t n = reader.read(std::span<double>(buffer)); n > 0; n = reader.read(std::span<double>(buffer)))
    add(census, count(std::span<const double>(buffer).first(n), smallest));
  return census;
}

Census count(ElementType type, std::span<const std::byte> bytes) {
  Census census;
  std::array<double, 4096> buffer;
  const auto width = static_cast<std::size_t>(storage_bits(type)) / 8;
  for (std::size_t at = 0; at + width <= bytes.size(); at += buffer.size() * width) {
    const std::size_t n = std::min(buffer.size(), (bytes.size() - at) / width);
    decode(type, bytes.subspan(at, n * width), std::span(buffer).first(n));
    add(census, count(std::span<const double>(buffer).first(n), smallest_normal(type)));
  }
  return census;
}

/// Counts in external data. Any number of tensors may share the bytes of a file, so blocks of it are counted once for a type.
class SharedCounts {
 public:
  Census of(ElementType type, std::span<const std::byte> bytes) {
    Census sum;
    const auto width = static_cast<std::size_t>(storage_bits(type)) / 8;
    while (!bytes.empty()) {
      const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
      const std::size_t past = address % block;
      // The first element that begins in the next block ends this piece, so that pieces of whole blocks are the same for all tensors.
      const std::size_t wanted = (block - past + width - 1) / width * width;
      const std::span<const std::byte> piece = bytes.first(std::min(wanted, bytes.size()));
      const bool is_whole = past < width && piece.size() == wanted;
      add(sum, is_whole ? whole(type, address, piece) : count(type, piece));
      bytes = bytes.subspan(piece.size());
    }
    return sum;
  }

 private:
  static constexpr std::size_t block = std::size_t{1} << 16;

  const Census& whole(ElementType type, std::uintptr_t address, std::span<const std::byte> piece) {
    const auto [known, is_new] = counted_.try_emplace({type, address});
    if (is_new) known->second = count(type, piece);
    return known->second;
  }

  std::map<std::pair<ElementType, std::uintptr_t>, Census> counted_;
};

Census census_of(const ir::Tensor& tensor, ElementType type, std::span<const std::byte> outside, SharedCounts& shared) {
  const auto needed = ir::expected_bytes(tensor);
  if (tensor.is_external() && storage_bits(type) % 8 == 0 && needed == outside.size()) return shared.of(type, outside);
  auto reader = ir::ElementReader::open(tensor, outside);
  return reader ? count(*reader, smallest_normal(type)) : Census();
}

void inspect(RuleContext& context, const ir::Tensor& tensor, const TensorLocation& location, SharedCounts& shared) {
  const ElementType type = ir::element_type_of(tensor);
  if (!is_floating(type)) return;
  std::span<const std::byte> outside;
  if (tensor.is_external()) {
    if (!context.external_bytes) return;
    const auto bytes = context.external_bytes(tensor);
    if (!bytes) return;
    outside = *bytes;
  }
  const Census census = census_of(tensor, type, outside, shared);
  const auto warn = [&](std::string_view code, std::uint64_t found, std::string_view what) {
    if (found > 0) context.warning(code, location, fmt::format("{} of {} elements are {}", found, census.total, what));
  };
  warn("weight-nan", census.nan, "NaN");
  warn("weight-infinite", census.infinite, "infinite");
  warn("weight-denormal", census.denormal, "denormal, which many processors compute slowly or flush to zero");
}

}  // namespace

void inspect_weights(RuleContext& context) {
  SharedCounts shared;
  for_each_tensor(
      context,
      [&](const ir::Tensor& tensor, const TensorLocation& location) { inspect(context, tensor, location, shared); },
      [](const ir::SparseTensor&, const TensorLocation&) {});
}

}  // namespace onnxkit::checker
