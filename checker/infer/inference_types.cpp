// The parts of inference that need no operator code: what the schema says of types, and what the file declares.
#include <algorithm>

#include <fmt/core.h>

#include "checker/infer/attribute_values.h"
#include "checker/infer/inference.h"
#include "checker/infer/type_rules.h"

namespace onnxkit::checker {
namespace {

std::string_view param_of(const ir::DeclaredDim& dim) { return dim.param.view(); }

/// A constraint that is a variable binds all its parameters to one type; "tensor(int64)" and the like are plain types.
bool is_type_variable(const spec::TypeConstraint& constraint) {
  return constraint.name.find('(') == std::string_view::npos;
}

}  // namespace

bool Inference::types_agree(InferContext& context) {
  const spec::OpSchema& schema = context.schema();
  bool agree = true;
  std::vector<std::pair<const Type*, std::size_t>> bound(schema.constraints.size(), {nullptr, 0});
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    const spec::FormalParameter* formal = schema.input_at(i);
    const Type* type = context.input_type(i);
    if (!formal || !type) continue;
    const spec::TypeConstraint& constraint = schema.constraints[formal->constraint];
    if (!allows(constraint.allowed, *type)) {
      agree = false;
      const spec::OpSchema* later = later_version(resolution_.table(), schema, [&](const spec::OpSchema& version) {
        const spec::FormalParameter* same = version.input_at(i);
        return same && allows(version.types_of(*same), *type);
      });
      context.error(
          {.code = "type-not-allowed",
           .at = at_input(i),
           .message = fmt::format("{} does not allow this type for input {}", schema.name, quote(formal->name)),
           .expected = describe(constraint.allowed),
           .found = to_string(*type, result_.dims),
           .help = later ? fmt::format("upgrade to opset {}", later->since_version) : std::string()});
      continue;
    }
    const bool shares_type =
        is_type_variable(constraint) && (formal->arity != spec::Arity::variadic || formal->homogeneous);
    if (!shares_type) continue;
    auto& [first, first_index] = bound[formal->constraint];
    if (!first) {
      first = type;
      first_index = i;
    } else if (!same_structure(*first, *type)) {
      agree = false;
      context.error(
          {.code = "type-mismatch",
           .at = at_input(i),
           .message = fmt::format("inputs {} and {} of {} must have the same type", first_index, i, schema.name),
           .expected =
               fmt::format("{}, the type of input {}", to_string(without_shapes(*first), result_.dims), first_index),
           .found = to_string(*type, result_.dims)});
    }
  }
  return agree;
}

void Inference::bind_output_types(InferContext& context) {
  const spec::OpSchema& schema = context.schema();
  for (std::size_t i = 0; i < context.outputs_.size(); ++i) {
    const spec::FormalParameter* formal = schema.output_at(i);
    if (!formal) continue;
    const spec::TypeConstraint& constraint = schema.constraints[formal->constraint];
    Type& type = context.outputs_[i].type;
    type = only_type(constraint.allowed);
    const bool each_its_own = formal->arity == spec::Arity::variadic && !formal->homogeneous;
    if (!is_type_variable(constraint) || each_its_own) continue;
    for (std::size_t k = 0; k < context.input_count() && (type.is_unknown() || type.elem == ElementType::undefined);
         ++k) {
      const spec::FormalParameter* source = schema.input_at(k);
      const Type* known = context.input_type(k);
      const bool heterogeneous = source && source->arity == spec::Arity::variadic && !source->homogeneous;
      if (source && known && source->constraint == formal->constraint && !heterogeneous) type = without_shapes(*known);
    }
  }
}

/// Records what a named size stands for; true when it stood for something else before.
bool Inference::names_conflict(Dim name, Dim size) {
  DimPool& dims = result_.dims;
  const auto [entry, is_new] = named_sizes_.try_emplace(dims.to_string(name), size);
  return !is_new && dims.never_equal(entry->second, size);
}

/// Some symbol of it names several axes of the graph's inputs, or of other values and of no input: that they are equal is said by nothing else.
bool Inference::names_several_axes(Dim name) const {
  if (!model_.graph) return false;
  const auto axes_of = [](const std::vector<ir::ValueInfo>& values, std::string_view symbol) {
    std::ptrdiff_t axes = 0;
    for (const ir::ValueInfo& value : values) {
      if (value.type && value.type->shape) axes += std::ranges::count(value.type->shape->dims, symbol, param_of);
    }
    return axes;
  };
  const std::vector<std::size_t> symbols = result_.dims.symbols_in(name);
  return std::ranges::any_of(symbols, [&](std::size_t symbol) {
    const std::string& text = result_.dims.symbol(symbol).name;
    const std::ptrdiff_t of_inputs = axes_of(model_.graph->inputs, text);
    if (of_inputs > 0) return of_inputs > 1;
    return axes_of(model_.graph->outputs, text) + axes_of(model_.graph->value_infos, text) > 1;
  });
}

namespace {

/// The two differ whenever no symbol in them is 0.
bool differ_unless_empty(DimPool& dims, Dim a, Dim b) {
  if (dims.never_equal(a, b)) return true;
  const Dim difference = dims.sub(a, b);
  if (difference.is_unknown() || difference.is(0)) return false;
  const bool positive = dims.lower_bound(difference).value_or(-1) >= 0;
  if (!positive && dims.upper_bound(difference).value_or(1) > 0) return false;
  // Small sizes, and those that networks divide by: (H + 15) // 16 and 2 * ((H + 31) // 32) are equal for multiples of 32.
  for (const std::int64_t sample : {1, 2, 3, 4, 32, 64, 1024, 20160, 65536}) {
    const auto value = dims.evaluate(difference, [&](std::string_view) { return std::optional(sample); });
    if (!value || *value == 0) return false;
  }
  return true;
}

/// Where the size is open, the bounds that it has.
std::string wrong_size(DimPool& dims, std::size_t axis, Dim known) {
  std::string message = fmt::format("the declared size of axis {} is wrong", axis);
  const auto least = dims.lower_bound(known), most = dims.upper_bound(known);
  if (known.is_constant() || !dims.has_origin(known, ir::SymbolOrigin::lost) || !least || !most) return message;
  return fmt::format("{}: it is {} to {}", message, *least, *most);
}

void fill_open_sizes(DimPool& dims, std::optional<Shape>& shape) {
  if (!shape) return;
  for (Dim& d : *shape) {
    if (d.is_unknown()) d = dims.fresh("lost", ir::SymbolOrigin::lost, "the file declares no size");
  }
}

}  // namespace

/// Completes `type` with what is declared; code and message when the two contradict each other.
std::optional<std::pair<std::string, std::string>> Inference::reconcile_type(const Type& declared, Type& type,
                                                                             bool in_sequence, bool takes_names) {
  DimPool& dims = result_.dims;
  if (!same_structure(declared, type)) return {{"declared-type", "the declared type differs from the inferred type"}};
  if (type.elem == ElementType::undefined) type.elem = declared.elem;
  if (!type.element) {
    type.element = declared.element;
  } else if (declared.element) {
    Type element = *type.element;
    if (auto fault =
            reconcile_type(*declared.element, element, in_sequence || type.kind == Type::Kind::sequence, takes_names))
      return fault;
    type.element = std::make_shared<const Type>(std::move(element));
  }
  if (!declared.shape) return std::nullopt;
  if (!type.shape) {
    type.shape = declared.shape;
    if (!in_sequence) fill_open_sizes(dims, type.shape);
    return std::nullopt;
  }
  if (declared.shape->size() != type.shape->size())
    return {{"declared-shape", "the declared rank differs from the inferred rank"}};
  for (std::size_t axis = 0; axis < type.shape->size(); ++axis) {
    const Dim said = (*declared.shape)[axis];
    Dim& known = (*type.shape)[axis];
    if (said.is_unknown() || said == known) continue;
    const bool open = known.is_unknown() || dims.has_origin(known, ir::SymbolOrigin::lost);
    // A name of the file's own says more than a symbol made for a size that data decides. Not in bodies, whose sizes may vary by iteration.
    const bool named = takes_names && said.is_expression() && dims.has_origin(known, ir::SymbolOrigin::data_dependent);
    if (said.is_constant() && dims.never_equal(said, known)) return {{"declared-shape", wrong_size(dims, axis, known)}};
    if (open || named) {
      known = said;
    } else if (said.is_constant()) {
      continue;
    } else if (!in_sequence && (known.is_constant() ? dims.never_equal(said, known) || names_conflict(said, known)
                                                    : differ_unless_empty(dims, said, known))) {
      return {{"dim-name-conflict",
               fmt::format("the dimension name {} stands for different sizes", quote(dims.to_string(said)))}};
    }
  }
  return std::nullopt;
}

void Inference::reconcile(Frame& frame, ir::ValueId id, Type& type) {
  const ir::ValueInfo* info = frame.declared[ir::index_of(id)];
  if (!info) return;
  DimPool& dims = result_.dims;
  const Type declared = from_declared(*info->type, dims, UnknownDim{});
  if (declared.is_unknown()) return;
  if (type.is_unknown()) {
    type = declared;
    return fill_open_sizes(dims, type.shape);
  }
  const Type inferred = type;
  const auto fault = reconcile_type(declared, type, false, frame.parent == nullptr);
  if (declared.shape && inferred.shape && declared.shape->size() == inferred.shape->size()) {
    for (std::size_t axis = 0; axis < declared.shape->size(); ++axis)
      note_demand(frame, std::nullopt, SizeRelation::equal, (*inferred.shape)[axis], (*declared.shape)[axis]);
  }
  if (!fault) return;
  Diagnostic diagnostic;
  diagnostic.code = fault->first;
  diagnostic.location = location_of(frame, std::nullopt);
  const auto& outputs = frame.graph->outputs;
  const bool is_output = !outputs.empty() && info >= &outputs.front() && info <= &outputs.back();
  diagnostic.location.item = is_output ? "output" : "value";
  diagnostic.location.item_name = frame.graph->name_of(id);
  diagnostic.message = fault->second;
  if (fault->first == "dim-name-conflict") {
    diagnostic.severity = Severity::warning;
    diagnostic.notes.emplace_back(note_of_trust);
  } else if (is_output && fault->first == "declared-shape") {
    diagnostic.message += "; only the declaration of the output is wrong";
  }
  if (is_output && fault->first != "declared-type") diagnostic.help = "check --fix writes the inferred shape";
  diagnostic.expected = fmt::format("{}, as inferred", to_string(inferred, dims));
  diagnostic.found = fmt::format("{}, as declared", to_string(declared, dims));
  report(std::move(diagnostic));
}

}  // namespace onnxkit::checker
