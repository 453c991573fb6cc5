// Parts of tensors: slices, gathers and scatters.
#include <algorithm>
#include <limits>

#include "converters/formats/aten/lower.h"

namespace onnxkit::aten {
namespace {

/// What is sliced of one axis.
struct Cut {
  Given start{"start", Int{0}}, end{"end", std::numeric_limits<Int>::max()};
  Int axis = 0, step = 1;
};

/// Counted from the other end: place p of the reversed axis is -p - 1.
void reverse(WriteCall& call, Given& bound) {
  const auto* constant = std::get_if<Int>(&bound.value);
  if (!constant) call.refuse("it runs backwards from a place that is computed", "make its starts and ends constant");
  if (constant) bound.value = ~*constant;
}

std::vector<Cut> cuts_of(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  const Given::Mixed starts = integer_arguments(call, 1), ends = integer_arguments(call, 2);
  Ints axes, steps;
  for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<Int>(i));
  if (call.has(3) && !call.known_integers(3)) {
    call.refuse("its axes are computed while the model runs",
                "make them constant, or give a start and an end for each axis");
    return {};
  }
  if (call.has(4) && !call.known_integers(4)) {
    call.refuse("its steps are computed while the model runs", "make them constant");
    return {};
  }
  if (call.has(3)) axes = WriteCall::from_start(call.constant_integers(3), rank);
  steps.assign(axes.size(), 1);
  if (call.has(4)) steps = call.constant_integers(4);
  std::vector<Cut> cuts;
  const bool fits = starts.size() == axes.size() && ends.size() == axes.size() && steps.size() == axes.size();
  if (!fits || std::find(steps.begin(), steps.end(), 0) != steps.end())
    call.refuse("its starts, ends, axes and steps do not fit");
  for (std::size_t i = 0; i < axes.size() && !call.refused(); ++i) {
    Cut& cut = cuts.emplace_back();
    cut.axis = axes[i];
    cut.step = steps[i];
    std::visit([&](auto value) { cut.start.value = value; }, starts[i]);
    std::visit([&](auto value) { cut.end.value = value; }, ends[i]);
  }
  return cuts;
}

void map_slice(WriteCall& call) {
  ValueId x = call.input(0);
  for (Cut& cut : cuts_of(call)) {
    if (cut.step < 0) {
      x = flip(call, x, cut.axis);
      reverse(call, cut.start);
      reverse(call, cut.end);
      cut.step = -cut.step;
    }
    Type type = Type::tensor(call.elem(0));
    if (call.type_of(x).shape) {
      type = call.type_of(x);
      const auto axis = static_cast<std::size_t>(cut.axis);
      if (axis < type.shape->size())
        (*type.shape)[axis] = call.output_type().shape ? (*call.output_type().shape)[axis] : Dim();
    }
    x = call.emit("aten.slice.Tensor", {{"self", x}, {"dim", cut.axis}, cut.start, cut.end, {"step", cut.step}}, type);
  }
  call.result(x == call.input(0) ? unary(call, "aten.clone.default", x) : x);
}

/// Places as PyTorch takes them.
ValueId as_places(WriteCall& call, ValueId indices) { return cast(call, indices, ElementType::int64); }

/// Places that count from the end brought to those from the start.
ValueId from_front(WriteCall& call, std::size_t input, std::size_t axis) {
  const ValueId places = as_places(call, call.input(input));
  const auto known = call.known_integers(input);
  if (known && std::all_of(known->begin(), known->end(), [](Int place) { return place >= 0; })) return places;
  Given size{"other", Int{1}};
  std::visit([&](auto value) { size.value = value; }, size_argument(call, (*call.shape(0))[axis]));
  return call.emit("aten.remainder.Scalar", {{"self", places}, size}, with_elem(call.type(input), ElementType::int64));
}

/// x[:, ..., indices], any number of them side by side from axis `first` on.
ValueId at_places(WriteCall& call, ValueId x, std::size_t first, const std::vector<ValueId>& indices, Type type) {
  std::vector<ValueId> list(first, ValueId::none);
  list.insert(list.end(), indices.begin(), indices.end());
  return call.emit("aten.index.Tensor", {{"self", x}, {"indices", list}}, std::move(type));
}

void map_gather(WriteCall& call) {
  const Int axis = call.axis("axis", 0, call.rank(0));
  if (call.refused()) return;
  const auto known = call.known_integers(1);
  if (known && call.shape(1) && call.shape(1)->empty())
    return call.result(call.emit("aten.select.int", {{"self", call.input(0)}, {"dim", axis}, {"index", known->front()}},
                                 call.output_type()));
  const ValueId x = call.input(0), places = as_places(call, call.input(1));
  call.result(at_places(call, x, static_cast<std::size_t>(axis), {places}, call.output_type()));
}

void map_gather_elements(WriteCall& call) {
  const Int axis = call.axis("axis", 0, call.rank(0));
  if (call.refused()) return;
  const ValueId places = from_front(call, 1, static_cast<std::size_t>(axis));
  call.result(call.emit("aten.gather.default", {{"self", call.input(0)}, {"dim", axis}, {"index", places}},
                        call.output_type()));
}

/// The parts of tuples of places along the last axis.
std::vector<ValueId> parts_of(WriteCall& call, std::size_t input) {
  const std::size_t rank = call.rank(input);
  const auto count = rank == 0 ? std::nullopt : call.size(input, rank - 1);
  if (!count) call.refuse("how many axes its indices name is not known");
  std::vector<ValueId> parts;
  const ValueId places = as_places(call, call.input(input));
  for (Int i = 0; i < count.value_or(0); ++i) parts.push_back(select(call, places, static_cast<Int>(rank) - 1, i));
  return parts;
}

void map_gather_nd(WriteCall& call) {
  const auto batches = static_cast<std::size_t>(call.integer("batch_dims", 0));
  const std::size_t rank = call.rank(1);
  if (batches >= rank) return call.refuse("its indices have too few axes");
  std::vector<ValueId> places;
  for (std::size_t i = 0; i < batches; ++i) {
    Shape shape(rank - 1, Dim(1));
    shape[i] = (*call.shape(1))[i];
    places.push_back(reshape(call, count_up(call, shape[i]), shape));
  }
  for (const ValueId part : parts_of(call, 1)) places.push_back(part);
  call.result(at_places(call, call.input(0), 0, places, call.output_type()));
}

/// "" for one that PyTorch lacks.
std::string_view reduction_name(std::string_view reduction) {
  if (reduction == "add") return "sum";
  if (reduction == "mul") return "prod";
  if (reduction == "max") return "amax";
  return reduction == "min" ? "amin" : "";
}

void map_scatter_elements(WriteCall& call) {
  const Int axis = call.axis("axis", 0, call.rank(0));
  if (call.refused()) return;
  const std::string_view reduction = call.text("reduction", "none");
  std::vector<Given> given = {{"self", call.input(0)},
                              {"dim", axis},
                              {"index", from_front(call, 1, static_cast<std::size_t>(axis))},
                              {"src", call.input(2)}};
  if (reduction == "none") return call.result(call.emit("aten.scatter.src", std::move(given), call.output_type()));
  given.push_back({"reduce", reduction_name(reduction)});
  given.push_back({"include_self", true});
  call.result(call.emit("aten.scatter_reduce.two", std::move(given), call.output_type()));
}

/// Reductions that index_put lacks: each tuple of places becomes one place in the first axes laid flat.
void reduce_scatter_nd(WriteCall& call, std::string_view reduction) {
  if (!call.shape(0) || !call.shape(1) || !call.shape(2)) return call.refuse("the ranks of its inputs are not known");
  const Shape& shape = *call.shape(0);
  const std::vector<ValueId> parts = parts_of(call, 1);
  const std::size_t count = parts.size();
  if (count > shape.size()) return call.refuse("its indices name too many axes");
  Dim front = 1, back = 1, updates = 1;
  for (std::size_t i = 0; i < shape.size(); ++i)
    (i < count ? front : back) = call.dims().mul(i < count ? front : back, shape[i]);
  for (std::size_t i = 0; i + 1 < call.shape(1)->size(); ++i) updates = call.dims().mul(updates, (*call.shape(1))[i]);
  ValueId flat = ValueId::none;
  for (std::size_t i = 0; i < count; ++i) {
    if (!shape[i].is_constant()) return call.refuse("a reduction over axes of unknown size");
    const auto size = static_cast<double>(shape[i].constant());
    const Type type = call.type_of(parts[i]);
    const ValueId place =
        call.emit("aten.remainder.Scalar", {{"self", parts[i]}, {"other", shape[i].constant()}}, type);
    flat =
        flat == ValueId::none ? place : binary(call, "aten.add.Tensor", multiply_number(call, flat, size), place, type);
  }
  const ValueId column = reshape(call, flat, {updates, Dim(1)});
  const ValueId index =
      call.emit("aten.expand.default", {{"self", column}, {"size", size_arguments(call, {updates, back})}},
                Type::tensor(ElementType::int64, {updates, back}));
  const ValueId result = call.emit("aten.scatter_reduce.two",
                                   {{"self", reshape(call, call.input(0), {front, back})},
                                    {"dim", Int{0}},
                                    {"index", index},
                                    {"src", reshape(call, call.input(2), {updates, back})},
                                    {"reduce", reduction_name(reduction)},
                                    {"include_self", true}},
                                   Type::tensor(call.elem(0), {front, back}));
  call.result(reshape(call, result, shape));
}

void map_scatter_nd(WriteCall& call) {
  const std::string_view reduction = call.text("reduction", "none");
  if (reduction != "none" && reduction != "add") return reduce_scatter_nd(call, reduction);
  call.result(call.emit("aten.index_put.default",
                        {{"self", call.input(0)},
                         {"indices", parts_of(call, 1)},
                         {"values", call.input(2)},
                         {"accumulate", reduction == "add"}},
                        call.output_type()));
}

/// Without an axis the tensor counts as flat. The condition may be shorter.
void map_compress(WriteCall& call) {
  const bool has_axis = call.has_attribute("axis");
  const Int axis = has_axis ? call.axis("axis", 0, call.rank(0)) : 0;
  const ValueId x = has_axis ? call.input(0)
                             : call.emit("aten.flatten.using_ints",
                                         {{"self", call.input(0)}, {"start_dim", Int{0}}, {"end_dim", Int{-1}}},
                                         Type::tensor(call.elem(0)));
  const ValueId found =
      call.emit("aten.nonzero.default", {{"self", call.input(1)}}, Type::tensor(ElementType::int64, {Dim(), Dim(1)}));
  const ValueId places = select(call, found, 1, 0);
  call.result(
      call.emit("aten.index_select.default", {{"self", x}, {"dim", axis}, {"index", places}}, call.output_type()));
}

void map_non_zero(WriteCall& call) {
  const ValueId found = call.emit("aten.nonzero.default", {{"self", call.input(0)}}, Type::tensor(ElementType::int64));
  call.result(call.emit("aten.permute.default", {{"self", found}, {"dims", Ints{1, 0}}}, call.output_type()));
}

/// Along the time axis the first lengths[b] places run backwards.
void map_reverse_sequence(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  const Int time = call.axis("time_axis", 0, rank), batch = call.axis("batch_axis", 1, rank);
  if (call.refused() || time + batch != 1) return call.refuse("its time and batch axes are not the first two");
  const Dim times = (*call.shape(0))[static_cast<std::size_t>(time)],
            batches = (*call.shape(0))[static_cast<std::size_t>(batch)];
  const Shape along_time = time == 0 ? Shape{times, Dim(1)} : Shape{Dim(1), times};
  const Shape along_batch = time == 0 ? Shape{Dim(1), batches} : Shape{batches, Dim(1)};
  const Type both = Type::tensor(ElementType::int64, {(*call.shape(0))[0], (*call.shape(0))[1]});
  const ValueId place = reshape(call, count_up(call, times), along_time);
  const ValueId length = reshape(call, call.input(1), along_batch);
  const ValueId back = add_number(call, binary(call, "aten.sub.Tensor", length, place, both), -1);
  const ValueId inside = binary(call, "aten.lt.Tensor", place, length, with_elem(both, ElementType::boolean));
  const ValueId from = where(call, inside, back, place, both);
  const ValueId which = reshape(call, count_up(call, batches), along_batch);
  call.result(at_places(call, call.input(0), 0,
                        time == 0 ? std::vector<ValueId>{from, which} : std::vector<ValueId>{which, from},
                        call.output_type()));
}

}  // namespace

void register_index(Writers& writers);
void register_index(Writers& writers) {
  writers.add("Slice", map_slice);
  writers.add("Gather", map_gather);
  writers.add("GatherElements", map_gather_elements);
  writers.add("GatherND", map_gather_nd);
  writers.add("ScatterElements", map_scatter_elements);
  writers.add("ScatterND", map_scatter_nd);
  writers.add("Compress", map_compress);
  writers.add("NonZero", map_non_zero);
  writers.add("ReverseSequence", map_reverse_sequence);
}

}  // namespace onnxkit::aten
