// Branches and loops, whose bodies are graphs of the file.
#include "converters/foreign/control_flow.h"

#include <algorithm>
#include <limits>

#include "converters/formats/saved_model/lower.h"

namespace onnxkit::saved_model {
namespace {

using foreign::Graph;

const Graph* graph_of(Call& call, std::string_view name) {
  const foreign::Argument* given = call.argument(name);
  const auto* graph = given ? given->as<std::unique_ptr<Graph>>() : nullptr;
  if (!graph) call.refuse("a graph that it runs is missing");
  return graph ? graph->get() : nullptr;
}

void map_if(Call& call) {
  const Graph *then_graph = graph_of(call, "then_branch"), *else_graph = graph_of(call, "else_branch");
  if (!then_graph || !else_graph) return;
  foreign::branch(call, call.tensor("condition"), *then_graph, *else_graph, call.tensors("inputs"));
}

/// The results of the branch of this index, the last one for all others: an If for each branch before it.
std::vector<Val> branch_of_index(Call& call, Val index, const std::vector<const Graph*>& branches, std::size_t first,
                                 const std::vector<Val>& operands) {
  auto& onnx = call.onnx;
  if (first + 1 == branches.size()) return call.inlined(*branches[first], operands);
  const Val is_first =
      onnx.emit("Equal", {index, onnx.scalar_integer(onnx.elem(index), static_cast<std::int64_t>(first))});
  std::vector<OnnxBuilder::Body> bodies;
  onnx.open_body("then_branch", {});
  bodies.emplace_back("then_branch", onnx.close_body(call.inlined(*branches[first], operands)));
  onnx.open_body("else_branch", {});
  bodies.emplace_back("else_branch", onnx.close_body(branch_of_index(call, index, branches, first + 1, operands)));
  call.restore_origin();
  return onnx.emit_with_bodies(branches[first]->outputs.size(), "If", {is_first}, std::move(bodies));
}

void map_case(Call& call) {
  const foreign::Argument* given = call.argument("branches");
  const auto* list = given ? given->as<foreign::Argument::List>() : nullptr;
  constexpr std::size_t most_branches = 64;  // each lies inside the one before
  if (!list || list->empty() || list->size() > most_branches) return call.refuse("it has no branches, or more than 64");
  std::vector<const Graph*> branches;
  for (const foreign::Argument& item : *list)
    if (const auto* graph = item.as<std::unique_ptr<Graph>>()) branches.push_back(graph->get());
  if (branches.size() != list->size()) return call.refuse("a graph that it runs is missing");
  const auto count = [&](const Graph* branch) { return branch->outputs.size() == branches.front()->outputs.size(); };
  if (!std::all_of(branches.begin(), branches.end(), count))
    return call.refuse("its branches do not have as many results");
  call.results(branch_of_index(call, call.tensor("branch_index"), branches, 0, call.tensors("inputs")));
}

/// How often a loop runs whose condition compares counters with limits; false for others.
Val passes_of(Call& call) {
  auto& onnx = call.onnx;
  const std::vector<Val> starts = call.tensors("starts"), limits = call.tensors("limits");
  Val passes;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    Val limit = onnx.cast(limits[i], ElementType::int64);
    if (onnx.constant_integers(starts[i]) != std::vector<std::int64_t>{0})
      limit = onnx.emit("Sub", {limit, onnx.cast(starts[i], ElementType::int64)});
    if (onnx.rank(limit) != 0) limit = onnx.reshape(limit, std::vector<std::int64_t>());
    const bool is_same = passes && onnx.symbolic_integers(passes) == onnx.symbolic_integers(limit) &&
                         !onnx.symbolic_integers(limit).empty();
    if (!is_same) passes = passes ? onnx.emit("Min", {passes, limit}) : limit;
  }
  return passes;
}

/// Whether each pass writes one of `count` elements, and no pass is left out.
bool writes_all(Call& call, Val passes, Val count) {
  auto& onnx = call.onnx;
  const foreign::Shape wanted = onnx.symbolic_integers(count);
  return passes && !wanted.empty() && onnx.symbolic_integers(passes) == wanted;
}

/// A list of `count` elements of which only the first are there: zeros stand for those that no pass writes.
Val completed(Call& call, Val written, Val count) {
  auto& onnx = call.onnx;
  const std::size_t rank = call.rank(written);
  if (rank == 0) return written;
  const Val wanted = onnx.reshape(onnx.cast(count, ElementType::int64), {1});
  const Val missing = onnx.emit("Max", {onnx.emit("Sub", {wanted, onnx.size_of(written, 0)}), onnx.integers({0})});
  const std::vector<std::int64_t> before(rank, 0), behind(rank - 1, 0);
  const Val pads = onnx.joined({onnx.integers(before), missing, onnx.integers(behind)});
  return onnx.emit("Pad", {written, pads, onnx.scalar(onnx.elem(written), 0)});
}

/// Types of what is carried in every pass: those before the first one, without sizes that the file leaves open or that `changed` names.
std::vector<checker::Type> carried_types(Call& call, const std::vector<Val>& carried,
                                         const std::vector<std::vector<bool>>& changed) {
  std::vector<checker::Type> types;
  const foreign::Argument* declared = call.argument("output_shapes");
  const auto* shapes = declared ? declared->as<foreign::Argument::List>() : nullptr;
  for (std::size_t i = 0; i < carried.size(); ++i) {
    const checker::Type& before = call.onnx.type(carried[i]);
    const auto* sizes = shapes && i < shapes->size() ? (*shapes)[i].as<foreign::Argument::List>() : nullptr;
    const bool has_rank = before.shape && (!shapes || (sizes && sizes->size() == before.shape->size()));
    if (!has_rank) {
      types.push_back(checker::Type::tensor(before.elem));
      continue;
    }
    foreign::Shape shape = *before.shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      if (i < changed.size() && axis < changed[i].size() && changed[i][axis]) shape[axis] = {};
    types.push_back(checker::Type::tensor(before.elem, std::move(shape)));
  }
  return types;
}

/// Sizes that a pass changes, told from the types behind a loop.
std::vector<std::vector<bool>> changed_sizes(Call& call, const std::vector<checker::Type>& before,
                                             const std::vector<Val>& results) {
  std::vector<std::vector<bool>> changed(before.size());
  for (std::size_t i = 0; i < before.size() && i < results.size(); ++i) {
    const foreign::Shape* after = call.onnx.shape(results[i]);
    for (std::size_t axis = 0; before[i].shape && axis < before[i].shape->size(); ++axis)
      changed[i].push_back(!after || axis >= after->size() || !((*after)[axis] == (*before[i].shape)[axis]));
  }
  return changed;
}

void map_while(Call& call) {
  auto& onnx = call.onnx;
  const Graph *condition = graph_of(call, "cond"), *body = graph_of(call, "body");
  if (!condition || !body) return;
  if (!call.argument("carried")) return call.refuse("its graphs do not take what it passes on");
  foreign::WhileLoop loop{call.tensors("carried"), {}, call.tensors("constants"), passes_of(call)};
  const foreign::Argument* overwritten = call.argument("keeps_last");
  const std::vector<Val> counts = call.tensors("counts");
  const auto keeps_last = [&](std::size_t list) {
    return *(*overwritten->as<foreign::Argument::List>())[list].as<bool>();
  };
  loop.types = carried_types(call, loop.carried, {});
  std::vector<Val> results = foreign::looped(call, *condition, *body, loop);
  const auto changed = changed_sizes(call, loop.types, results);
  const bool any = std::any_of(changed.begin(), changed.end(), [](const auto& sizes) {
    return std::find(sizes.begin(), sizes.end(), true) != sizes.end();
  });
  if (any && !call.refused()) {
    loop.types = carried_types(call, loop.carried, changed);
    results = foreign::looped(call, *condition, *body, loop);
  }
  for (std::size_t list = 0; list < counts.size() && !results.empty(); ++list) {
    Val& gathered = results[loop.carried.size() + list];
    if (!keeps_last(list)) {
      if (counts[list] && !writes_all(call, loop.passes, counts[list]))
        gathered = completed(call, gathered, counts[list]);
      continue;
    }
    gathered = onnx.emit("Slice", {gathered, onnx.integers({-1}),
                                   onnx.integers({std::numeric_limits<std::int64_t>::max()}), onnx.integers({0})});
  }
  call.results(results);
}

}  // namespace

void register_control_flow(Mappings& mappings);
void register_control_flow(Mappings& mappings) {
  mappings.add_all({"If", "StatelessIf"}, {"condition", "inputs..."}, map_if);
  mappings.add_all({"Case", "StatelessCase"}, {"branch_index", "inputs..."}, map_case);
  mappings.add_all({"While", "StatelessWhile"}, {"inputs..."}, map_while);
}

}  // namespace onnxkit::saved_model
