#include "tools/actions/input_set.h"

#include <utility>

namespace onnxkit::tools {

InputSet input_set(std::string name, CompletedInputs inputs) {
  InputSet set{std::move(name), {}, std::move(inputs.notes), std::move(inputs.help)};
  for (RunInput& input : inputs.inputs) set.values.push_back({std::move(input.name), std::move(input.value)});
  return set;
}

}  // namespace onnxkit::tools
