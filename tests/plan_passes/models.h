#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_table.h"
#include "onnxkit/value.h"

namespace onnxkit::plan_cases {

const std::shared_ptr<const spec::OpTable>& table();
std::string content_of(const std::filesystem::path& path);
/// Inputs as `run` makes them; empty where it makes none.
std::vector<Value> made_up(const ir::Model& model);

struct Loaded {
  ir::Model model;
  std::vector<Value> inputs;
};

/// A model, binary or text, and inputs: those of its first data set, else made up ones. Nothing for what cannot be read.
std::optional<Loaded> load_as_is(const std::filesystem::path& path);
/// In the newest opset and with the sizes of its inputs, as a plan sees it: an initializer is a constant unless a value is given.
std::optional<Loaded> load(const std::filesystem::path& path);

}  // namespace onnxkit::plan_cases
