#include "converters/layout/graph_layout.h"

#include <algorithm>
#include <numeric>

#include "converters/layout/stored.h"
#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/order.h"
#include "libonnxkit/ir/scope.h"

namespace onnxkit::layout {
namespace {

bool is_plain(const ir::Node& node) { return ir::canonical_domain(node.domain).empty(); }

bool has_bodies(const ir::Node& node) {
  bool has = false;
  ir::for_each_subgraph(node, [&](const ir::Graph&, std::size_t) { has = true; });
  return has;
}

std::optional<Permutation> permutation_of(const ir::Node& node, std::size_t rank) {
  const ir::Attribute* given = node.find_attribute("perm");
  if (!given) {
    Permutation reversed = identity_of(rank);
    std::reverse(reversed.begin(), reversed.end());
    return reversed;
  }
  const auto* list = given->as<std::vector<std::int64_t>>();
  return list && is_permutation(*list, rank) ? std::optional(*list) : std::nullopt;
}

std::size_t count_transposes(const std::vector<ir::Node>& nodes) {
  return static_cast<std::size_t>(std::count_if(
      nodes.begin(), nodes.end(), [](const ir::Node& n) { return n.op_type == "Transpose" && is_plain(n); }));
}

}  // namespace

/// Puts constants and nodes that a rewritten node wants into the graph.
class GraphLayout::Editor final : public NodeEditor {
 public:
  explicit Editor(GraphLayout& layout) : layout_(layout) {}

  ir::ValueId constant(ElementType type, const std::vector<std::int64_t>& values) override {
    std::vector<std::int64_t> key = values;
    key.push_back(static_cast<std::int64_t>(type));
    const auto [at, is_new] = layout_.constants_.try_emplace(key);
    if (!is_new) return at->second;
    const ir::ValueId id = layout_.new_value("const");
    ir::Tensor tensor;
    if (type == ElementType::int32) {
      const std::vector<std::int32_t> narrow(values.begin(), values.end());
      tensor = ir::make_tensor(layout_.model_, type, {static_cast<std::int64_t>(values.size())},
                               std::as_bytes(std::span(narrow)));
    } else {
      tensor = ir::make_tensor(layout_.model_, values);
    }
    layout_.store(id, std::move(tensor));
    return at->second = id;
  }

  ir::ValueId reordered(ir::ValueId vector, const Permutation& order) override {
    const ir::Tensor* tensor =
        ir::index_of(vector) < layout_.stored_.size() ? layout_.stored_[ir::index_of(vector)] : nullptr;
    if (!tensor || tensor->dims != Axes{static_cast<std::int64_t>(order.size())}) return ir::ValueId::none;
    Permutation key = order;
    key.push_back(-1);  // no layout
    const auto [at, is_new] = layout_.copies_.try_emplace({vector, key});
    if (!is_new) return at->second;
    const std::size_t width = tensor->raw_data.size() / order.size();
    std::string bytes;
    for (const std::int64_t place : order)
      bytes += tensor->raw_data.view().substr(static_cast<std::size_t>(place) * width, width);
    ir::Tensor made;
    made.dims = tensor->dims;
    made.data_type = tensor->data_type;
    made.raw_data = layout_.model_.keep(bytes);
    at->second = layout_.new_value(layout_.graph_.name_of(vector));
    layout_.store(at->second, std::move(made));
    return at->second;
  }

  ir::ValueId emit(std::string_view op, std::vector<ir::ValueId> inputs,
                   const std::vector<ir::Attr>& attributes) override {
    const ir::ValueId id = layout_.new_value(op);
    layout_.nodes_.push_back(ir::make_node(layout_.model_, op, std::move(inputs), {id}, attributes));
    return id;
  }

 protected:
  ir::Attribute made(const ir::Attr& attribute) override { return ir::make_attribute(layout_.model_, attribute); }

 private:
  GraphLayout& layout_;
};

GraphLayout::GraphLayout(ir::Model& model, ir::Graph& graph, const checker::InferredModel& inferred, const Rules& rules,
                         std::int64_t opset, ir::FreshNames& names)
    : model_(model),
      graph_(graph),
      inferred_(inferred),
      rules_(rules),
      opset_(opset),
      names_(names),
      order_(ir::evaluation_order(graph)) {}

// ---- what there is

std::optional<std::size_t> GraphLayout::rank_of(ir::ValueId id) const {
  const checker::ValueInfo* known = id == ir::ValueId::none ? nullptr : inferred_.find(graph_, id);
  if (!known || !known->type.is_tensor() || !known->type.shape) return std::nullopt;
  return known->type.shape->size();
}

bool GraphLayout::is_removable_transpose(const ir::Node& node) const {
  if (node.op_type != "Transpose" || !is_plain(node) || node.inputs.size() != 1 || node.outputs.size() != 1)
    return false;
  const auto rank = rank_of_transposed(node);
  return rank && permutation_of(node, *rank);
}

/// What a body captures has no type there; the permutation tells its rank.
std::optional<std::size_t> GraphLayout::rank_of_transposed(const ir::Node& node) const {
  if (const auto rank = rank_of(node.inputs[0])) return rank;
  const ir::Attribute* given = node.find_attribute("perm");
  const auto* list = given ? given->as<std::vector<std::int64_t>>() : nullptr;
  return list ? std::optional(list->size()) : std::nullopt;
}

void GraphLayout::find_aliases() {
  aliases_.resize(graph_.values.size());
  for (std::size_t v = 0; v < aliases_.size(); ++v) {
    const ir::ValueId id{static_cast<std::uint32_t>(v)};
    aliases_[v].root = id;
    if (const auto rank = rank_of(id)) aliases_[v].order = identity_of(*rank);
  }
  for (const std::size_t n : order_) {
    const ir::Node& node = graph_.nodes[n];
    if (!is_removable_transpose(node)) continue;
    Alias& from = aliases_[ir::index_of(node.inputs[0])];
    if (from.order.empty()) from.order = identity_of(*rank_of_transposed(node));
    aliases_[ir::index_of(node.outputs[0])] = {from.root,
                                               composed(from.order, *permutation_of(node, from.order.size()))};
  }
  for (const std::size_t n : order_) {
    const ir::Node& node = graph_.nodes[n];
    if (!is_removable_transpose(node)) continue;
    const Alias& alias = aliases_[ir::index_of(node.outputs[0])];
    names_of_aliases_.try_emplace({alias.root, alias.order}, node.outputs[0]);
  }
  stored_.resize(graph_.values.size(), nullptr);
  for (const ir::Tensor& tensor : graph_.initializers) {
    const ir::ValueId id = graph_.find(tensor.name);
    const bool is_input = std::any_of(graph_.inputs.begin(), graph_.inputs.end(),
                                      [&](const ir::ValueInfo& in) { return in.value == id; });
    if (id != ir::ValueId::none && !is_input && can_permute(tensor)) stored_[ir::index_of(id)] = &tensor;
  }
  for (const ir::ValueInfo& output : graph_.outputs) kept_.insert(output.value);
  for (const ir::Node& node : graph_.nodes)
    if (has_bodies(node))
      for (const ir::ValueId id : ir::captured_values(graph_, node)) kept_.insert(id);
  std::erase_if(names_of_aliases_, [&](const auto& entry) { return kept_.contains(entry.second); });
}

bool GraphLayout::is_free(ir::ValueId root) const { return stored_[ir::index_of(root)] != nullptr; }

void GraphLayout::find_flexible_nodes() {
  for (const std::size_t n : order_) {
    const ir::Node& node = graph_.nodes[n];
    const Rule* rule = is_plain(node) && !has_bodies(node) ? rules_.find(node.op_type) : nullptr;
    if (!rule) continue;
    const NodeFacts facts(graph_, node, inferred_, opset_);
    auto frame = rule->frame(facts);
    if (!frame || frame->rank < 2) continue;
    bool fits = true;  // a value is at one port of a node with one order only
    for (const Port& port : frame->ports) {
      const auto& ids = port.is_output ? node.outputs : node.inputs;
      const ir::ValueId id = port.index < ids.size() ? ids[port.index] : ir::ValueId::none;
      fits = fits && id != ir::ValueId::none &&
             aliases_[ir::index_of(id)].order.size() + port.removed.size() == frame->rank;
    }
    if (fits) flexible_[n] = {rule, *std::move(frame), 0};
  }
}

namespace {

constexpr std::int64_t transpose_weight = 1000;  // so much more than its size, which decides between equals

}  // namespace

/// Images as rows of a matrix.
bool GraphLayout::flattens(const ir::Node& node) const {
  if ((node.op_type != "Reshape" && node.op_type != "Flatten") || node.inputs.empty() || node.outputs.empty())
    return false;
  const auto before = rank_of(node.inputs[0]), after = rank_of(node.outputs[0]);
  return before && *before > 2 && after == 2 && !aliases_[ir::index_of(node.inputs[0])].order.empty();
}

std::size_t GraphLayout::value_of(LayoutProblem& problem, ir::ValueId root) {
  const auto [at, is_new] = value_index_.try_emplace(root, problem.values.size());
  if (is_new) {
    LayoutValue& value = problem.values.emplace_back();
    value.is_stored = is_free(root);
    std::int64_t digits = 0;
    if (const checker::ValueInfo* known = inferred_.find(graph_, root); known && known->type.shape)
      for (const checker::Dim size : *known->type.shape)
        if (size.is_constant())
          for (std::int64_t rest = size.constant(); rest > 1; rest /= 2) ++digits;
    if (const checker::ValueInfo* known = inferred_.find(graph_, root))
      for (std::size_t rest = storage_bits(known->type.elem); rest > 1; rest /= 2) ++digits;
    value.weight = transpose_weight + std::min<std::int64_t>(digits, 100);
  }
  return at->second;
}

void GraphLayout::add_fixed_reader(LayoutProblem& problem, ir::ValueId id) {
  if (id == ir::ValueId::none) return;
  const Alias& alias = aliases_[ir::index_of(id)];
  if (alias.order.empty()) return;
  problem.values[value_of(problem, alias.root)].fixed_readers.push_back(alias.order);
}

LayoutProblem GraphLayout::problem() {
  LayoutProblem problem;
  for (const std::size_t n : order_) {
    const ir::Node& node = graph_.nodes[n];
    if (is_removable_transpose(node)) continue;
    const auto found = flexible_.find(n);
    if (found == flexible_.end()) {
      for (const ir::ValueId input : node.inputs) add_fixed_reader(problem, input);
      if (flattens(node)) {
        // Writers that put the weights behind it into another order need no Transpose there: it is the place among equals.
        LayoutValue& value = problem.values[value_of(problem, aliases_[ir::index_of(node.inputs[0])].root)];
        value.weight = std::min(value.weight, transpose_weight - 1);
      }
      continue;
    }
    FlexibleNode& flexible = found->second;
    flexible.index = problem.ranks.size();
    problem.ranks.push_back(flexible.frame.rank);
    std::vector<bool> follows(node.inputs.size(), false);
    for (std::size_t p = 0; p < flexible.frame.ports.size(); ++p) {
      const Port& port = flexible.frame.ports[p];
      const ir::ValueId id = port.is_output ? node.outputs[port.index] : node.inputs[port.index];
      const Alias& alias = aliases_[ir::index_of(id)];
      FlexibleUse use{flexible.index, p, alias.order, port.removed};
      LayoutValue& value = problem.values[value_of(problem, alias.root)];
      if (port.is_output)
        value.producer = std::move(use);
      else
        value.readers.push_back(std::move(use)), follows[port.index] = true;
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (!follows[i]) add_fixed_reader(problem, node.inputs[i]);
  }
  for (const ir::ValueId id : kept_) add_fixed_reader(problem, id);
  return problem;
}

std::size_t GraphLayout::reduce() {
  const std::size_t before = count_transposes(graph_.nodes);
  if (before == 0 || order_.size() != graph_.nodes.size()) return 0;
  find_aliases();
  find_flexible_nodes();
  const LayoutProblem wanted = problem();
  write(choose_orders(wanted));
  const std::size_t after = count_transposes(nodes_);
  if (after >= before) return 0;
  const std::unordered_set<ir::ValueId> read_before = read_values();
  graph_.nodes = std::move(nodes_);
  for (ir::Tensor& tensor : new_initializers_) graph_.initializers.push_back(std::move(tensor));
  std::erase_if(graph_.value_infos, [&](const ir::ValueInfo& info) { return changed_.contains(info.value); });
  drop_unused(read_before);
  return before - after;
}

// ---- the graph written anew

ir::ValueId GraphLayout::new_value(std::string_view stem) { return graph_.intern(names_.make(stem)); }

ir::Node GraphLayout::transpose_of(ir::ValueId from, const Permutation& order, ir::ValueId to) {
  return ir::make_node(model_, "Transpose", {from}, {to}, {{"perm", order}});
}

void GraphLayout::note_written(ir::ValueId root, ir::ValueId id, const Permutation& layout) {
  written_[root] = {id, layout};
  copies_[{root, layout}] = id;
}

ir::ValueId GraphLayout::stored_copy(ir::ValueId root, const Permutation& layout) {
  const ir::ValueId id = new_value(graph_.name_of(root));
  store(id, permuted(model_, *stored_[ir::index_of(root)], layout));
  return id;
}

void GraphLayout::store(ir::ValueId id, ir::Tensor tensor) {
  tensor.name = graph_.values[ir::index_of(id)].name;
  made_.emplace(id, new_initializers_.size());
  new_initializers_.push_back(std::move(tensor));
}

/// The root in some layout: as it was written, or by a Transpose, which all readers share.
ir::ValueId GraphLayout::materialized(ir::ValueId root, const Permutation& layout) {
  const auto found = copies_.find({root, layout});
  if (found != copies_.end()) return found->second;
  const bool is_free_here = is_free(root);
  ir::ValueId id;
  if (is_free_here) {
    id = is_identity(layout) ? root : stored_copy(root, layout);
  } else {
    auto written = written_.find(root);
    if (written == written_.end()) {
      if (is_identity(layout)) return root;  // an input, or what an outer graph has
      written = written_.emplace(root, Written{root, identity_of(layout.size())}).first;
    }
    const auto named = names_of_aliases_.find({root, layout});
    id = named != names_of_aliases_.end() ? named->second : new_value(graph_.name_of(root));
    names_taken_.insert(id);
    changed_.erase(id);
    nodes_.push_back(transpose_of(written->second.id, composed(inverse_of(written->second.layout), layout), id));
  }
  copies_[{root, layout}] = id;
  return id;
}

/// A value in some layout of its own.
ir::ValueId GraphLayout::read(ir::ValueId id, const Permutation& layout) {
  if (id == ir::ValueId::none) return id;
  const Alias& alias = aliases_[ir::index_of(id)];
  if (alias.order.empty()) return id;
  return materialized(alias.root, composed(alias.order, layout));
}

/// An input that lacks axes of its frame. Where those do not come first, the value gets them.
ir::ValueId GraphLayout::broadcast_read(ir::ValueId id, const Port& port, const Permutation& order) {
  const ir::ValueId value = read(id, without_axes(order, port.removed));
  Axes places;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (std::binary_search(port.removed.begin(), port.removed.end(), order[i]))
      places.push_back(static_cast<std::int64_t>(i));
  if (places == port.removed) return value;
  const bool has_one_element = [&] {
    const checker::ValueInfo* known = inferred_.find(graph_, id);
    return known && known->type.shape &&
           std::all_of(known->type.shape->begin(), known->type.shape->end(),
                       [](const checker::Dim& d) { return d.is(1); });
  }();
  if (has_one_element) return value;
  Permutation key = order;  // longer than any layout
  key.insert(key.end(), places.begin(), places.end());
  const auto known = copies_.find({value, key});
  if (known != copies_.end()) return known->second;
  const ir::ValueId with_axes_id = new_value(graph_.name_of(id));
  const auto made = made_.find(value);
  const ir::Tensor* source = made != made_.end()                    ? &new_initializers_[made->second]
                             : ir::index_of(value) < stored_.size() ? stored_[ir::index_of(value)]
                                                                    : nullptr;
  if (source) {
    ir::Tensor tensor;
    tensor.data_type = source->data_type;
    tensor.raw_data = source->raw_data;
    std::size_t next = 0;
    for (std::size_t i = 0; i < order.size(); ++i)
      tensor.dims.push_back(
          std::binary_search(places.begin(), places.end(), static_cast<std::int64_t>(i)) ? 1 : source->dims[next++]);
    store(with_axes_id, std::move(tensor));
  } else if (opset_ >= 13) {
    nodes_.push_back(ir::make_node(model_, "Unsqueeze", {value, Editor(*this).constant(ElementType::int64, places)},
                                   {with_axes_id}));
  } else {
    nodes_.push_back(ir::make_node(model_, "Unsqueeze", {value}, {with_axes_id}, {{"axes", places}}));
  }
  return copies_[{value, key}] = with_axes_id;
}

void GraphLayout::write_flexible(std::size_t n, const FlexibleNode& flexible) {
  const Permutation& order = orders_[flexible.index];
  const NodeFacts facts(graph_, graph_.nodes[n], inferred_, opset_);
  std::vector<ir::ValueId> inputs = graph_.nodes[n].inputs;
  std::vector<bool> follows(inputs.size(), false);
  const bool broadcasts = !flexible.rule->rewrite;
  for (const Port& port : flexible.frame.ports) {
    if (port.is_output) continue;
    follows[port.index] = true;
    inputs[port.index] = broadcasts && !port.removed.empty()
                             ? broadcast_read(inputs[port.index], port, order)
                             : read(inputs[port.index], without_axes(order, port.removed));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!follows[i])
      inputs[i] = read(
          inputs[i], identity_of(inputs[i] == ir::ValueId::none ? 0 : aliases_[ir::index_of(inputs[i])].order.size()));
  ir::Node node = ir::clone(graph_.nodes[n]);
  node.inputs = std::move(inputs);
  if (!is_identity(order) && flexible.rule->rewrite) {
    Editor editor(*this);
    editor.node = &node;
    flexible.rule->rewrite(facts, flexible.frame, order, editor);
  }
  std::vector<std::pair<ir::ValueId, Permutation>> asked;
  for (const Port& port : flexible.frame.ports) {
    if (!port.is_output) continue;
    const ir::ValueId root = graph_.nodes[n].outputs[port.index];
    const Permutation layout = without_axes(order, port.removed);
    ir::ValueId id = root;
    if (!is_identity(layout) && !kept_.contains(root)) changed_.insert(root);
    if (!is_identity(layout) && kept_.contains(root)) {
      id = new_value(graph_.name_of(root));
      asked.emplace_back(root, layout);
    }
    node.outputs[port.index] = id;
    note_written(root, id, layout);
  }
  nodes_.push_back(std::move(node));
  for (const auto& [root, layout] : asked) {
    nodes_.push_back(transpose_of(written_[root].id, inverse_of(layout), root));
    copies_[{root, identity_of(layout.size())}] = root;
  }
}

/// A value that others know by its name has it, whatever it is made of.
void GraphLayout::keep_name(ir::ValueId id) {
  const Alias& alias = aliases_[ir::index_of(id)];
  if (alias.root == id) return;
  const auto found = copies_.find({alias.root, alias.order});
  if (found != copies_.end() || (is_identity(alias.order) && !is_free(alias.root))) {
    const ir::ValueId same = found != copies_.end() ? found->second : alias.root;
    nodes_.push_back(ir::make_node(model_, "Identity", {same}, {id}));
    return;
  }
  const auto written = written_.find(alias.root);
  const Permutation from = written != written_.end() ? written->second.layout : identity_of(alias.order.size());
  const ir::ValueId source = written != written_.end() ? written->second.id : alias.root;
  nodes_.push_back(transpose_of(source, composed(inverse_of(from), alias.order), id));
  copies_[{alias.root, alias.order}] = id;
}

void GraphLayout::write_node(std::size_t n) {
  const ir::Node& source = graph_.nodes[n];
  if (is_removable_transpose(source)) {
    if (kept_.contains(source.outputs[0])) return keep_name(source.outputs[0]);
    if (!names_taken_.contains(source.outputs[0])) changed_.insert(source.outputs[0]);
    return;
  }
  if (const auto found = flexible_.find(n); found != flexible_.end()) return write_flexible(n, found->second);
  std::vector<ir::ValueId> inputs;
  for (const ir::ValueId input : source.inputs)
    inputs.push_back(
        read(input, identity_of(input == ir::ValueId::none ? 0 : aliases_[ir::index_of(input)].order.size())));
  ir::Node node = ir::clone(source);
  node.inputs = std::move(inputs);
  for (const ir::ValueId output : source.outputs)
    if (output != ir::ValueId::none) note_written(output, output, aliases_[ir::index_of(output)].order);
  nodes_.push_back(std::move(node));
}

void GraphLayout::write(const std::vector<Permutation>& orders) {
  orders_ = orders;
  for (const std::size_t n : order_) write_node(n);
}

/// Stored tensors that were read before and that nothing reads any more.
void GraphLayout::drop_unused(const std::unordered_set<ir::ValueId>& read_before) {
  const std::unordered_set<ir::ValueId> read_now = read_values();
  std::erase_if(graph_.initializers, [&](const ir::Tensor& tensor) {
    const ir::ValueId id = graph_.find(tensor.name);
    return read_before.contains(id) && !read_now.contains(id);
  });
}

std::unordered_set<ir::ValueId> GraphLayout::read_values() const {
  std::unordered_set<ir::ValueId> read;
  for (const ir::ValueInfo& output : graph_.outputs) read.insert(output.value);
  for (const ir::Node& node : graph_.nodes) {
    read.insert(node.inputs.begin(), node.inputs.end());
    for (const ir::ValueId id : ir::captured_values(graph_, node)) read.insert(id);
  }
  return read;
}

}  // namespace onnxkit::layout
