#include "converters/formats/pt2/functionalize.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "converters/formats/pt2/body_writes.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Argument;
using foreign::Graph;
using foreign::Node;
using foreign::ValueId;

/// How the tensor behind a view gets what is written to the view.
enum class Inverse : std::uint8_t {
  none,     ///< there is no way
  same,     ///< the view is the whole tensor
  reshape,  ///< the elements in the same order
  permute,
  transpose,
  pairs,  ///< numbers that are pairs on a last axis
  select,
  slice,
};

struct ViewOp {
  std::string_view op;
  Inverse inverse;
  bool may_copy = false;  ///< where the strides do not allow a view, or the type changes
};

constexpr std::array view_ops = {
    ViewOp{"aten.view.default", Inverse::reshape},
    ViewOp{"aten.reshape.default", Inverse::reshape, true},
    ViewOp{"aten.flatten.using_ints", Inverse::reshape, true},
    ViewOp{"aten.unflatten.int", Inverse::reshape},
    ViewOp{"aten.unsqueeze.default", Inverse::reshape},
    ViewOp{"aten.squeeze.default", Inverse::reshape},
    ViewOp{"aten.squeeze.dim", Inverse::reshape},
    ViewOp{"aten.squeeze.dims", Inverse::reshape},
    ViewOp{"aten.permute.default", Inverse::permute},
    ViewOp{"aten.transpose.int", Inverse::transpose},
    ViewOp{"aten.t.default", Inverse::transpose},
    ViewOp{"aten.mT.default", Inverse::transpose},
    ViewOp{"aten.mH.default", Inverse::transpose},
    ViewOp{"aten.adjoint.default", Inverse::transpose},
    ViewOp{"aten.numpy_T.default", Inverse::transpose},
    ViewOp{"aten.matrix_H.default", Inverse::transpose},
    ViewOp{"aten.view_as.default", Inverse::reshape},
    ViewOp{"aten.reshape_as.default", Inverse::reshape, true},
    ViewOp{"aten.ravel.default", Inverse::reshape, true},
    ViewOp{"aten.atleast_1d.default", Inverse::reshape},
    ViewOp{"aten.atleast_2d.default", Inverse::reshape},
    ViewOp{"aten.atleast_3d.default", Inverse::reshape},
    ViewOp{"aten.swapaxes.default", Inverse::none},
    ViewOp{"aten.swapdims.default", Inverse::none},
    ViewOp{"aten.movedim.int", Inverse::none},
    ViewOp{"aten.movedim.intlist", Inverse::none},
    ViewOp{"aten.expand_as.default", Inverse::none},
    ViewOp{"aten.broadcast_to.default", Inverse::none},
    ViewOp{"aten.view_as_real.default", Inverse::pairs},
    ViewOp{"aten.view_as_complex.default", Inverse::pairs},
    ViewOp{"aten.real.default", Inverse::none},
    ViewOp{"aten.imag.default", Inverse::none},
    ViewOp{"aten.conj.default", Inverse::none},
    ViewOp{"aten._conj.default", Inverse::none},
    ViewOp{"aten.resolve_conj.default", Inverse::same, true},
    ViewOp{"aten.resolve_neg.default", Inverse::same, true},
    ViewOp{"aten.split.sizes", Inverse::none},
    ViewOp{"aten.select.int", Inverse::select},
    ViewOp{"aten.slice.Tensor", Inverse::slice},
    ViewOp{"aten.alias.default", Inverse::same},
    ViewOp{"aten.dropout.default", Inverse::same},
    ViewOp{"aten.feature_dropout.default", Inverse::same},
    ViewOp{"aten.detach.default", Inverse::same},
    ViewOp{"aten.contiguous.default", Inverse::same, true},
    ViewOp{"aten.to.dtype", Inverse::same, true},
    ViewOp{"aten.to.dtype_layout", Inverse::same, true},
    ViewOp{"aten.to.device", Inverse::same, true},
    ViewOp{"aten.to.other", Inverse::same, true},
    ViewOp{"aten.to.prim_Device", Inverse::same, true},
    ViewOp{"aten.to.prim_dtype", Inverse::same, true},
    ViewOp{"aten.type_as.default", Inverse::same, true},
    ViewOp{"aten.float.default", Inverse::same, true},
    ViewOp{"aten.expand.default", Inverse::none},
    ViewOp{"aten.diagonal.default", Inverse::none},
    ViewOp{"aten.as_strided.default", Inverse::none},
    ViewOp{"aten.split.Tensor", Inverse::none},
    ViewOp{"aten.split_with_sizes.default", Inverse::none},
    ViewOp{"aten.chunk.default", Inverse::none},
    ViewOp{"aten.unbind.int", Inverse::none},
    ViewOp{"aten.narrow.default", Inverse::none},
    ViewOp{"aten.narrow.Tensor", Inverse::none},
    ViewOp{"aten.unfold.default", Inverse::none},
    ViewOp{"aten.tensor_split.sections", Inverse::none},
    ViewOp{"aten.tensor_split.indices", Inverse::none},
    ViewOp{"aten.tensor_split.tensor_indices_or_sections", Inverse::none},
    ViewOp{"aten.hsplit.int", Inverse::none},
    ViewOp{"aten.hsplit.array", Inverse::none},
    ViewOp{"aten.vsplit.int", Inverse::none},
    ViewOp{"aten.vsplit.array", Inverse::none},
    ViewOp{"aten.dsplit.int", Inverse::none},
    ViewOp{"aten.dsplit.array", Inverse::none},
};

const ViewOp* view_op(std::string_view op) {
  const auto found = std::find_if(view_ops.begin(), view_ops.end(), [&](const ViewOp& view) { return view.op == op; });
  return found == view_ops.end() ? nullptr : &*found;
}

/// Nothing where strides or sizes are not constants.
std::optional<bool> is_contiguous(const foreign::TensorType& type) {
  if (!type.shape || type.strides.size() != type.shape->size()) return {};
  std::int64_t inside = 1;
  for (std::size_t axis = type.strides.size(); axis-- > 0;) {
    const std::int64_t size = (*type.shape)[axis].constant;
    if (size == 1) continue;
    if (type.strides[axis] != inside) return false;
    if (size < 0 || __builtin_mul_overflow(inside, size, &inside)) inside = -1;
  }
  return true;
}

/// "aten.add.Tensor" of "aten.add_.Tensor", and __and__ of __iand__; empty for an operator that writes to nothing.
std::string functional_form(std::string_view op) {
  constexpr std::string_view domain = "aten.", assignment = "aten.__i";
  for (const std::string_view name : {"and", "or", "xor", "lshift", "rshift"})
    if (op.starts_with(assignment) && op.substr(assignment.size()).starts_with(std::string(name) + "__."))
      return "aten.__" + std::string(op.substr(assignment.size()));
  const std::size_t end = op.rfind('.');
  if (!op.starts_with(domain) || end <= domain.size() || op[end - 1] != '_' || op[end - 2] == '_') return {};
  return std::string(op.substr(0, end - 1)) + std::string(op.substr(end));
}

Argument copy_of(const Argument& argument);

Argument::List copy_of(const Argument::List& list) {
  Argument::List copies;
  for (const Argument& item : list) copies.push_back(copy_of(item));
  return copies;
}

/// Arguments of view operators hold no graphs.
Argument copy_of(const Argument& argument) {
  Argument copy;
  copy.name = argument.name;
  std::visit(
      [&](const auto& content) {
        using Content = std::decay_t<decltype(content)>;
        if constexpr (std::is_same_v<Content, Argument::List>) {
          copy.content = copy_of(content);
        } else if constexpr (!std::is_same_v<Content, std::unique_ptr<Graph>>) {
          copy.content = content;
        }
      },
      argument.content);
  return copy;
}

Node copy_of(const Node& node) {
  Node copy;
  copy.op = node.op;
  copy.name = node.name;
  copy.arguments = copy_of(node.arguments);
  copy.outputs = node.outputs;
  copy.source = node.source;
  copy.scope = node.scope;
  return copy;
}

class Functionalizer {
 public:
  Functionalizer(Graph& graph, StringPool& strings) : graph_(graph), strings_(strings) {}

  Result<std::vector<Written>> run() {
    if (auto done = run_inside(); !done) return std::move(done).error();
    if (!has_writes()) return std::vector<Written>();
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (const auto writes = body_writes_.find(i); writes != body_writes_.end())
        if (auto alone = are_alone(nodes[i], writes->second); !alone) return std::move(alone).error();
      if (auto done = add(std::move(nodes[i])); !done) return std::move(done).error();
    }
    for (foreign::Output& output : graph_.outputs) output.value = current(output.value);
    const std::vector<Written> written = written_inputs();
    if (fault_) return *fault_;
    return written;
  }

 private:
  std::vector<Written> written_inputs() {
    std::vector<ValueId> inputs = graph_.inputs;
    for (const foreign::Tensor& tensor : graph_.tensors) inputs.push_back(tensor.value);
    std::vector<Written> written;
    for (const ValueId input : inputs)
      if (const auto writes = writes_.find(input); writes != writes_.end() && writes->second > 0)
        written.push_back({input, current(input)});
    return written;
  }

  /// A value that shares its elements with another.
  struct View {
    ValueId base = ValueId::none;
    std::size_t node = 0;  ///< in view_nodes_
    Inverse inverse = Inverse::none;
    bool may_be_copy = false;  ///< the file does not say whether it shares elements
    std::size_t writes_before = 0;
  };
  /// The value that has a tensor's content after some number of writes to its storage.
  struct Content {
    ValueId value = ValueId::none;
    std::size_t writes = 0;
  };

  bool has_writes() const {
    return std::any_of(graph_.nodes.begin(), graph_.nodes.end(),
                       [](const Node& node) { return !functional_form(node.op).empty(); });
  }

  /// Writes of branches and loops become such of the nodes behind them.
  Result<void> run_inside() {
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (Node& node : nodes) {
      auto writes = expose_body_writes(graph_, node, strings_);
      if (!writes) return std::move(writes).error();
      if (!writes->operands.empty()) body_writes_.emplace(graph_.nodes.size(), std::move(writes->operands));
      graph_.nodes.push_back(std::move(node));
      for (Node& copy : writes->copies) graph_.nodes.push_back(std::move(copy));
    }
    return {};
  }

  /// Whether what a branch or loop writes into has no elements that it also reads in another way.
  Result<void> are_alone(const Node& node, const std::vector<ValueId>& written) const {
    std::vector<ValueId> roots;
    for (const Argument& argument : node.arguments) {
      const auto* list = argument.as<Argument::List>();
      for (std::size_t i = 0; list && i < list->size(); ++i)
        if (const ValueId* operand = (*list)[i].as<ValueId>()) roots.push_back(root_of(*operand));
    }
    for (const ValueId operand : written)
      if (std::count(roots.begin(), roots.end(), root_of(operand)) != 1)
        return make_error("not-supported",
                          fmt::format("a branch or loop writes into {}, and reads a view of it from outside",
                                      quote(graph_.name_of(operand))));
    return {};
  }

  ValueId root_of(ValueId id) const {
    for (auto view = views_.find(id); view != views_.end(); view = views_.find(id)) id = view->second.base;
    return id;
  }

  /// The value that holds what `id` holds now; views of a tensor that was written to are taken again.
  ValueId current(ValueId id) {
    if (id == ValueId::none) return id;
    const std::size_t writes = writes_[root_of(id)];
    if (writes > 0 && depends_on_copies(id)) note_doubt(id);
    const auto known = contents_.find(id);
    if (known != contents_.end() && known->second.writes == writes) return known->second.value;
    const auto view = views_.find(id);
    if (view == views_.end() || writes == 0) return known == contents_.end() ? id : known->second.value;
    const ValueId base = current(view->second.base);
    const ValueId again = view->second.inverse == Inverse::same ? base : taken_again(view->second, id, base);
    contents_[id] = {again, writes};
    return again;
  }

  /// Whether what `id` holds depends on whether a value is a copy or a view: a write on one side of it and a read on the other.
  bool depends_on_copies(ValueId id) const {
    const auto written = targets_.find(root_of(id));
    if (written == targets_.end()) return false;
    const auto has_doubt = [&](ValueId from, ValueId other, std::size_t write) {
      for (auto view = views_.find(from); view != views_.end(); view = views_.find(from)) {
        const bool is_between =
            view->second.may_be_copy && view->second.writes_before < write && !is_view_of(other, from);
        if (is_between) return true;
        from = view->second.base;
      }
      return false;
    };
    for (std::size_t write = 0; write < written->second.size(); ++write) {
      const ValueId target = written->second[write];
      if (has_doubt(id, target, write + 1) || has_doubt(target, id, write + 1)) return true;
    }
    return false;
  }

  bool is_view_of(ValueId id, ValueId base) const {
    while (id != base) {
      const auto view = views_.find(id);
      if (view == views_.end()) return false;
      id = view->second.base;
    }
    return true;
  }

  void note_doubt(ValueId id) {
    if (fault_) return;
    fault_ = make_error("not-supported",
                        fmt::format("whether {} sees a write depends on strides, which the file does not say",
                                    quote(graph_.values[foreign::index_of(id)].name)));
  }

  ValueId taken_again(const View& view, ValueId id, ValueId base) {
    Node node = copy_of(view_nodes_[view.node]);
    for (Argument& argument : node.arguments) {
      if (argument.name == "self") {
        argument.content = base;
      } else {
        read_now(argument);
      }
    }
    ValueId again = ValueId::none;
    for (ValueId& output : node.outputs) {
      if (output == ValueId::none) continue;
      const ValueId fresh = copy_of_value(output);
      if (output == id) again = fresh;
      output = fresh;
    }
    graph_.nodes.push_back(std::move(node));
    return again;
  }

  ValueId copy_of_value(ValueId id) {
    const foreign::Value& original = graph_.values[foreign::index_of(id)];
    return graph_.add_value(strings_.keep(fmt::format("{}.{}", original.name, graph_.values.size())).view(),
                            original.type);
  }

  void read_now(Argument& argument) {
    if (auto* id = std::get_if<ValueId>(&argument.content)) *id = current(*id);
    if (auto* list = std::get_if<Argument::List>(&argument.content))
      for (Argument& item : *list) read_now(item);
  }

  Result<void> add(Node node) {
    const Argument* self = node.find("self");
    if (!self && !node.arguments.empty()) self = &node.arguments.front();
    const ValueId written = self && self->as<ValueId>() ? *self->as<ValueId>() : ValueId::none;
    const ViewOp* const view = view_op(node.op);
    if (view && written != ValueId::none && !(view->may_copy && copies(node, written))) {
      const std::size_t writes = writes_[root_of(written)];
      for (const ValueId output : node.outputs) {
        if (output == ValueId::none || views_.contains(output) || output == root_of(written)) continue;
        views_[output] = {written, view_nodes_.size(), view->inverse, view->may_copy && !has_strides(output), writes};
        contents_[output] = {output, writes};
      }
      view_nodes_.push_back(copy_of(node));
    }
    for (Argument& argument : node.arguments) read_now(argument);
    if (fault_) return *fault_;
    const std::string functional = functional_form(node.op);
    if (functional.empty()) {
      graph_.nodes.push_back(std::move(node));
      return {};
    }
    if (written == ValueId::none || node.outputs.empty()) return not_followed(node);
    const std::string_view op = node.op;
    node.op = strings_.keep(functional).view();
    const ValueId content = node.outputs.front();
    if (content == ValueId::none || views_.contains(content) || content == root_of(written)) return not_followed(node);
    const std::string_view name = node.name;
    push_write(std::move(node), content);
    if (!write(written, content)) return not_followed(op, name);
    views_[content] = {written, 0, Inverse::same};
    contents_[content] = {content, writes_[root_of(written)]};
    return {};
  }

  /// What is written keeps the type of what it is written to; where the file does not state it, a cast sees to that.
  void push_write(Node node, ValueId content) {
    const Argument* self = node.find("self");
    if (graph_.values[foreign::index_of(content)].type || !self || !self->as<ValueId>())
      return graph_.nodes.push_back(std::move(node));
    Node cast;
    cast.op = "aten.type_as.default";
    cast.name = node.name;
    cast.source = node.source;
    cast.scope = node.scope;
    const ValueId unnamed = graph_.add_value("");
    cast.arguments.resize(2);
    cast.arguments[0].name = "self";
    cast.arguments[0].content = unnamed;
    cast.arguments[1].name = "other";
    cast.arguments[1].content = *self->as<ValueId>();
    cast.outputs = {content};
    node.outputs = {unnamed};
    graph_.nodes.push_back(std::move(node));
    graph_.nodes.push_back(std::move(cast));
  }

  /// Whether an operator that gives a view where it can has made a copy: a copy is contiguous, a view of the same elements only
  /// where they lie so already.
  /// Whether a view takes conjugates of what is behind it, so that resolving it makes a copy.
  bool is_conjugate(ValueId id) const {
    for (auto view = views_.find(id); view != views_.end(); view = views_.find(id)) {
      constexpr std::array<std::string_view, 5> conjugates = {"aten.conj.default", "aten._conj.default",
                                                              "aten.mH.default", "aten.adjoint.default",
                                                              "aten.matrix_H.default"};
      const bool has_node = view->second.inverse != Inverse::same;
      if (has_node && std::ranges::find(conjugates, view_nodes_[view->second.node].op) != conjugates.end()) return true;
      id = view->second.base;
    }
    return false;
  }

  bool copies(const Node& node, ValueId from) const {
    if (node.op.starts_with("aten.resolve_")) return is_conjugate(from);
    if (const Argument* asked = node.find("copy"); asked && asked->as<bool>() && *asked->as<bool>()) return true;
    const ValueId to = node.outputs.empty() ? ValueId::none : node.outputs.front();
    if (to == ValueId::none) return true;
    const auto& before = graph_.values[foreign::index_of(from)].type;
    const auto& after = graph_.values[foreign::index_of(to)].type;
    if (!before || !after) return false;
    return before->elem != after->elem || (is_contiguous(*before) == false && is_contiguous(*after) == true);
  }

  bool has_strides(ValueId id) const {
    const auto& type = graph_.values[foreign::index_of(id)].type;
    return type && type->shape;
  }

  static Error not_followed(const Node& node) { return not_followed(node.op, node.name); }
  static Error not_followed(std::string_view op, std::string_view name) {
    Error error = make_error("not-supported", "a write into a view cannot be followed");
    error.diagnostic.location.scope = {"main"};
    error.diagnostic.location.node_name = name;
    error.diagnostic.location.op = op;
    return error;
  }

  /// `content` is what `id` holds from now on.
  bool write(ValueId id, ValueId content) {
    const ValueId root = root_of(id);
    targets_[root].push_back(id);
    // From the view that is written to down to the tensor that has the elements.
    for (ValueId at = id; at != root;) {
      const View& view = views_.at(at);
      const ValueId base = current(view.base);
      const ValueId whole = with_view_replaced(view, base, content);
      if (whole == ValueId::none) return false;
      pending_.emplace_back(view.base, whole);
      content = whole;
      at = view.base;
    }
    const std::size_t writes = ++writes_[root];
    contents_[root] = {content, writes};
    for (const auto& [changed, value] : pending_) contents_[changed] = {value, writes};
    pending_.clear();
    return true;
  }

  /// The tensor `base` with the elements of one of its views replaced; none where there is no way.
  ValueId with_view_replaced(const View& view, ValueId base, ValueId content) {
    if (view.inverse == Inverse::same) return content;
    if (view.inverse == Inverse::none) return ValueId::none;
    const Node& original = view_nodes_[view.node];
    Node node;
    node.name = original.name;
    node.source = original.source;
    node.scope = original.scope;
    const auto add_copy = [&](std::string_view name) {
      if (const Argument* given = original.find(name)) {
        node.arguments.push_back(copy_of(*given));
        read_now(node.arguments.back());
      }
    };
    const auto add_value = [&](std::string_view name, ValueId id) {
      Argument& argument = node.arguments.emplace_back();
      argument.name = name;
      argument.content = id;
    };
    switch (view.inverse) {
      case Inverse::reshape:
        node.op = "aten.reshape_as.default";
        add_value("self", content);
        add_value("other", base);
        break;
      case Inverse::transpose:
        node.op = original.op;
        add_value("self", content);
        add_copy("dim0");
        add_copy("dim1");
        break;
      case Inverse::permute:
        node.op = original.op;
        add_value("self", content);
        if (!add_inverse_permutation(original, node)) return ValueId::none;
        break;
      case Inverse::pairs:
        node.op =
            original.op == "aten.view_as_real.default" ? "aten.view_as_complex.default" : "aten.view_as_real.default";
        add_value("self", content);
        break;
      case Inverse::select:
        node.op = "aten.select_scatter.default";
        add_value("self", base);
        add_value("src", content);
        add_copy("dim");
        add_copy("index");
        break;
      case Inverse::slice:
        node.op = "aten.slice_scatter.default";
        add_value("self", base);
        add_value("src", content);
        for (const std::string_view name : {"dim", "start", "end", "step"}) add_copy(name);
        break;
      default:
        return ValueId::none;
    }
    const ValueId whole = copy_of_value(base);
    node.outputs = {whole};
    graph_.nodes.push_back(std::move(node));
    return whole;
  }

  static bool add_inverse_permutation(const Node& original, Node& node) {
    const Argument* given = original.find("dims");
    const Argument::List* dims = given ? given->as<Argument::List>() : nullptr;
    if (!dims) return false;
    Argument::List inverse(dims->size());
    for (std::size_t i = 0; i < dims->size(); ++i) {
      const std::int64_t* axis = (*dims)[i].as<std::int64_t>();
      if (!axis) return false;
      const std::int64_t to = *axis < 0 ? *axis + static_cast<std::int64_t>(dims->size()) : *axis;
      if (to < 0 || to >= static_cast<std::int64_t>(dims->size())) return false;
      inverse[static_cast<std::size_t>(to)].content = static_cast<std::int64_t>(i);
    }
    Argument& argument = node.arguments.emplace_back();
    argument.name = "dims";
    argument.content = std::move(inverse);
    return true;
  }

  Graph& graph_;
  StringPool& strings_;
  std::vector<Node> view_nodes_;  ///< as the file has them
  std::unordered_map<ValueId, View> views_;
  std::unordered_map<ValueId, std::size_t> writes_;            ///< by root
  std::unordered_map<ValueId, std::vector<ValueId>> targets_;  ///< by root: what was written to, in order
  std::unordered_map<ValueId, Content> contents_;
  std::unordered_map<std::size_t, std::vector<ValueId>> body_writes_;  ///< by node
  std::optional<Error> fault_;
  std::vector<std::pair<ValueId, ValueId>> pending_;
};

}  // namespace

Result<std::vector<Written>> functionalize(foreign::Graph& graph, StringPool& strings) {
  return Functionalizer(graph, strings).run();
}

}  // namespace onnxkit::pt2
