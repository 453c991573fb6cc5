// Losses: element by element, then all of them, their mean or their sum.
#include <numbers>

#include "converters/formats/pt2/loss_reduction.h"
#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/promotion.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

Val error_of(Call& call) { return call.onnx.emit("Sub", {call.tensor("self"), call.tensor("target")}); }

void map_mean_square(Call& call) {
  const Val d = error_of(call);
  give_reduced_loss(call, call.onnx.emit("Mul", {d, d}));
}

void map_mean_absolute(Call& call) { give_reduced_loss(call, call.onnx.emit("Abs", {error_of(call)})); }

/// A parabola up to `bound`, a line from there on; the smooth form is divided by the bound.
template <bool is_smooth>
void map_huber(Call& call) {
  auto& onnx = call.onnx;
  const Val size = onnx.emit("Abs", {error_of(call)});
  const ElementType type = onnx.elem(size);
  const double bound = call.real(is_smooth ? "beta" : "delta", 1);
  if (is_smooth && bound == 0) return give_reduced_loss(call, size);
  const Val half = onnx.scalar(type, is_smooth ? 0.5 / bound : 0.5), slope = onnx.scalar(type, is_smooth ? 1 : bound);
  const Val square = onnx.emit("Mul", {onnx.emit("Mul", {size, size}), half});
  const Val line = onnx.emit("Mul", {slope, onnx.emit("Sub", {size, onnx.scalar(type, 0.5 * bound)})});
  give_reduced_loss(call, onnx.emit("Where", {onnx.emit("Less", {size, onnx.scalar(type, bound)}), square, line}));
}

void give_weighted(Call& call, Val loss) {
  give_reduced_loss(call, call.has("weight") ? call.onnx.emit("Mul", {loss, call.tensor("weight")}) : loss);
}

/// Logarithms are -100 at least.
void map_cross_entropy(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self"), target = call.tensor("target");
  const ElementType type = onnx.elem(x);
  const Val one = onnx.scalar(type, 1), least = onnx.scalar(type, -100);
  const auto logarithm = [&](Val p) { return onnx.emit("Max", {onnx.emit("Log", {p}), least}); };
  const Val hit = onnx.emit("Mul", {target, logarithm(x)});
  const Val miss = onnx.emit("Mul", {onnx.emit("Sub", {one, target}), logarithm(onnx.emit("Sub", {one, x}))});
  give_weighted(call, onnx.emit("Neg", {onnx.emit("Add", {hit, miss})}));
}

/// (1 - target) x + (1 + (weight - 1) target) softplus(-x)
void map_cross_entropy_of_logits(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self"), target = call.tensor("target");
  const Val one = onnx.scalar(onnx.elem(x), 1);
  Val soft = onnx.emit("Softplus", {onnx.emit("Neg", {x})});
  if (call.has("pos_weight")) {
    const Val more = onnx.emit("Mul", {onnx.emit("Sub", {call.tensor("pos_weight"), one}), target});
    soft = onnx.emit("Mul", {onnx.emit("Add", {one, more}), soft});
  }
  give_weighted(call, onnx.emit("Add", {onnx.emit("Mul", {onnx.emit("Sub", {one, target}), x}), soft}));
}

void map_soft_margin(Call& call) {
  auto& onnx = call.onnx;
  const Val product = onnx.emit("Mul", {call.tensor("self"), call.tensor("target")});
  give_reduced_loss(call, onnx.emit("Softplus", {onnx.emit("Neg", {product})}));
}

/// target (log target - x); where the target is 0 nothing is lost.
void map_divergence(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self"), target = call.tensor("target");
  if (call.flag("log_target", false))
    return give_reduced_loss(call, onnx.emit("Mul", {onnx.emit("Exp", {target}), onnx.emit("Sub", {target, x})}));
  const Val zero = onnx.scalar(onnx.elem(target), 0);
  const Val own = onnx.emit("Mul", {target, onnx.emit("Log", {target})});
  const Val entropy = onnx.emit("Where", {onnx.emit("Equal", {target, zero}), zero, own});
  give_reduced_loss(call, onnx.emit("Sub", {entropy, onnx.emit("Mul", {target, x})}));
}

/// exp(x) - target x, or x - target log(x + eps); the full loss has Stirling's approximation of log(target!) where that is above 0.
void map_poisson(Call& call) {
  auto& onnx = call.onnx;
  const Operands pair = operands_of(call, "input", "target");
  const Val x = pair.a, target = pair.b;
  const ElementType type = pair.type;
  if (!is_floating(type)) return call.refuse("a loss of integers");
  const auto logarithm = [&](Val value) { return onnx.emit("Log", {value}); };
  Val loss;
  if (call.flag("log_input", true)) {
    loss = onnx.emit("Sub", {onnx.emit("Exp", {x}), onnx.emit("Mul", {target, x})});
  } else {
    const Val more = onnx.emit("Add", {x, onnx.scalar(type, call.real("eps", 1e-8))});
    loss = onnx.emit("Sub", {x, onnx.emit("Mul", {target, logarithm(more)})});
  }
  if (call.flag("full", false)) {
    const Val turn = onnx.scalar(type, 2 * std::numbers::pi), half = onnx.scalar(type, 0.5);
    const Val own = onnx.emit("Sub", {onnx.emit("Mul", {target, logarithm(target)}), target});
    const Val root = onnx.emit("Mul", {half, logarithm(onnx.emit("Mul", {turn, target}))});
    const Val is_small = onnx.emit("LessOrEqual", {target, onnx.scalar(type, 1)});
    const Val added = onnx.emit("Where", {is_small, onnx.scalar(type, 0), onnx.emit("Add", {own, root})});
    loss = onnx.emit("Add", {loss, added});
  }
  give_reduced_loss(call, loss);
}

}  // namespace

void register_loss(Mappings& mappings);
void register_loss(Mappings& mappings) {
  mappings.add("aten.mse_loss.default", map_mean_square);
  mappings.add("aten.l1_loss.default", map_mean_absolute);
  mappings.add("aten.huber_loss.default", map_huber<false>);
  mappings.add("aten.smooth_l1_loss.default", map_huber<true>);
  mappings.add("aten.binary_cross_entropy.default", map_cross_entropy);
  mappings.add("aten.binary_cross_entropy_with_logits.default", map_cross_entropy_of_logits);
  mappings.add("aten.soft_margin_loss.default", map_soft_margin);
  mappings.add("aten.kl_div.default", map_divergence);
  mappings.add("aten.poisson_nll_loss.default", map_poisson);
}

}  // namespace onnxkit::pt2
