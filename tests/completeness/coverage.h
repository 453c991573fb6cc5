#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "checker/infer/inference.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_table.h"
#include "onnxkit/element_type.h"

namespace onnxkit::completeness {

/// Which versions of which operators ran on which element type of their first input, and gave what was expected.
class Coverage {
 public:
  void add(const spec::OpSchema& schema, ElementType type) {
    ran_.emplace(schema.domain, schema.name, schema.since_version, static_cast<int>(type));
  }
  /// Nothing is defined for that type, and the run says so: not a hole, if nothing else ran on it either.
  void refuse(const spec::OpSchema& schema, ElementType type) {
    refused_.emplace(schema.domain, schema.name, schema.since_version, static_cast<int>(type));
  }
  /// Every node of a model that has run, subgraphs included, by what inference knows of it.
  void add(const ir::Model& model, const spec::OpTable& table, const checker::InferredModel& inferred);
  /// Lines "domain op version type", as `write` leaves them.
  void read(const std::filesystem::path& file);
  void write(const std::filesystem::path& file) const;

  /// "Softmax-13 bfloat16" for each version of an official operator and each type that its first input may have and nothing ran on; the type is "-"
  /// for an operator without tensor inputs.
  std::vector<std::string> holes() const;

 private:
  using Key = std::tuple<std::string, std::string, std::int32_t, int>;
  std::set<Key> ran_, refused_;
};

/// Element types that the first input of an operator may have as a tensor; `undefined` alone when it takes none.
std::vector<ElementType> first_input_types(const spec::OpSchema& schema);

}  // namespace onnxkit::completeness
