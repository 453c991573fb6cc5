#include "libonnxkit/ir/dim/declare_dims.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <set>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/scope.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::ir {
namespace {

struct AxisKey {
  std::string_view input;
  std::int64_t axis = 0;
};

/// INPUT[AXIS]
std::optional<AxisKey> axis_key(std::string_view key) {
  const std::size_t open = key.rfind('[');
  if (open == std::string_view::npos || open == 0 || !key.ends_with(']')) return std::nullopt;
  AxisKey parsed{.input = key.substr(0, open)};
  const char* end = key.data() + key.size() - 1;
  const auto [at, fault] = std::from_chars(key.data() + open + 1, end, parsed.axis);
  return fault == std::errc() && at == end ? std::optional(parsed) : std::nullopt;
}

bool is_one_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(),
                                      [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c >= 0x80; });
}

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0; }

/// "2*s77 + s7" with s7 as n: "2*s77 + n".
std::string with_word_replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  while (!text.empty()) {
    std::size_t length = 0;
    while (length < text.size() && is_word_char(text[length])) ++length;
    const std::string_view word = text.substr(0, length);
    result += word == from ? to : word;
    text.remove_prefix(length);
    for (; !text.empty() && !is_word_char(text.front()); text.remove_prefix(1)) result += text.front();
  }
  return result;
}

/// An axis of an input, with what errors call it.
struct InputAxis {
  DeclaredDim* dim = nullptr;
  std::string name;
};

class Declaring {
 public:
  Declaring(Model& model, DeclaredSizes declared) : model_(model), declared_(declared) {
    if (!model.graph) return;
    for (ValueInfo& input : model.graph->inputs) {
      if (input.value == ValueId::none || !input.type || !input.type->shape) continue;
      std::vector<DeclaredDim>& dims = input.type->shape->dims;
      for (const DeclaredDim& dim : dims) names_.insert(dim.param.view());
      inputs_.emplace(model.graph->name_of(input.value), &dims);
    }
  }

  Result<std::map<std::string, std::int64_t>> run(const DimSettings& settings) {
    std::map<std::string, std::int64_t> left;
    for (const auto& [key, name] : settings.names) {
      if (names_.contains(key)) {
        rename_everywhere(key, name);
        continue;
      }
      const auto axis = axis_of(key);
      if (!axis) return axis.error();
      if (axis->dim == nullptr) return no_axis(key, "a name can be given to INPUT[AXIS] only");
      if (auto renamed = rename(*axis, name); !renamed) return renamed.error();
    }
    for (const auto& [key, size] : settings.sizes) {
      const auto axis = names_.contains(key) ? Result<InputAxis>(InputAxis{}) : axis_of(key);
      if (!axis) return axis.error();
      if (axis->dim == nullptr)
        left.emplace(key, size);
      else if (!axis->dim->size() && is_one_name(axis->dim->param.view()))
        left.emplace(axis->dim->param.view(), size);
      else if (auto sized = resize(*axis, size); !sized)
        return sized.error();
    }
    if (replaced_) forget_shapes();
    return left;
  }

  Result<void> set_shapes(const std::map<std::string, InputShape>& shapes) {
    for (const auto& [name, shape] : shapes) {
      const ValueId id = model_.graph ? model_.graph->find(name) : ValueId::none;
      const auto input = !model_.graph ? nullptr : input_of(id);
      if (!input) return make_error("unknown-input", fmt::format("the model has no input {}", quote(name)));
      if (auto set = set_shape(*input, name, shape); !set) return set;
    }
    if (replaced_) forget_shapes();
    return {};
  }

  void fix(const std::map<std::string, std::int64_t>& sizes) {
    for (const auto& [name, dims] : inputs_) {
      for (DeclaredDim& dim : *dims) {
        const auto size = dim.size() ? sizes.end() : sizes.find(std::string(dim.param.view()));
        if (size == sizes.end()) continue;
        dim.value = size->second;
        dim.param = {};
        replaced_ = true;
      }
    }
    if (replaced_) forget_shapes();
  }

 private:
  /// Without `dim` when the key means none of an input that has a shape.
  Result<InputAxis> axis_of(const std::string& key) {
    for (const auto& [name, dims] : inputs_) {
      for (std::size_t i = 0; i < dims->size(); ++i) {
        DeclaredDim& dim = (*dims)[i];
        if (!dim.size() && dim.param.view().empty() && key == anonymous_dim(name, i)) return InputAxis{&dim, key};
      }
    }
    const auto parsed = axis_key(key);
    const auto input = parsed ? inputs_.find(parsed->input) : inputs_.end();
    if (input == inputs_.end()) return InputAxis{};
    const auto rank = static_cast<std::int64_t>(input->second->size());
    const std::int64_t axis = parsed->axis < 0 ? parsed->axis + rank : parsed->axis;
    if (axis < 0 || axis >= rank) return no_axis(key, fmt::format("input {} has {} axes", quote(input->first), rank));
    return InputAxis{&(*input->second)[static_cast<std::size_t>(axis)], key};
  }

  static Error no_axis(const std::string& key, std::string note) {
    Error error = make_error("unknown-dimension", fmt::format("the model has no dimension {}", quote(key)));
    error.diagnostic.notes.push_back(std::move(note));
    return error;
  }

  Result<void> may_replace(const InputAxis& axis) {
    if (!axis.dim->size()) return {};
    if (declared_ == DeclaredSizes::replace) {
      replaced_ = true;
      return {};
    }
    Error error =
        make_error("usage", fmt::format("the model declares the size {} for {}", *axis.dim->value, quote(axis.name)));
    error.diagnostic.help = "onnxkit infer --dim INPUT[AXIS]=NAME -o FILE writes a model that takes any size there";
    return error;
  }

  Result<void> resize(const InputAxis& axis, std::int64_t size) {
    if (axis.dim->size() == size) return {};
    if (auto may = may_replace(axis); !may) return may;
    axis.dim->value = size;
    axis.dim->param = {};
    return {};
  }

  Result<void> rename(const InputAxis& axis, const std::string& name) {
    if (!axis.dim->size() && axis.dim->param.view() == name) return {};
    if (auto may = may_replace(axis); !may) return may;
    replaced_ = replaced_ || !axis.dim->param.view().empty();
    axis.dim->value.reset();
    axis.dim->param = model_.keep(name);
    return {};
  }

  ValueInfo* input_of(ValueId id) {
    for (ValueInfo& input : model_.graph->inputs)
      if (id != ValueId::none && input.value == id) return &input;
    return nullptr;
  }

  Result<void> set_shape(ValueInfo& input, const std::string& name, const InputShape& shape) {
    if (!input.type || input.type->kind != DeclaredType::Kind::tensor)
      return make_error("usage", fmt::format("input {} is not a tensor", quote(name)));
    if (shape.type != ElementType::undefined && shape.type != ElementType(input.type->elem_type.value_or(0)))
      return make_error("usage", fmt::format("input {} has another element type", quote(name)));
    if (input.type->shape && input.type->shape->dims.size() != shape.sizes.size())
      return make_error("usage", fmt::format("input {} has {} axes, not {}", quote(name),
                                             input.type->shape->dims.size(), shape.sizes.size()));
    if (!input.type->shape) input.type->shape.emplace().dims.resize(shape.sizes.size());
    for (std::size_t i = 0; i < shape.sizes.size(); ++i) {
      auto set = set_size(input.type->shape->dims[i], name, shape.sizes[i]);
      if (!set) return set;
    }
    replaced_ = true;
    return {};
  }

  Result<void> set_size(DeclaredDim& dim, const std::string& input, const std::string& word) {
    std::int64_t size = 0;
    const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), size);
    const bool is_size = fault == std::errc() && end == word.data() + word.size();
    if (is_size ? size < 0 : !is_one_name(word))
      return make_error("usage", fmt::format("{} is not a size for an axis of input {}", quote(word), quote(input)));
    dim.value = is_size ? std::optional(size) : std::nullopt;
    dim.param = is_size ? Text() : model_.keep(word);
    return {};
  }

  /// Also in expressions, and where the model says with which sizes it was exported.
  void rename_everywhere(const std::string& from, const std::string& to) {
    const auto renamed = [&](std::string_view text) { return model_.keep(with_word_replaced(text, from, to)); };
    const auto rename_in = [&](ValueInfo& info) {
      if (!info.type || !info.type->shape) return;
      for (DeclaredDim& dim : info.type->shape->dims)
        if (!dim.param.view().empty()) dim.param = renamed(dim.param.view());
    };
    for (Graph* graph : mutable_graphs(model_))
      for (auto* infos : {&graph->inputs, &graph->outputs, &graph->value_infos})
        for (ValueInfo& info : *infos) rename_in(info);
    for (StringEntry& entry : model_.metadata_props)
      if (entry.key == "source_sizes") entry.value = renamed(entry.value.view());
  }

  void forget_shapes() {
    for (ValueInfo& output : model_.graph->outputs) {
      if (!output.type || !output.type->shape) continue;
      for (DeclaredDim& dim : output.type->shape->dims) {
        dim.value.reset();
        dim.param = {};
      }
    }
    for (Graph* graph : mutable_graphs(model_)) graph->value_infos.clear();
  }

  Model& model_;
  DeclaredSizes declared_;
  std::map<std::string_view, std::vector<DeclaredDim>*> inputs_;
  std::set<std::string_view, std::less<>> names_;
  bool replaced_ = false;
};

}  // namespace

std::string anonymous_dim(std::string_view input, std::size_t axis) { return fmt::format("{}_dim{}", input, axis); }

Result<std::map<std::string, std::int64_t>> declare_dims(Model& model, const DimSettings& settings,
                                                         DeclaredSizes declared) {
  return Declaring(model, declared).run(settings);
}

std::map<std::string, InputShape> input_shapes(const Model& model) {
  std::map<std::string, InputShape> shapes;
  if (!model.graph) return shapes;
  std::set<std::string_view> stored;
  for (const Tensor& tensor : model.graph->initializers) stored.insert(tensor.name.view());
  std::size_t place = 0;
  for (const ValueInfo& input : model.graph->inputs) {
    if (input.value == ValueId::none || stored.contains(model.graph->name_of(input.value))) continue;
    const std::string name(model.graph->name_of(input.value));
    const std::string key = std::to_string(place++);
    if (!input.type || input.type->kind != DeclaredType::Kind::tensor || !input.type->shape) continue;
    InputShape& shape = shapes[key];
    shape.type = ElementType(input.type->elem_type.value_or(0));
    for (std::size_t i = 0; i < input.type->shape->dims.size(); ++i) {
      const DeclaredDim& dim = input.type->shape->dims[i];
      const std::string_view param = dim.param.view();
      shape.sizes.push_back(dim.size()           ? std::to_string(*dim.size())
                            : is_one_name(param) ? std::string(param)
                                                 : anonymous_dim(name, i));
    }
  }
  return shapes;
}

void fix_named_dims(Model& model, const std::map<std::string, std::int64_t>& sizes) {
  Declaring(model, DeclaredSizes::replace).fix(sizes);
}

Result<void> declare_shapes(Model& model, const std::map<std::string, InputShape>& shapes) {
  return Declaring(model, DeclaredSizes::replace).set_shapes(shapes);
}

}  // namespace onnxkit::ir
