// Losses by margins: of pairs, triples, and classes against each other.
#include <algorithm>

#include "converters/formats/pt2/loss_reduction.h"
#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/promotion.h"
#include "converters/formats/pt2/vector_norm.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

Val not_below_zero(Call& call, Val x) { return call.onnx.emit("Max", {x, call.onnx.scalar(call.onnx.elem(x), 0)}); }

Val equals_number(Call& call, Val x, double number) {
  return call.onnx.emit("Equal", {x, call.onnx.scalar(call.onnx.elem(x), number)});
}

/// The same, but 0 of what is not a number, as a comparison gives it.
Val positive_part(Call& call, Val x) {
  const Val zero = call.onnx.scalar(call.onnx.elem(x), 0);
  return call.onnx.emit("Where", {call.onnx.emit("Greater", {x, zero}), x, zero});
}

/// max(0, |anchor - positive| - |anchor - negative| + margin); with `swap` the negative one is taken as near as it is to either.
void map_triplet(Call& call) {
  auto& onnx = call.onnx;
  const Val anchor = call.tensor("anchor"), like = call.tensor("positive"), unlike = call.tensor("negative");
  const ElementType type = onnx.elem(anchor);
  const auto distance = [&](Val a, Val b) {
    return distance_of_rows(call, a, b, call.real("eps", 1e-6), call.real("p", 2), false);
  };
  const Val near = distance(anchor, like);
  Val far = distance(anchor, unlike);
  if (call.flag("swap", false)) far = onnx.emit("Min", {far, distance(like, unlike)});
  const Val gap = onnx.emit("Add", {onnx.emit("Sub", {near, far}), call.number("margin", type, 1)});
  give_reduced_loss(call, not_below_zero(call, gap));
}

/// max(0, -target (x1 - x2) + margin)
void map_ranking(Call& call) {
  auto& onnx = call.onnx;
  const Operands x = operands_of(call, "input1", "input2");
  const ElementType type = promoted(x.type, onnx.elem(call.tensor("target")));
  if (!is_floating(type)) return call.refuse("a loss of integers");
  const Val gap = onnx.cast(onnx.emit("Sub", {x.a, x.b}), type);
  const Val product = onnx.emit("Mul", {onnx.emit("Neg", {onnx.cast(call.tensor("target"), type)}), gap});
  give_reduced_loss(call, not_below_zero(call, onnx.emit("Add", {product, call.number("margin", type)})));
}

/// x where the target is 1, max(0, margin - x) where it is -1; both for other targets.
void map_hinge(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self"), target = call.tensor("target");
  const ElementType type = onnx.elem(x);
  if (!is_floating(type)) return call.refuse("a loss of integers");
  const Val zero = onnx.scalar(type, 0);
  const Val rest = not_below_zero(call, onnx.emit("Sub", {call.number("margin", type, 1), x}));
  const Val of_others = onnx.emit("Where", {equals_number(call, target, 1), zero, rest});
  const Val own = onnx.emit("Where", {equals_number(call, target, -1), zero, x});
  give_reduced_loss(call, onnx.emit("Add", {of_others, own}));
}

/// 1 - cos where the target is 1, max(0, cos - margin) where it is -1.
void map_cosine(Call& call) {
  auto& onnx = call.onnx;
  const Operands x = operands_of(call, "input1", "input2");
  if (!is_floating(x.type)) return call.refuse("a loss of integers");
  const Val target = call.tensor("target"), axis = onnx.integers({static_cast<std::int64_t>(call.rank(target))});
  const Val least = onnx.scalar(x.type, 1e-12), zero = onnx.scalar(x.type, 0), one = onnx.scalar(x.type, 1);
  const auto sum = [&](Val a, Val b) {
    return onnx.emit("ReduceSum", {onnx.emit("Mul", {a, b}), axis}, {{"keepdims", std::int64_t{0}}});
  };
  const auto square = [&](Val value) { return onnx.emit("Add", {sum(value, value), least}); };
  const Val lengths = onnx.emit("Sqrt", {onnx.emit("Mul", {square(x.a), square(x.b)})});
  const Val cosine = onnx.emit("Div", {sum(x.a, x.b), lengths});
  const Val far = onnx.emit("Sub", {one, cosine});
  const Val near = not_below_zero(call, onnx.emit("Sub", {cosine, call.number("margin", x.type)}));
  give_reduced_loss(call, onnx.emit("Add", {onnx.emit("Where", {equals_number(call, target, 1), far, zero}),
                                            onnx.emit("Where", {equals_number(call, target, -1), near, zero})}));
}

/// The mean over the classes of max(0, margin - x[target] + x[class])^p, without the target's own.
void map_classes(Call& call) {
  auto& onnx = call.onnx;
  Val x = call.tensor("self");
  const Val target = call.tensor("target");
  const ElementType type = onnx.elem(x);
  const double power = call.real("p", 1);
  if (power != 1 && power != 2) return call.refuse("the power of a margin is 1 or 2");
  if (call.rank(x) == 0) x = onnx.unsqueeze(x, {0});
  if (call.rank(x) == 1) x = onnx.unsqueeze(x, {0});
  const Val places = onnx.reshape(target, {-1, 1});
  const Val own = onnx.emit("GatherElements", {x, places}, {{"axis", std::int64_t{1}}});
  Val gap = positive_part(call, onnx.emit("Add", {onnx.emit("Sub", {call.number("margin", type, 1), own}), x}));
  if (power == 2) gap = onnx.emit("Mul", {gap, gap});
  if (call.has("weight"))
    gap = onnx.emit("Mul", {gap, onnx.emit("Gather", {call.tensor("weight"), places}, {{"axis", std::int64_t{0}}})});
  const Val zero = onnx.emit("Expand", {onnx.scalar(type, 0), onnx.emit("Shape", {places})});
  gap = onnx.emit("ScatterElements", {gap, places, zero}, {{"axis", std::int64_t{1}}});
  const Val loss = onnx.emit("ReduceMean", {gap, onnx.integers({1})}, {{"keepdims", std::int64_t{0}}});
  const bool is_one = call.rank(target) == 0 && call.integer("reduction", 1) == 0;
  give_reduced_loss(call, is_one ? onnx.squeeze(loss, {0}) : loss);
}

/// The targets of each row, which stand before the first -1: which of them count, class 0 in place of others, and which classes are among them.
struct ListedClasses {
  Val is_listed, places, is_target;
};

ListedClasses classes_in(Call& call, Val target) {
  auto& onnx = call.onnx;
  const Val first = onnx.scalar_integer(ElementType::int64, 0);
  const Val none = onnx.cast(onnx.emit("Less", {target, first}), ElementType::int32);
  const Val ends = onnx.emit("CumSum", {none, onnx.scalar_integer(ElementType::int64, -1)});
  const Val is_listed = onnx.emit("Equal", {ends, onnx.scalar_integer(ElementType::int32, 0)});
  const Val places = onnx.emit("Where", {is_listed, target, first});
  const Val no_targets = onnx.emit("Sub", {ends, ends});
  const Val is_target = onnx.emit("ScatterElements", {no_targets, places, onnx.cast(is_listed, ElementType::int32)},
                                  {{"axis", std::int64_t{-1}}, {"reduction", std::string("max")}});
  return {is_listed, places, onnx.cast(is_target, ElementType::boolean)};
}

/// All pairs of a target and another class: the sum of max(0, 1 - x[target] + x[class]), by the count of classes.
void map_several_classes(Call& call) {
  auto& onnx = call.onnx;
  Val x = call.tensor("self"), target = call.tensor("target");
  const ElementType type = onnx.elem(x);
  if (call.rank(x) == 0) x = onnx.unsqueeze(x, {0});
  const bool is_one = call.rank(target) == 0;
  if (is_one) target = onnx.unsqueeze(target, {0});
  const ListedClasses listed = classes_in(call, target);
  const Val own = onnx.emit("GatherElements", {x, listed.places}, {{"axis", std::int64_t{-1}}});
  const Val gap = onnx.emit("Sub", {onnx.unsqueeze(x, {-2}), onnx.unsqueeze(own, {-1})});
  const Val margin = positive_part(call, onnx.emit("Add", {gap, onnx.scalar(type, 1)}));
  const Val others = onnx.unsqueeze(onnx.emit("Not", {listed.is_target}), {-2});
  const Val counts = onnx.emit("And", {onnx.unsqueeze(listed.is_listed, {-1}), others});
  const Val losses = onnx.emit("Where", {counts, margin, onnx.scalar(type, 0)});
  const Val sums = onnx.emit("ReduceSum", {losses, onnx.integers({-2})}, {{"keepdims", std::int64_t{0}}});
  std::vector<Val> results = {
      reduced_loss(call, onnx.emit("ReduceMean", {sums, onnx.integers({-1})}, {{"keepdims", std::int64_t{0}}}))};
  const Val is_target = onnx.cast(listed.is_target, type);
  if (call.node.outputs.size() > 1) results.push_back(is_one ? onnx.squeeze(is_target, {0}) : is_target);
  call.results(results);
}

}  // namespace

void register_margin_loss(Mappings& mappings);
void register_margin_loss(Mappings& mappings) {
  mappings.add("aten.triplet_margin_loss.default", map_triplet);
  mappings.add("aten.margin_ranking_loss.default", map_ranking);
  mappings.add("aten.hinge_embedding_loss.default", map_hinge);
  mappings.add("aten.cosine_embedding_loss.default", map_cosine);
  mappings.add("aten.multi_margin_loss.default", map_classes);
  mappings.add({"aten.multilabel_margin_loss.default", "aten.multilabel_margin_loss_forward.default"},
               map_several_classes);
}

}  // namespace onnxkit::pt2
