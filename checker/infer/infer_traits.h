#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "libonnxkit/ir/dim/dim.h"
#include "libonnxkit/ir/model.h"

namespace onnxkit::checker {

class NodeShapes;
/// Multiplications (each with its addition) that a node needs; unknown where shapes are.
using CostFunction = ir::Dim (*)(const NodeShapes& node);

/// The costs that operators share (cost.cpp).
namespace cost {

ir::Dim convolution(const NodeShapes& node);
ir::Dim quantized_convolution(const NodeShapes& node);
ir::Dim transposed_convolution(const NodeShapes& node);
ir::Dim matmul(const NodeShapes& node);
ir::Dim gemm(const NodeShapes& node);
ir::Dim recurrent(const NodeShapes& node);
ir::Dim einsum(const NodeShapes& node);
ir::Dim attention(const NodeShapes& node);
ir::Dim flex_attention(const NodeShapes& node);
ir::Dim linear_attention(const NodeShapes& node);
ir::Dim multi_head_attention(const NodeShapes& node);
ir::Dim group_query_attention(const NodeShapes& node);
template <std::size_t past>  // the input that holds past keys and values
ir::Dim projected_attention(const NodeShapes& node);
template <std::size_t second>  // the input that holds the weights of the second layer
ir::Dim mixture_of_experts(const NodeShapes& node);
/// Of operators that multiply, in a number that no rule here knows.
ir::Dim unknown(const NodeShapes& node);

}  // namespace cost

/// What an input of an operator asks of the integers in it, or of the tensors of a sequence.
enum class Role : std::uint8_t {
  moved,      ///< nothing: the outputs hold the same numbers or tensors
  shifted,    ///< nothing: the outputs hold the numbers plus those of input `other`
  index,      ///< positions on the axis `axis` (attribute or default) of input 0
  index_nd,   ///< positions on the leading axes of input 0
  row,        ///< positions on axis 0 of input `other`
  label,      ///< positions on axis 1 of input 0
  length,     ///< positive, at most the size of axis 0 of input 0
  time,       ///< positive, at most the size of axis `time_axis` of input 0
  count,      ///< positive, at most the size of the axis `axis` of input 0
  size,       ///< a small positive size or number of passes
  stretched,  ///< sizes that input 0 can be broadcast to
  pieces,     ///< sizes that make up the axis `axis` of input 0
  scales,     ///< positive factors, one for each axis
  axes,       ///< different axes of input 0, but for the last `other`
  unit_axes,  ///< different axes of size 1 of input 0
  new_axes,   ///< different axes of output 0, which has one more than input 0 for each
  share,      ///< reals from 0 to 1
  counted,    ///< nothing, but how many are not zero is the size of an axis of output 0 that has no other name
  compared,  ///< nothing, but results turn where the elements pass InferTraits::numbers, or without that those of input `other`
  // of sequences
  like_input,   ///< its tensors are like input `other`
  like_output,  ///< its tensors are like output 0
  joined,       ///< its tensors make up output 0 along the axis `axis`
  mapped,       ///< its tensors are inputs of the body, at the same position
};

/// A number that an operator compares elements of input 0 with: those at `column` of the last axis, or with -1 all.
struct ComparedNumber {
  std::int64_t column = -1;
  double number = 0;
};
using NumbersFunction = std::vector<ComparedNumber> (*)(const ir::Node& node);

constexpr std::uint8_t every_input = 0xff;

struct InputRole {
  std::uint8_t input;  ///< or every_input
  Role role;
  std::uint8_t other = 0;  ///< the input that `role` compares with, or a number that it tells of
};

/// The roles of an operator's inputs; those without a row are data that may hold anything.
class InputRoles {
 public:
  constexpr InputRoles() = default;
  constexpr InputRoles(std::initializer_list<InputRole> roles) {
    for (const InputRole& role : roles) roles_.at(count_++) = role;
  }
  constexpr const InputRole* begin() const { return roles_.data(); }
  constexpr const InputRole* end() const { return roles_.data() + count_; }

 private:
  std::array<InputRole, 8> roles_ = {};
  std::uint8_t count_ = 0;
};

/// What turns training mode on when it holds 1: an attribute, an input, or nothing.
struct TrainingSwitch {
  const char* attribute = nullptr;
  std::int8_t input = -1;
};

/// What is known of an operator beyond types, shapes and contents. Registered with its inference.
struct InferTraits {
  CostFunction cost = nullptr;  ///< null: nothing worth counting
  InputRoles inputs = {};
  /// Reads how large its inputs are and not what they hold.
  bool reads_sizes_only = false;
  /// Its output is input 0 in another shape: nothing needs to be read or written.
  bool is_view = false;
  /// Its output is data of the model, as an initializer is.
  bool is_constant = false;
  /// Outputs of its body ahead of those that become the node's own.
  std::uint8_t own_body_outputs = 0;
  TrainingSwitch training = {};
  /// Integer attributes that hold the number of an element type.
  std::array<const char*, 2> type_attributes = {};
  /// What an input with the role `compared` is compared with, where attributes hold it.
  NumbersFunction numbers = nullptr;
};

}  // namespace onnxkit::checker
