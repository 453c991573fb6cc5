#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libonnxkit/plan/build.h"

// What plans for inputs of many sizes have in common (docs/plan.md, "Sizes that change").
namespace onnxkit::plan {

/// A tensor that a run was given, without its content.
struct InputSizes {
  std::string name;
  ElementType type = ElementType::undefined;
  Dims dims;
};
/// Nothing where a value is no tensor.
std::optional<std::vector<InputSizes>> sizes_of(std::span<const NamedValue> inputs);

/// Which sizes of the inputs change from run to run. Those that change by the same number are a number apart in all runs, as the length of a cache and
/// that of a mask over it and one token more.
class SizePattern {
 public:
  /// Of two runs. Nothing where they differ in anything but sizes of 2 and more.
  static std::optional<SizePattern> between(std::span<const InputSizes> a, std::span<const InputSizes> b);

  /// All that is not said to change is the same, and all that changes is at least 2.
  bool fits(std::span<const InputSizes> inputs) const;
  /// Declares the inputs of a model, which it has all, with a symbol in each size that changes.
  void declare(ir::Model& model) const;

 private:
  struct Axis {
    std::size_t input = 0, axis = 0, symbol = 0;
    std::int64_t offset = 0;  ///< the size is the symbol and this, at least 2
  };
  std::vector<InputSizes> inputs_;  ///< of one run that fits
  std::vector<Axis> axes_;          ///< that change
  std::size_t symbols_ = 0;
};

/// A model behind its passes, which took symbols for the sizes that change. It computes the same for all that fit the pattern: passes do only what is
/// right for each size.
struct GenericModel {
  SizePattern pattern;
  std::shared_ptr<const Subject> subject;
  std::vector<std::string> passes;  ///< that changed something
  std::vector<NodeChange> changes;
};

/// Whether the content is a constant that passes made of the generic model, and lies where it is as long as a plan that was made from it.
bool holds(const GenericModel& generic, const Tensor& content);

/// `inputs` fit the pattern. Null where inference finds a fault. Errors: as those of build().
Result<std::shared_ptr<const GenericModel>> make_generic(const ir::Model& model, std::span<const NamedValue> inputs,
                                                         SizePattern pattern, const BuildOptions& options);

/// Those of one model, made when its runs show that they are worth it.
class GenericModels {
 public:
  /// The one whose pattern the inputs fit; made where the last two runs have such a pattern. Null: the plan is made from the model. Errors: as those of
  /// make_generic.
  Result<std::shared_ptr<const GenericModel>> find(const ir::Model& model, std::span<const NamedValue> inputs,
                                                   const BuildOptions& options);
  /// A run went well whose plan was made from the model.
  void note_run(std::vector<InputSizes> sizes);
  /// The model has nothing to share.
  void give_up() { given_up_ = true; }

 private:
  static constexpr std::size_t most = 4;
  bool given_up_ = false;
  std::vector<std::vector<InputSizes>> last_runs_;           ///< two at most
  std::vector<std::shared_ptr<const GenericModel>> models_;  ///< the last used first
};

}  // namespace onnxkit::plan
