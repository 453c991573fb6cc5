#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libonnxkit/plan/subject.h"

// What passes over nodes share: looking at what writes a value, and putting one node in the place of several.
namespace onnxkit::plan {

/// A number that a value is multiplied with, or that is added to it.
struct WithScalar {
  ir::ValueId of = ir::ValueId::none;
  double scalar = 0;
};
/// x * c, c * x and x / c.
std::optional<WithScalar> times_scalar(const Subject& subject, ir::ValueId id);
/// x + c, c + x and x - c.
std::optional<WithScalar> plus_scalar(const Subject& subject, ir::ValueId id);

/// The coefficients of 1, x, x^2 and x^3 when the value is such a polynomial in `x`, made of sums, products and powers with scalars.
using Polynomial = std::array<double, 4>;
std::optional<Polynomial> polynomial_in(const Subject& subject, ir::ValueId x, ir::ValueId id);

/// Whether a constant that a file stores in this type may stand for `exact`.
bool is_near(double stored, double exact, ElementType type);
/// Whether an attribute, which is a float, holds a number of a model that computes in this type: it is in the range of floats with all their digits,
/// and of float64 it is that number.
bool fits_attribute(double number, ElementType type);

/// A mean over the last axes, which stay with size 1.
struct LastMean {
  ir::ValueId of = ir::ValueId::none;
  std::int64_t axis = 0;  ///< the first, counted from the front
};
std::optional<LastMean> mean_over_last(const Subject& subject, ir::ValueId id);
/// x where the value is x * x or x ^ 2.
std::optional<ir::ValueId> squared(const Subject& subject, ir::ValueId id);
/// x / sqrt(r), in any form.
struct OverRoot {
  ir::ValueId numerator = ir::ValueId::none, radicand = ir::ValueId::none;
};
std::optional<OverRoot> over_root(const Subject& subject, ir::ValueId id);

/// The other of the two inputs; nothing when the value is both of them or none.
std::optional<ir::ValueId> other_input(const ir::Node& node, ir::ValueId id);
/// Who reads a value, for the reason of a miss: "y is read by 2 nodes".
std::string readers_text(const Subject& subject, ir::ValueId id);
/// "[2, 3]", "of unknown size".
std::string sizes_text(const Subject& subject, ir::ValueId id);
/// The sizes of the axes from `axis` on, when they are constants.
std::optional<Dims> last_dims(const Subject& subject, ir::ValueId id, std::int64_t axis);
/// The node that alone reads the value, once, when it is the one named.
std::optional<std::size_t> only_reader(const Subject& subject, ir::ValueId id, std::string_view op);
/// An integer attribute of a node, or the default that is given.
std::int64_t integer_of(const ir::Node& node, std::string_view name, std::int64_t fallback);
/// A float attribute of a node, or the default that is given.
double real_of(const ir::Node& node, std::string_view name, float fallback);
/// Input number `at`; none when it is omitted.
inline ir::ValueId input_of(const ir::Node& node, std::size_t at) {
  return at < node.inputs.size() ? node.inputs[at] : ir::ValueId::none;
}
/// What a BatchNormalization makes of each channel of x: factors[c] * x + offsets[c], in double.
struct NormalizedChannels {
  std::vector<double> factors, offsets;
};
/// Nothing where it trains, or its statistics are no real constants of `channels` numbers each. Precondition: its operator.
std::optional<NormalizedChannels> normalized_channels(const Subject& subject, const ir::Node& node,
                                                      std::int64_t channels);
/// Whether the opset that the model imports has the operator.
bool has_operator(const Subject& subject, std::string_view op);

/// The change that a pass makes: all its matches in one patch.
class Rewriting {
 public:
  explicit Rewriting(Subject& subject)
      : subject_(subject), patch_(subject.graph()), is_taken_(subject.graph().nodes.size(), false) {}

  ir::Patch& patch() { return patch_; }
  bool is_taken(std::size_t node) const { return is_taken_[node]; }

  /// Whether the nodes between `leaves` and node `root` can go: none belongs to another match, and what they write is read among them only.
  /// When they cannot, the reason is that of a miss of `root`.
  bool is_free(std::size_t root, const std::vector<ir::ValueId>& leaves);
  /// A pattern was found from this node on, but for this. Holds unless a match takes the node after all; the first reason stays.
  void miss(std::size_t node, std::string reason) { misses_.try_emplace(node, std::move(reason)); }
  /// Takes the nodes of the last successful is_free and puts `node`, which writes what `root` writes, in the place of `root`.
  void replace(std::size_t root, ir::Node node);
  /// The patch has something in place of this node already.
  void took(std::size_t node) { is_taken_[node] = true; }
  /// Another node before `root`, of one output of its own, which it returns.
  ir::ValueId add(std::size_t root, std::string_view op, std::vector<ir::ValueId> inputs,
                  const std::vector<ir::Attr>& attributes = {});
  /// A constant of integers, of one axis.
  ir::ValueId integers(std::span<const std::int64_t> values);
  ir::ValueId constant(std::string_view stem, const Tensor& content) {
    return subject_.add_constant(patch_, stem, content);
  }
  /// A constant with these reals rounded to `type`.
  ir::ValueId reals(std::string_view stem, ElementType type, const Dims& dims, std::span<const double> values);
  /// Splices what was gathered; whether there was anything. Tells the subject of matches and misses.
  bool finish();

 private:
  Subject& subject_;
  ir::Patch patch_;
  std::vector<bool> is_taken_;
  std::vector<std::size_t> inside_;
  std::map<std::size_t, std::string> misses_;  ///< by node
};

}  // namespace onnxkit::plan
