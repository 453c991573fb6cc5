#include "libonnxkit/cpu/step.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cpu/map/convert.h"
#include "libonnxkit/plan/generic_model.h"

namespace onnxkit::cpu {

void register_all_kernels(KernelRegistry& registry);

const KernelRegistry& kernel_registry() {
  static const KernelRegistry registry = [] {
    KernelRegistry all;
    register_all_kernels(all);
    return all;
  }();
  return registry;
}

std::optional<std::string> KernelRegistry::refusal(const plan::Plan& plan, const plan::Step& step) const {
  const auto found = by_kind_.find(step.kind.name);
  if (found == by_kind_.end())
    return fmt::format("the backend cpu has no kernel for steps of the kind {}", step.kind.name);
  if (!found->second.refuse || plan::writes_nothing(plan, step)) return std::nullopt;
  return found->second.refuse(plan, step);
}

namespace {

constexpr std::size_t boundary = 64, huge_page = std::size_t{1} << 21;

}  // namespace

void FreeBlock::operator()(std::byte* memory) const { std::free(memory); }

Block make_block(std::size_t bytes) {
  const std::size_t alignment = bytes >= huge_page ? huge_page : boundary;
  const std::size_t whole = (bytes + boundary) / boundary * boundary;
  Block block(static_cast<std::byte*>(std::aligned_alloc(alignment, (whole + alignment - 1) / alignment * alignment)));
  if (!block) throw std::bad_alloc();
  // The last huge page would take memory that nobody asked for.
  if (bytes >= huge_page) ::madvise(block.get(), bytes / huge_page * huge_page, MADV_HUGEPAGE);
  return block;
}

bool Preparation::is_lasting(const Tensor& content) const {
  if (plan.generic && plan::holds(*plan.generic, content)) return true;
  return std::any_of(plan.files.begin(), plan.files.end(), [&](const auto& file) {
    const std::byte* const begin = file->bytes().data();
    return std::greater_equal<>()(content.bytes().data(), begin) &&
           std::less<>()(content.bytes().data(), begin + file->bytes().size());
  });
}

WeightKey Preparation::weight_key(std::string_view how, const View& view) const {
  const std::size_t index = plan.buffers[view.buffer].index;
  const Tensor& content = plan.constants[index];
  const bool is_lasting = this->is_lasting(content);
  // The memory of a constant that a pass made is free once it is packed, and may hold another one then.
  const std::string place =
      is_lasting ? fmt::format("{}", fmt::ptr(content.bytes().data())) : fmt::format("constant {}", index);
  return {.name = fmt::format("{} {} {} {} {} {}", how, name_of(content.type()), place, view.offset,
                              fmt::join(view.dims, ","), fmt::join(view.strides, ",")),
          .is_lasting = is_lasting};
}

PackedWeights::Floats Preparation::aligned(const Tensor& content) {
  const auto bytes = content.bytes();
  const WeightKey key{.name = fmt::format("aligned {} {}", fmt::ptr(bytes.data()), bytes.size()),
                      .is_lasting = is_lasting(content)};
  return pack_once(key, [&] {
    auto copy = std::make_shared<AlignedFloats>(static_cast<std::int64_t>(bytes.size() / sizeof(float) + 1));
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::byte*>(copy->data()));
    return copy;
  });
}

StoredFloats Preparation::stored(const View& view, bool in_rows) const {
  const Tensor& content = plan.constants[plan.buffers[view.buffer].index];
  StoredFloats stored;
  stored.strides = view.strides;
  const std::byte* from = content.bytes().data() + view.offset * (storage_bits(view.type) / 8);
  if (view.type == ElementType::float32 && (!in_rows || view.is_contiguous())) {
    stored.from = reinterpret_cast<const float*>(from);
    return stored;
  }
  std::vector<std::byte> copy;  // of what lies askew in the file
  const auto width = static_cast<std::uintptr_t>(storage_bits(view.type) / 8);
  if (reinterpret_cast<std::uintptr_t>(from) % width != 0 && view.size() > 0) {
    std::int64_t below = 0, above = 0;  // of the first element, in elements
    for (std::size_t axis = 0; axis < view.rank(); ++axis) {
      const std::int64_t reach = (view.dims[axis] - 1) * view.strides[axis];
      (reach < 0 ? below : above) += reach;
    }
    const auto bytes = static_cast<std::int64_t>(width);
    copy.assign(from + below * bytes, from + (above + 1) * bytes);
    from = copy.data() - below * bytes;
  }
  stored.widened = row_major_floats(from, view);
  stored.strides = plan::row_major_strides(view.dims);
  return stored;
}

bool are_finite(const float* numbers, std::int64_t count) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(numbers);
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, bytes + i * static_cast<std::int64_t>(sizeof(float)), sizeof bits);
    largest = std::max(largest, bits & 0x7fffffffU);
  }
  return largest < 0x7f800000U;  // the bits of infinity; those of NaN are larger
}

std::vector<float> row_major_floats(const std::byte* from, const View& view) {
  std::vector<float> rows(static_cast<std::size_t>(view.size()));
  const Conversion conversion(view.type, Held::f32);
  if (view.is_contiguous()) {
    conversion.load(rows.data(), from, 1, view.size());
    return rows;
  }
  const std::int64_t inner = view.rank() == 0 ? 1 : view.dims.back(), count = view.size();
  const std::int64_t inner_stride = view.rank() == 0 ? 1 : view.strides.back();
  for (std::int64_t row = 0; row * inner < count; ++row) {
    std::int64_t rest = row, offset = 0;
    for (std::size_t axis = view.rank() == 0 ? 0 : view.rank() - 1; axis-- > 0;) {
      offset += rest % view.dims[axis] * view.strides[axis];
      rest /= view.dims[axis];
    }
    conversion.load(rows.data() + row * inner, from + offset * conversion.width(), inner_stride, inner);
  }
  return rows;
}

}  // namespace onnxkit::cpu
