#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace onnxkit::pt2 {

/// The nesting of arguments or results that a program states, with their names: `{"args":["x",["y","z"]],"kwargs":{"mask":"m"}}` for inputs,
/// `["a",{"b":"c"}]` for results. `spec` is the text of a tree of torch.utils._pytree. Empty for a plain list of tensors, which needs no structure, and
/// for what is not understood: another version, kinds of nodes beside tuples, lists and dictionaries, more or fewer names than leaves.
std::string structure_of_inputs(std::string_view spec, const std::vector<std::string_view>& names);
std::string structure_of_outputs(std::string_view spec, const std::vector<std::string_view>& names);

}  // namespace onnxkit::pt2
