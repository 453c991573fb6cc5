// Pad with zeros in front of a Conv or AveragePool, and with numbers that no maximum is in front of a MaxPool: their own pads. Keras writes so
// (ZeroPadding2D), as does PyTorch for pads that differ by side.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/plan/pass.h"
#include "libonnxkit/plan/rewriting.h"

namespace onnxkit::plan {
namespace {

using Sides = std::vector<std::int64_t>;  ///< begins of all axes, then ends

class PadFolding {
 public:
  explicit PadFolding(Subject& subject) : subject_(subject), rewriting_(subject) {}

  bool run() {
    for (std::size_t at = 0; at < subject_.graph().nodes.size(); ++at) {
      const ir::Node& node = subject_.graph().nodes[at];
      const bool is_conv = Subject::is_op(node, "Conv");
      if (!is_conv && !Subject::is_op(node, "MaxPool") && !Subject::is_op(node, "AveragePool")) continue;
      const ir::Node* const pad = subject_.writer(input_of(node, 0), "Pad");
      if (pad && mode_of(*pad) == "constant") match(at, node, *pad, is_conv);
    }
    return rewriting_.finish();
  }

 private:
  static std::string_view text_of(const ir::Node& node, std::string_view name, std::string_view fallback) {
    const ir::Attribute* const attribute = node.find_attribute(name);
    const Text* const text = attribute ? attribute->as<Text>() : nullptr;
    return text ? text->view() : fallback;
  }
  static std::string_view mode_of(const ir::Node& pad) { return text_of(pad, "mode", "constant"); }

  static std::optional<Sides> integers_in(const ir::Node& node, std::string_view name) {
    const ir::Attribute* const attribute = node.find_attribute(name);
    const auto* const list = attribute ? attribute->as<std::vector<std::int64_t>>() : nullptr;
    return list ? std::optional(*list) : std::nullopt;
  }

  /// What a Pad adds to the axes behind the first two; nothing where it is not known, cuts off, or adds to those two.
  std::optional<Sides> spatial_pads(const ir::Node& pad, std::size_t rank) const {
    constexpr std::size_t pads_input = 1, axes_input = 3;
    const auto pads = input_of(pad, pads_input) != ir::ValueId::none ? subject_.integers(pad.inputs[pads_input])
                                                                     : integers_in(pad, "pads");
    Sides axes(rank);
    for (std::size_t i = 0; i < rank; ++i) axes[i] = static_cast<std::int64_t>(i);
    if (input_of(pad, axes_input) != ir::ValueId::none) {
      const auto stated = subject_.integers(pad.inputs[axes_input]);
      if (!stated) return std::nullopt;
      axes = *stated;
    }
    if (!pads || rank < 3 || pads->size() != 2 * axes.size()) return std::nullopt;
    const std::size_t spatial = rank - 2;
    Sides sides(2 * spatial, 0);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const std::int64_t axis = axes[i] < 0 ? axes[i] + static_cast<std::int64_t>(rank) : axes[i];
      if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) return std::nullopt;
      for (const std::size_t end : {0U, 1U}) {
        const std::int64_t added = (*pads)[i + end * axes.size()];
        if (added < 0 || (added > 0 && axis < 2)) return std::nullopt;
        if (axis >= 2) sides[static_cast<std::size_t>(axis) - 2 + end * spatial] = added;
      }
    }
    return sides;
  }

  std::optional<double> value_of(const ir::Node& pad) const {
    constexpr std::size_t value_input = 2;
    if (input_of(pad, value_input) != ir::ValueId::none) return subject_.scalar(pad.inputs[value_input]);
    return real_of(pad, "value", 0);
  }

  void match(std::size_t at, const ir::Node& node, const ir::Node& pad, bool is_conv) {
    const auto miss = [&](const char* reason) { rewriting_.miss(at, reason); };
    const ir::ValueId x = input_of(pad, 0);
    const checker::Shape* const shape = subject_.shape(x);
    if (!shape) return;
    const auto added = spatial_pads(pad, shape->size());
    if (!added)
      return miss("the Pad in front cuts off, adds to batch or channels, or by numbers that are not constant");
    const auto value = value_of(pad);
    if (!value) return miss("the Pad in front adds a number that is not a real constant");
    const std::string_view automatic = text_of(node, "auto_pad", "NOTSET");
    if (automatic != "NOTSET" && automatic != "VALID") return miss("its own pads follow from the size of the image");
    Sides own = Sides(added->size(), 0);
    if (const auto stated = integers_in(node, "pads"); stated && automatic == "NOTSET") own = *stated;
    if (own.size() != added->size()) return;
    const bool has_own = std::any_of(own.begin(), own.end(), [](std::int64_t size) { return size != 0; });
    for (std::size_t i = 0; i < own.size(); ++i) {
      const auto both = checked_add(own[i], (*added)[i]);
      if (!both || own[i] < 0) return;
      own[i] = *both;
    }
    bool includes_pads = false;
    if (is_conv) {
      if (*value != 0) return miss("the Pad in front adds another number than 0");
      if (!has_finite_weights(node)) return miss("the weights may be infinite, which padding with zeros makes NaN");
    } else {
      if (integer_of(node, "ceil_mode", 0) != 0) return miss("the number of windows is rounded up");
      if (!each_window_meets_image(node, own, *shape)) return miss("a window may lie beside the image");
      includes_pads = node.op_type == "AveragePool";
      if (includes_pads && (*value != 0 || (has_own && integer_of(node, "count_include_pad", 0) == 0)))
        return miss("a mean counts what the Pad in front adds otherwise than its own pads");
      if (!includes_pads && (node.outputs.size() != 1 || !is_no_maximum(*value, x)))
        return miss("what the Pad in front adds may be a maximum, or places are asked for");
    }
    std::vector<ir::ValueId> leaves(node.inputs.begin() + 1, node.inputs.end());
    leaves.push_back(x);
    if (!rewriting_.is_free(at, leaves)) return;
    ir::Node folded = ir::clone(node);
    folded.inputs[0] = x;
    std::erase_if(folded.attributes, [&](const ir::Attribute& attribute) {
      return attribute.name == "auto_pad" || attribute.name == "pads" ||
             (includes_pads && attribute.name == "count_include_pad");
    });
    folded.attributes.push_back(ir::make_attribute(subject_.model(), {"pads", own}));
    if (includes_pads)
      folded.attributes.push_back(ir::make_attribute(subject_.model(), {"count_include_pad", std::int64_t{1}}));
    rewriting_.replace(at, std::move(folded));
  }

  /// Weights may be large, so a few are decoded at a time.
  static bool all_within(const Tensor& content, double greatest) {
    std::array<double, 1024> some;
    const std::size_t width = static_cast<std::size_t>(storage_bits(content.type())) / 8;
    if (width == 0) return false;
    for (std::span<const std::byte> rest = content.bytes(); !rest.empty();) {
      const std::size_t count = std::min(some.size(), rest.size() / width);
      const auto numbers = std::span(some).first(count);
      decode(content.type(), rest.first(count * width), numbers);
      if (std::ranges::any_of(numbers, [&](double number) { return !(std::abs(number) <= greatest); })) return false;
      rest = rest.subspan(count * width);
    }
    return true;
  }

  /// Constants that are finite, perhaps behind a DequantizeLinear.
  bool has_finite_weights(const ir::Node& convolution) const {
    constexpr double greatest_scale = 1e30;
    ir::ValueId id = input_of(convolution, 1);
    double greatest = std::numeric_limits<double>::max();
    if (const ir::Node* integers = subject_.writer(id, "DequantizeLinear")) {
      if (is_floating(subject_.type(integers->inputs[0]))) return false;
      id = integers->inputs[1], greatest = greatest_scale;
    }
    const auto content = subject_.content(id);
    return content && is_floating(content->type()) && all_within(*content, greatest);
  }

  bool each_window_meets_image(const ir::Node& pool, const Sides& pads, const checker::Shape& image) {
    const auto kernel = integers_in(pool, "kernel_shape"), dilations = integers_in(pool, "dilations");
    const std::size_t axes = pads.size() / 2;
    if (!kernel || kernel->size() != axes || (dilations && dilations->size() != axes)) return false;
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t most = std::max(pads[i], pads[i + axes]);
      if (most == 0) continue;
      if (most >= (*kernel)[i] || (dilations && (*dilations)[i] != 1)) return false;
      if (subject_.dim_pool().lower_bound(image[i + 2]).value_or(0) < 1) return false;
    }
    return true;
  }

  /// No element of the image is less.
  bool is_no_maximum(double value, ir::ValueId image) const {
    const ElementType type = subject_.type(image);
    if (is_floating(type) ? value == -std::numeric_limits<double>::infinity() : value <= least_of(type)) return true;
    if (subject_.writer(image, "Relu") || subject_.writer(image, "Sigmoid")) return value <= 0;
    const ir::Node* const clip = subject_.writer(image, "Clip");
    const auto is_below = [&](std::size_t bound) {
      const auto number = subject_.scalar(input_of(*clip, bound));
      return number && value <= *number;
    };
    // Where the bounds are crossed the upper one counts.
    return clip && is_below(1) && (input_of(*clip, 2) == ir::ValueId::none || is_below(2));
  }

  Subject& subject_;
  Rewriting rewriting_;
};

}  // namespace

void register_fold_pads(PassRegistry& registry);
void register_fold_pads(PassRegistry& registry) {
  registry.add({.name = "fold_pads",
                .stage = Stage::clean,
                .run = [](Subject& subject) -> Result<bool> { return PadFolding(subject).run(); },
                .simplifies = Simplifies::yes});
}

}  // namespace onnxkit::plan
