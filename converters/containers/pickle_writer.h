#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace onnxkit::containers {

/// Python's pickle format, protocol 2: the opcodes that PyTorch's archives need, one function each. What they do to the stack is the
/// caller's business.
class PickleWriter {
 public:
  PickleWriter() : bytes_("\x80\x02") {}

  PickleWriter& global(std::string_view module, std::string_view name) {
    bytes_ += 'c';
    bytes_.append(module).append("\n").append(name).append("\n");
    return *this;
  }
  PickleWriter& text(std::string_view text) { return add('X').number(text.size(), 4).append(text); }
  PickleWriter& integer(std::int64_t value) {
    const bool is_short = value >= 0 && value <= 0x7fffffff;
    if (is_short) return add('J').number(static_cast<std::uint64_t>(value), 4);
    return add('\x8a').number(8, 1).number(static_cast<std::uint64_t>(value), 8);
  }
  /// A tuple of them.
  PickleWriter& integers(const std::vector<std::int64_t>& values) {
    mark();
    for (const std::int64_t value : values) integer(value);
    return tuple();
  }
  PickleWriter& boolean(bool value) { return add(value ? '\x88' : '\x89'); }
  PickleWriter& mark() { return add('('); }
  PickleWriter& tuple() { return add('t'); }  ///< of what stands above the mark
  PickleWriter& empty_tuple() { return add(')'); }
  PickleWriter& empty_dictionary() { return add('}'); }
  PickleWriter& set_items() { return add('u'); }
  PickleWriter& reduce() { return add('R'); }
  PickleWriter& new_object() { return add('\x81'); }
  PickleWriter& build() { return add('b'); }
  PickleWriter& persistent() { return add('Q'); }
  /// torch._utils._rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad, hooks): a tensor whose elements lie one behind the other from
  /// the start of a storage. `storage_type` is its class in module torch.
  PickleWriter& tensor(std::string_view storage_type, std::size_t storage, const std::vector<std::int64_t>& dims);
  std::string finished() { return bytes_ + "."; }

 private:
  PickleWriter& add(char opcode) {
    bytes_ += opcode;
    return *this;
  }
  PickleWriter& append(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  PickleWriter& number(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
    return *this;
  }

  std::string bytes_;
};

}  // namespace onnxkit::containers
