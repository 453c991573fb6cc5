#include "libonnxkit/base/text/name_index.h"

#include <cstring>
#include <random>

namespace onnxkit {
namespace {

__extension__ using Wide = unsigned __int128;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// Names that a file chose cannot collide on purpose, since nobody knows the key beforehand.
std::uint64_t hash_key() {
#ifdef ONNXKIT_FIXED_HASH_KEY
  return 0x2545f4914f6cdd1d;
#else
  std::random_device device;
  return (std::uint64_t{device()} << 32 | device()) | 1;
#endif
}

}  // namespace

std::uint32_t NameIndex::hash(std::string_view name) {
  static const std::uint64_t key = hash_key();
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
  std::uint64_t state = key ^ (name.size() * odd);
  while (!name.empty()) {
    std::uint64_t word = 0;
    const std::size_t size = name.size() < sizeof(word) ? name.size() : sizeof(word);
    std::memcpy(&word, name.data(), size);
    state = mixed(state ^ word, key ^ odd);
    name.remove_prefix(size);
  }
  state = mixed(state, odd);
  return static_cast<std::uint32_t>(state ^ (state >> 32));
}

void NameIndex::grow() {
  constexpr std::size_t smallest = 16;
  std::size_t live = 0;
  for (const Slot& slot : slots_) live += slot.id < erased;
  std::size_t size = smallest;
  while (size < live * 4) size *= 2;
  std::vector<Slot> old(size);
  old.swap(slots_);
  used_ = live;
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id >= erased) continue;
    std::size_t at = slot.code & mask;
    while (slots_[at].id != free_slot) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

}  // namespace onnxkit
