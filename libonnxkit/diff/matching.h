#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libonnxkit/exec/value_desc.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/diff.h"

// Inputs and outputs of two sides brought together: by the names that the user gave, by equal names, else by type, shape and layout where that leaves
// one choice.
namespace onnxkit::diffing {

using NameMap = std::map<std::string, std::string>;  ///< name on the first side to name on the other

/// A tensor with its axes in another order: result axis i is axis order[i]. nullopt for types of less than a byte.
std::optional<Tensor> permuted(const Tensor& tensor, std::span<const std::size_t> order);

/// The channels from the second axis to the last, or back; nullopt where they cannot be moved.
std::optional<Tensor> with_channels(const Tensor& tensor, bool last);

/// The tensor in another floating type.
std::optional<Tensor> cast(const Tensor& tensor, ElementType type);

/// The value as it is declared: as it is, or with channels moved (NCHW to NHWC or back) when only that fits the declared shape.
Value fitted(const Value& value, const exec::ValueDesc& declared);

struct MatchedInputs {
  std::vector<NamedValue> values;  ///< by the session's names
  std::vector<std::string> moved;  ///< names in the set of those whose channels were moved
  std::vector<std::string> cast;   ///< names in the set of those that another floating type was wanted of
};

/// Values for the inputs of a session, by their names, without those that may be left out and that the set does not have. Error input-missing
/// names all inputs of both sides.
Result<MatchedInputs> inputs_for(std::span<const exec::ValueDesc> inputs, const InputSet& set, const NameMap& names);

/// Whether `a` and `b` are one name or names that the user gave as of the same.
bool is_same_name(const NameMap& names, const std::string& a, const std::string& b);

/// The order of axes that makes dims fit what is declared (-1: any) by moving the channels, where dims as they are do not and only one way does.
std::optional<std::vector<std::size_t>> layout_order(std::span<const std::int64_t> dims,
                                                     std::span<const std::int64_t> declared);

enum class Types : std::uint8_t { equal, same_domain };

/// For each wanted value the index of the output that stands for it: by the names that the user gave, by equal names, as the only one left, or as
/// the only one of its type and shape.
std::vector<std::optional<std::size_t>> pair_outputs(std::span<const NamedValue> outputs,
                                                     std::span<const NamedValue> wanted, const NameMap& names,
                                                     Types types = Types::equal);

struct MatchedOutputs {
  std::vector<NamedValue> values;             ///< under the names and in the layout of what was wanted, in its order
  std::vector<std::string> moved;             ///< names of those whose channels were moved
  std::map<std::string, std::string> absent;  ///< name of those that no output stands for, of kind none, and why
};

/// What an output of a foreign model is in the first side's terms. All outputs as they are when nothing is wanted. Error output-missing where
/// none of them can be told.
Result<MatchedOutputs> matched_outputs(std::vector<NamedValue> outputs, const std::vector<NamedValue>& wanted,
                                       const NameMap& names);

}  // namespace onnxkit::diffing
