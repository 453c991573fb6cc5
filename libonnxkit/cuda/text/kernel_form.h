#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace onnxkit::cuda {

/// The text of a kernel (Launch::text) with the whole numbers of its body apart: kernels of one step for several sizes have the same form, and one
/// kernel that gets some of the numbers as parameters does what all of them do. Numbers that have to be known when a kernel is compiled, arguments of
/// templates and sizes of arrays, stay in the form, as do pragmas and real numbers.
class KernelForm {
 public:
  explicit KernelForm(std::string_view text);

  /// What kernels of the same form have in common: all but the numbers, whose types are a part of it.
  const std::string& key() const { return key_; }
  const std::vector<std::int64_t>& numbers() const { return numbers_; }
  /// The text with these numbers as further parameters, in their order, behind all others.
  std::string with_parameters(const std::vector<bool>& parameters) const;

 private:
  std::vector<std::string> pieces_;  ///< around the numbers
  std::vector<std::string> written_;
  std::vector<std::string_view> types_;
  std::vector<std::int64_t> numbers_;
  std::string key_;
};

}  // namespace onnxkit::cuda
