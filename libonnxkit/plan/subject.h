#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "checker/infer/inference.h"
#include "libonnxkit/ir/builder.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/patch.h"
#include "libonnxkit/ir/uses.h"
#include "libonnxkit/plan/view.h"
#include "libonnxkit/spec/op_table.h"
#include "libonnxkit/wire/external/external_data.h"
#include "onnxkit/value.h"

namespace onnxkit::plan {

/// Of the model's folder, without a look at checksums.
std::shared_ptr<wire::ExternalData> external_data(const ir::Model& model, bool allow_outside);

/// The name of a node; of one without a name the first value that it writes.
std::string node_title(const ir::Graph& graph, const ir::Node& node);
/// Whether an attribute of the node is a graph.
bool has_body(const ir::Node& node);

/// Whether a node of the graph, a Gradient, names values of it, which passes would rename or fold away.
bool names_values(const ir::Graph& graph);
/// The value that a Gradient follows back through the nodes of the graph, which its model needs then; none for other operators.
ir::ValueId traced_target(const ir::Graph& graph, const ir::Node& node);

/// What a pass says of the nodes that it looked at, by their titles.
struct PassNotes {
  struct Taken {
    std::string node, into;  ///< a node of a pattern, and the one that stands in its place
  };
  struct Missed {
    std::string node, op, reason;
  };
  std::vector<Taken> taken = {};
  std::vector<Missed> missed = {};
};

/// A model on its way to a plan: passes look at its main graph and change it. It stays a valid model that computes the same.
class Subject {
 public:
  /// Runs a model without inputs and gives its outputs: how constants are folded.
  using Evaluate = std::function<Result<std::vector<NamedValue>>(const ir::Model& model)>;

  struct Options {
    bool allow_outside_data = false;
    std::shared_ptr<wire::ExternalData> external = {};  ///< as BuildOptions have it
    bool exact = false;                                 ///< BuildOptions::exact
    /// The backend multiplies with weights of a few bits as they are packed.
    bool packs_weights = false;
    bool splits_capped_attention = false;  ///< as BuildOptions have it
    bool is_generic = false;               ///< sizes of inputs are symbols, and further passes will know them
    std::uint64_t memory_limit = 0;        ///< as BuildOptions have it
    /// The model is a file that people keep: no constant is folded that takes more bytes than this and than what it is made of, what is quantized
    /// stays so, and so do weights with their names.
    std::optional<std::uint64_t> most_growth = {};
  };

  /// `model` has inputs of constant sizes.
  Subject(ir::Model model, std::shared_ptr<const spec::OpTable> table, Evaluate evaluate, const Options& options);

  ir::Model& model() { return model_; }
  const ir::Model& model() const { return model_; }
  const ir::Graph& graph() const { return *model_.graph; }
  const spec::OpTable& table() const { return *table_; }
  const ir::Uses& uses() const { return *uses_; }
  const Evaluate& evaluate() const { return evaluate_; }
  /// BuildOptions::exact.
  bool is_exact() const { return options_.exact; }
  bool packs_weights() const { return options_.packs_weights; }
  bool splits_capped_attention() const { return options_.splits_capped_attention; }
  bool is_generic() const { return options_.is_generic; }
  /// 0: none.
  std::uint64_t memory_limit() const { return options_.memory_limit; }

  /// Of ai.onnx, that the model imports; 0 for none.
  std::int64_t opset() const;
  /// Whether the node is of ai.onnx and named so.
  static bool is_op(const ir::Node& node, std::string_view op);
  /// The node that writes the value, when it is the one named; null otherwise.
  const ir::Node* writer(ir::ValueId id, std::string_view op) const;
  /// The index of the node that writes the value. Precondition: a node of the main graph does.
  std::size_t writer_index(ir::ValueId id) const { return static_cast<std::size_t>(uses_->producer(id)); }
  /// One node reads it, once or more, and it is no output of the graph.
  bool has_one_reader(ir::ValueId id) const;
  /// The schema of a node of ai.onnx or a known domain; null when unknown.
  const spec::OpSchema* schema(const ir::Node& node) const;

  /// undefined where it is unknown or not a tensor.
  ElementType type(ir::ValueId id) const;
  /// The sizes of a tensor when all are constants.
  std::optional<Dims> dims(ir::ValueId id) const;
  /// The sizes of a tensor as far as they are known: constants, expressions of symbols, unknown ones. Null without a rank.
  const checker::Shape* shape(ir::ValueId id) const;
  /// Both are of one shape, whatever the symbols in it stand for.
  bool same_shape(ir::ValueId a, ir::ValueId b) const;
  /// Sizes when all are constants, and so few elements that they fit into some memory.
  static std::optional<Dims> constant_sizes(std::span<const ir::Dim> sizes);
  /// No size can be 0.
  bool has_elements(ir::ValueId id) const;
  const checker::ValueInfo& info(ir::ValueId id) const { return info_->values[ir::index_of(id)]; }
  const ir::DimPool& dim_pool() const { return inferred_->dims; }
  ir::DimPool& dim_pool() { return inferred_->dims; }

  /// The content of an initializer; nothing for others, and for content that cannot be read.
  std::optional<Tensor> content(ir::ValueId id) const;
  /// The only element of a real initializer.
  std::optional<double> scalar(ir::ValueId id) const;
  /// All elements of an initializer of floating-point numbers.
  std::optional<std::vector<double>> reals(ir::ValueId id) const;
  /// All elements of an integer initializer.
  std::optional<std::vector<std::int64_t>> integers(ir::ValueId id) const;
  bool is_constant(ir::ValueId id) const { return uses_->initializers().contains(id); }

  /// Options::most_growth.
  std::optional<std::uint64_t> most_growth() const { return options_.most_growth; }
  bool is_kept() const { return options_.most_growth.has_value(); }

  /// Makes the change and finds out anew what is known. Precondition as of ir::splice, and new values of the main graph have names of fresh_name().
  /// Drops nodes that nobody reads.
  void splice(ir::Patch patch);
  /// A new initializer in a patch, whose bytes are those of `content`.
  ir::ValueId add_constant(ir::Patch& patch, std::string_view stem, const Tensor& content);
  /// Makes an initializer of a value that no node writes behind the patch.
  void set_constant(ir::Patch& patch, ir::ValueId id, const Tensor& content);
  /// A part of the model, such as `ir::extract` makes, that keeps alive what add_constant() added and the part reads.
  std::shared_ptr<const ir::Model> shared_part(ir::Model part) const;
  /// This one's model reads content that was added to another subject, and has nodes that were.
  void adopt_additions(std::shared_ptr<const Subject> other);
  /// Files that constants lie in.
  std::vector<std::shared_ptr<const MappedFile>> files() const;
  /// Whether add_constant() added the content whose bytes begin there.
  bool has_added(const std::byte* bytes) const { return added(reinterpret_cast<const char*>(bytes)) != nullptr; }
  /// Lets go of what add_constant() added: only tensors from content() keep it from now on, and the model must not be read any more.
  void release_constants() {
    added_.clear();
    adopted_.reset();
  }
  Text fresh_name(std::string_view stem) { return names_->make(stem); }
  /// The name of a further node that a pass puts in the place of node `at`: that of the model's node, and a value that the new one writes.
  Text name_beside(std::size_t at, std::string_view written);
  /// By the titles of nodes that passes made: the node of the model in whose place each is. Without those of an adopted generic model.
  const std::map<std::string, std::string, std::less<>>& origins() const { return origins_; }
  /// The same of one node, whoever made it; null for those of the model.
  const std::string* origin(std::string_view title) const;
  /// Of the pass that runs; passes write them through Rewriting.
  PassNotes& notes() { return notes_; }
  /// What inference found wrong when it last looked.
  const std::optional<std::string>& fault() const { return fault_; }

 private:
  /// Finds out anew what is known.
  void refresh();
  /// Removes nodes whose results nobody reads, and initializers.
  void drop_unused();
  /// What add_constant() added whose bytes lie there; null for others.
  const Tensor* added(const char* bytes) const;
  /// The node of the model that a title stands for.
  const std::string& origin_of(const std::string& title) const {
    const std::string* const known = origin(title);
    return known ? *known : title;
  }
  ir::Model model_;
  std::shared_ptr<const spec::OpTable> table_;
  Evaluate evaluate_;
  Options options_;
  std::shared_ptr<wire::ExternalData> external_;
  std::optional<ir::FreshNames> names_;
  std::optional<ir::Uses> uses_;
  std::optional<checker::InferredModel> inferred_;
  std::optional<std::string> fault_;
  const checker::GraphInfo* info_ = nullptr;
  PassNotes notes_;
  std::map<std::string, std::string, std::less<>> origins_;
  std::unordered_map<const char*, Tensor> added_;  ///< by the place of their bytes
  std::shared_ptr<const Subject> adopted_;         ///< null, or whose additions the model reads, too
};

}  // namespace onnxkit::plan
