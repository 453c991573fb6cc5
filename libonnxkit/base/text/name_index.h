#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace onnxkit {

/// From names to small numbers, the names being kept elsewhere: an open-addressed table of hashes, so that a search touches one cache
/// line of its own and growing touches no name. `name_of(id)` gives the name that an id was inserted with.
class NameIndex {
 public:
  template <class NameOf>
  std::optional<std::uint32_t> find(std::string_view name, const NameOf& name_of) const {
    if (slots_.empty()) return std::nullopt;
    const Slot& slot = slots_[position_of(name, hash(name), name_of)];
    return slot.id < erased ? std::optional(slot.id) : std::nullopt;
  }

  /// The id of `name`, which becomes `id` when the name is new.
  template <class NameOf>
  std::uint32_t insert(std::string_view name, std::uint32_t id, const NameOf& name_of) {
    if ((used_ + 1) * 2 > slots_.size()) grow();
    const std::uint32_t code = hash(name);
    Slot& slot = slots_[position_of(name, code, name_of)];
    if (slot.id < erased) return slot.id;
    slot = {code, id};
    ++used_;
    return id;
  }

  template <class NameOf>
  void erase(std::string_view name, const NameOf& name_of) {
    if (slots_.empty()) return;
    Slot& slot = slots_[position_of(name, hash(name), name_of)];
    if (slot.id < erased) slot.id = erased;
  }

 private:
  static constexpr std::uint32_t free_slot = 0xffffffff;
  static constexpr std::uint32_t erased = 0xfffffffe;
  struct Slot {
    std::uint32_t code = 0;
    std::uint32_t id = free_slot;
  };

  /// Where the name is, or the free slot that ends the search for it.
  template <class NameOf>
  std::size_t position_of(std::string_view name, std::uint32_t code, const NameOf& name_of) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = code & mask;
    while (slots_[at].id != free_slot) {
      if (slots_[at].code == code && slots_[at].id != erased && name_of(slots_[at].id) == name) return at;
      at = (at + 1) & mask;
    }
    return at;
  }

  void grow();
  /// Keyed by a number that differs from run to run, so that no file can bring names which all collide.
  static std::uint32_t hash(std::string_view name);

  std::vector<Slot> slots_;  ///< a power of two
  std::size_t used_ = 0;     ///< slots that are not free, erased ones included
};

}  // namespace onnxkit
