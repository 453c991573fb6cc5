#include "converters/layout/stored.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/base/system/forget_pages.h"

namespace onnxkit::layout {
namespace {

ElementType elem_of(const ir::Tensor& tensor) {
  return tensor.data_type && is_known_element_type(*tensor.data_type) ? static_cast<ElementType>(*tensor.data_type)
                                                                      : ElementType::undefined;
}

struct Extent {
  std::size_t size, stride;  ///< where the next element of the axis lies in the source
};

/// Axes in the new order; those that lie one behind the other in both orders are one.
std::vector<Extent> extents_of(const std::vector<std::int64_t>& dims, const Permutation& order) {
  std::vector<std::size_t> strides(dims.size(), 1);
  for (std::size_t axis = dims.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * static_cast<std::size_t>(dims[axis]);
  std::vector<Extent> extents;
  for (const std::int64_t axis : order) {
    const auto at = static_cast<std::size_t>(axis);
    const auto size = static_cast<std::size_t>(dims[at]);
    if (size == 1) continue;
    if (!extents.empty() && extents.back().stride == strides[at] * size) {
      extents.back().size *= size;
      extents.back().stride = strides[at];
    } else {
      extents.push_back({size, strides[at]});
    }
  }
  return extents;
}

template <class T>
void gather(const std::byte* from, std::byte* to, const std::vector<Extent>& extents) {
  if (extents.empty()) {
    std::memcpy(to, from, sizeof(T));
    return;
  }
  const Extent inner = extents.back();
  std::vector<std::size_t> at(extents.size(), 0);
  std::size_t start = 0;
  while (true) {
    for (std::size_t i = 0; i < inner.size; ++i, to += sizeof(T))
      std::memcpy(to, from + (start + i * inner.stride) * sizeof(T), sizeof(T));
    std::size_t axis = extents.size() - 1;
    while (axis-- > 0) {
      start += extents[axis].stride;
      if (++at[axis] < extents[axis].size) break;
      start -= extents[axis].stride * extents[axis].size;
      at[axis] = 0;
      if (axis == 0) return;
    }
    if (extents.size() == 1) return;
  }
}

bool is_whole_bytes(int bits) { return bits == 8 || bits == 16 || bits == 32 || bits == 64; }

void gather_elements(int bits, const std::byte* from, std::span<std::byte> bytes, const std::vector<Extent>& extents) {
  if (bytes.empty()) return;
  std::byte* to = bytes.data();
  switch (bits) {
    case 8:
      return gather<std::uint8_t>(from, to, extents);
    case 16:
      return gather<std::uint16_t>(from, to, extents);
    case 32:
      return gather<std::uint32_t>(from, to, extents);
    default:
      return gather<std::uint64_t>(from, to, extents);
  }
}

/// Whether the elements can be put into another order: whole bytes that fit the sizes.
bool fits(ElementType elem, const std::vector<std::int64_t>& dims, std::span<const std::byte> bytes) {
  const auto count = checked_element_count(dims);
  const auto expected = count && elem != ElementType::undefined ? packed_size(elem, *count) : std::nullopt;
  return expected && *expected == bytes.size() && is_whole_bytes(storage_bits(elem));
}

std::span<std::byte> writable(std::string& bytes) {
  return std::as_writable_bytes(std::span(bytes.data(), bytes.size()));
}

/// The blocks of a tensor in another order: runs along one axis, with all of the axes behind it.
class Blocks {
 public:
  Blocks(std::size_t width, const std::vector<Extent>& extents) : extents_(extents) {
    constexpr std::size_t most_bytes = std::size_t{1} << 22;
    axis_ = extents.size();
    std::size_t inner = width;
    while (axis_ > 0 && inner * extents[axis_ - 1].size <= most_bytes) inner *= extents[--axis_].size;
    inner_bytes_ = inner;
    run_ = axis_ == 0 ? 1 : std::max<std::size_t>(most_bytes / inner, 1);
  }

  template <class Take>
  bool for_each(const Take& take) const {
    return visit(0, 0, take);
  }

 private:
  template <class Take>
  bool visit(std::size_t axis, std::size_t start, const Take& take) const {
    if (axis == axis_) return take(start, extents_, inner_bytes_);  // all of it is one block
    if (axis + 1 < axis_) {
      for (std::size_t i = 0; i < extents_[axis].size; ++i)
        if (!visit(axis + 1, start + i * extents_[axis].stride, take)) return false;
      return true;
    }
    std::vector<Extent> block(extents_.begin() + static_cast<std::ptrdiff_t>(axis), extents_.end());
    for (std::size_t i = 0; i < extents_[axis].size; i += run_) {
      block.front().size = std::min(run_, extents_[axis].size - i);
      if (!take(start + i * extents_[axis].stride, block, block.front().size * inner_bytes_)) return false;
    }
    return true;
  }

  const std::vector<Extent>& extents_;
  std::size_t axis_ = 0;         ///< as many outer axes are not whole in a block
  std::size_t inner_bytes_ = 0;  ///< of the axes behind the one that runs are along
  std::size_t run_ = 1;
};

}  // namespace

bool can_permute(const ir::Tensor& tensor) {
  const ElementType elem = elem_of(tensor);
  const auto count = checked_element_count(tensor.dims);
  const auto bytes = count && elem != ElementType::undefined ? packed_size(elem, *count) : std::nullopt;
  return bytes && is_whole_bytes(storage_bits(elem)) && !tensor.is_external() && !tensor.segment &&
         tensor.raw_data.present() && tensor.raw_data.size() == *bytes;
}

ir::Tensor permuted(ir::Model& model, const ir::Tensor& tensor, const Permutation& order) {
  ir::Tensor result;
  result.data_type = tensor.data_type;
  for (const std::int64_t axis : order) result.dims.push_back(tensor.dims[static_cast<std::size_t>(axis)]);
  const std::vector<Extent> extents = extents_of(tensor.dims, order);
  if (extents.empty() || (extents.size() == 1 && extents.front().stride == 1)) {
    result.raw_data = tensor.raw_data;  // only axes of one element move
    return result;
  }
  std::string bytes(tensor.raw_data.size(), '\0');
  gather_elements(storage_bits(elem_of(tensor)), reinterpret_cast<const std::byte*>(tensor.raw_data.view().data()),
                  writable(bytes), extents);
  constexpr std::size_t least_released = 1 << 16;
  if (bytes.size() >= least_released)
    for (const auto& mapped : model.files) forget_pages(*mapped, tensor.raw_data.view());
  auto file = MappedFile::from_bytes(std::move(bytes));
  result.raw_data = Text(file->view());
  model.files.push_back(std::move(file));
  return result;
}

std::optional<std::string> permuted_bytes(ElementType elem, const std::vector<std::int64_t>& dims,
                                          std::span<const std::byte> bytes, const Permutation& order) {
  if (!fits(elem, dims, bytes)) return std::nullopt;
  std::string result(bytes.size(), '\0');
  gather_elements(storage_bits(elem), bytes.data(), writable(result), extents_of(dims, order));
  return result;
}

bool permute_in_blocks(ElementType elem, const std::vector<std::int64_t>& dims, std::span<const std::byte> bytes,
                       const Permutation& order, const std::function<bool(std::span<const std::byte>)>& take) {
  if (!fits(elem, dims, bytes)) return false;
  if (bytes.empty()) return true;
  const int bits = storage_bits(elem);
  const auto width = static_cast<std::size_t>(bits) / 8;
  const std::vector<Extent> extents = extents_of(dims, order);
  std::string room;
  return Blocks(width, extents)
      .for_each([&](std::size_t start, const std::vector<Extent>& block, std::size_t block_bytes) {
        room.resize(block_bytes);
        gather_elements(bits, bytes.data() + start * width, writable(room), block);
        return take(writable(room));
      });
}

}  // namespace onnxkit::layout
