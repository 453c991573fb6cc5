#include "converters/formats/torchscript/lower.h"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "converters/formats/torchscript/follower.h"

namespace onnxkit::torchscript {
namespace {

using foreign::Graph;
using foreign::ValueId;
using Kind = Item::Kind;
using Shapes = std::map<std::string, InputShape>;

bool is_tensor_type(const Expression& type) {
  if (type.kind == Expression::Kind::name) return type.text == "Tensor";
  return type.kind == Expression::Kind::none;  // a parameter without a type is a tensor
}

bool is_optional_type(const Expression& type) {
  return type.kind == Expression::Kind::item && type.parts[0].text == "Optional" && is_tensor_type(type.parts[1]);
}

/// "1,3,224,224" as the caller gave it.
Result<foreign::TensorType> asked_type(std::string_view input, const InputShape& shape, const TracedInput* traced,
                                       StringPool& strings) {
  foreign::TensorType type;
  type.elem = shape.type != ElementType::undefined ? shape.type : traced ? traced->elem : ElementType::float32;
  type.shape.emplace();
  for (const std::string& size : shape.sizes) {
    foreign::Size& axis = type.shape->emplace_back();
    std::int64_t number = 0;
    const auto read = std::from_chars(size.data(), size.data() + size.size(), number);
    const bool is_number = read.ec == std::errc() && read.ptr == size.data() + size.size();
    if (size.empty() || (is_number && number < 0))
      return make_error("usage", fmt::format("the shape of input {} has a size {}", quote(input), quote(size)));
    if (is_number) {
      axis.constant = number;
    } else {
      axis.expression = strings.keep(size).view();
    }
  }
  if (traced && traced->dims.size() != type.shape->size()) {
    Error error = make_error("usage", fmt::format("input {} has another number of axes", quote(input)));
    error.diagnostic.expected = std::to_string(traced->dims.size());
    error.diagnostic.found = std::to_string(type.shape->size());
    return error;
  }
  return type;
}

foreign::TensorType traced_type(const TracedInput& traced) {
  foreign::TensorType type;
  type.elem = traced.elem;
  type.shape.emplace();
  for (const std::int64_t size : traced.dims) type.shape->push_back({.constant = std::max<std::int64_t>(size, 0)});
  return type;
}

Error unknown_shape(std::string_view input) {
  Error error = make_error("not-supported", fmt::format("the file does not say the shape of input {}", quote(input)));
  error.diagnostic.help = fmt::format("onnxkit convert --input-shape {}=1,3,224,224 sets it", without_controls(input));
  return error;
}

class Lowering {
 public:
  Lowering(Module& module, const Shapes& shapes) : module_(module), shapes_(shapes), follower_(module, model_) {}

  Result<Lowered> run() {
    model_.framework = "PyTorch";
    Item root = Item::of_kind(Kind::object);
    root.object = module_.root();
    const Function* forward = follower_.method_of(root, "forward");
    if (!forward) return make_error("malformed-model", "the module has no method forward");
    if (auto added = add_inputs(*forward); !added) return std::move(added).error();
    const Item result = follower_.call_method(root, "forward", arguments_);
    if (follower_.fault()) return *follower_.fault();
    if (auto added = add_outputs(result); !added) return std::move(added).error();
    add_rebound();
    if (!sizes_.empty()) model_.metadata.emplace_back("source_sizes", follower_.writer().keep(sizes_));
    for (const auto& file : module_.archive.files()) model_.files.push_back(file);
    return Lowered{std::move(model_), std::move(rebound_)};
  }

 private:
  Result<void> add_inputs(const Function& forward) {
    for (const auto& [name, shape] : shapes_) {
      std::size_t place = 0;
      const auto [end, fault] = std::from_chars(name.data(), name.data() + name.size(), place);
      const bool is_place =
          fault == std::errc() && end == name.data() + name.size() && place + 1 < forward.parameters.size();
      const bool is_known =
          is_place || std::any_of(forward.parameters.begin(), forward.parameters.end(),
                                  [&, wanted = std::string_view(name)](const auto& p) { return p.name == wanted; });
      if (!is_known) return make_error("unknown-input", fmt::format("the model has no input {}", quote(name)));
    }
    for (std::size_t i = 1; i < forward.parameters.size(); ++i) {
      const Function::Parameter& parameter = forward.parameters[i];
      if (is_optional_type(parameter.type) && parameter.has_fallback && !shapes_.contains(std::string(parameter.name)))
        continue;
      if (!is_tensor_type(parameter.type) && !is_optional_type(parameter.type)) {
        if (parameter.has_fallback) continue;
        return make_error("not-supported", fmt::format("input {} is not a tensor", quote(parameter.name)));
      }
      auto type = type_of(i - 1, parameter.name);
      if (!type) return std::move(type).error();
      const ValueId id = model_.graph.add_value(follower_.writer().keep(parameter.name), *std::move(type));
      model_.graph.inputs.push_back(id);
      arguments_.push_back({parameter.name, Item::of_value(Kind::tensor, model_.graph, id)});
    }
    return {};
  }

  Result<foreign::TensorType> type_of(std::size_t place, std::string_view name) {
    const TracedInput* traced = place < module_.traced_inputs.size() ? &module_.traced_inputs[place] : nullptr;
    auto asked = shapes_.find(std::string(name));
    if (asked == shapes_.end()) asked = shapes_.find(std::to_string(place));
    if (asked == shapes_.end()) return traced ? traced_type(*traced) : Result<foreign::TensorType>(unknown_shape(name));
    auto type = asked_type(name, asked->second, traced, *model_.strings);
    for (std::size_t axis = 0; type && traced && axis < traced->dims.size(); ++axis) {
      const std::string_view size = (*type->shape)[axis].expression;
      if (size.empty() || !named_sizes_.insert(size).second) continue;
      sizes_ += fmt::format("{}{}={}", sizes_.empty() ? "" : ",", size, traced->dims[axis]);
    }
    return type;
  }

  Result<void> add_outputs(const Item& item) {
    if (item.kind == Kind::tensor) {
      const ValueId id = follower_.writer().here(item);
      const std::string_view name = follower_.writer().keep(fmt::format("output_{}", model_.graph.outputs.size()));
      // Inputs and weights keep their names.
      const bool is_computed = std::any_of(model_.graph.nodes.begin(), model_.graph.nodes.end(), [&](const auto& node) {
        return std::find(node.outputs.begin(), node.outputs.end(), id) != node.outputs.end();
      });
      const bool is_output = std::any_of(model_.graph.outputs.begin(), model_.graph.outputs.end(),
                                         [&](const foreign::Output& output) { return output.value == id; });
      if (is_computed && !is_output) model_.graph.values[foreign::index_of(id)].name = name;
      model_.graph.outputs.push_back({id, name});
      return {};
    }
    if (item.kind == Kind::none) return {};
    if (item.kind != Kind::list && item.kind != Kind::tuple && item.kind != Kind::dict)
      return make_error("not-supported", "the module returns something that is not a tensor");
    const std::size_t step = item.kind == Kind::dict ? 2 : 1;
    for (std::size_t i = step - 1; i < item.items->size(); i += step)
      if (auto added = add_outputs((*item.items)[i]); !added) return added;
    return {};
  }

  /// Further outputs, which hold what the module's buffers are given.
  void add_rebound() {
    for (const auto& [stored, now] : follower_.rebound()) {
      model_.graph.outputs.push_back({follower_.writer().here(now), {}});
      rebound_.push_back(stored.id);
    }
  }

  Module& module_;
  const Shapes& shapes_;
  foreign::Model model_;
  Follower follower_;
  std::vector<NamedItem> arguments_;
  std::set<std::string_view> named_sizes_;
  std::string sizes_;
  std::vector<ValueId> rebound_;
};

}  // namespace

Result<Lowered> lower(Module& module, const Shapes& shapes) { return Lowering(module, shapes).run(); }

}  // namespace onnxkit::torchscript
