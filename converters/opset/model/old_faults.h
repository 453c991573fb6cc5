#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/tensor/tensor_data.h"
#include "libonnxkit/spec/op_table.h"
#include "onnxkit/opset.h"

namespace onnxkit::opset {

/// Findings of check that mean that a model is wrong.
std::vector<Diagnostic> errors_of(const ir::Model& model, const spec::OpTable& table,
                                  const ir::ExternalBytes& external);

/// The faults that a model had before it was converted.
class OldFaults {
 public:
  /// `errors` are those of `model` as it came.
  OldFaults(std::vector<Diagnostic> errors, const ir::Model& model);

  /// Takes note of faults that are none in the opsets that the model is converted to, such as a value of an attribute that only a newer version
  /// allows; `at_target` are the errors of the model when it is taken for one of those opsets.
  void note_cured(std::span<const Diagnostic> at_target);
  /// Those in which no conversion of these domains has a meaning to keep: nodes that are provably wrong, imports that say no opset. Without domains, only the latter.
  std::vector<OpsetRefusal> blocking(const std::set<std::string>& domains);
  /// Those that the conversion took for info.
  std::vector<OpsetRefusal> relied_on(std::span<const OpsetChange> changes, const std::set<std::string>& believed);
  /// Whether the converted model's `finding` is one of them. Each counts once; locations may have moved.
  bool take(const Diagnostic& finding);

  /// Whether a newer opset may allow what some node of the model says.
  bool may_be_cured() const;
  /// Those that refused nothing.
  std::vector<Diagnostic> warnings() const;
  /// Those that take() found in the converted model.
  std::vector<Diagnostic> warnings_of_result() const;

 private:
  OpsetRefusal refuse(std::size_t fault);
  std::vector<Diagnostic> warnings_of(const std::vector<bool>& chosen, bool as_chosen) const;

  std::vector<Diagnostic> faults_;
  std::vector<bool> is_taken_, is_refused_, is_cured_;
  bool imports_none_ = false;
  /// Faults that look alike, in their order; those before `next` are taken or cured.
  struct Alike {
    std::vector<std::size_t> faults;
    std::size_t next = 0;
  };
  std::map<std::string, Alike> by_key_;
  /// Nodes that read an initializer which is at fault, by their locations' paths.
  std::multimap<std::string, std::size_t> readers_;
};

}  // namespace onnxkit::opset
