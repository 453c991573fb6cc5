#include "libonnxkit/spec/schema_pack.h"
#include "libonnxkit/ir/scope.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <deque>
#include <initializer_list>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "libonnxkit/base/system/mapped_file.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::spec {

struct SchemaPack::Storage {
  std::string domain;
  std::vector<OpSchema> schemas;
  // Deques: what the schemas view stays where it is.
  std::deque<std::string> strings;
  std::deque<std::vector<FormalParameter>> parameters;
  std::deque<std::vector<AttributeSchema>> attributes;
  std::deque<std::vector<TypeConstraint>> constraints;
  std::deque<std::vector<std::string_view>> string_lists;
  std::deque<std::vector<std::int64_t>> integer_lists;
  std::deque<std::vector<float>> real_lists;
};

namespace {

constexpr std::size_t max_bytes = 16u << 20;
/// Operators, parameters, attributes, types and list elements. Aliases let a short file name very many.
constexpr std::size_t max_items = 1'000'000;
constexpr std::size_t max_parameters = 1000;
constexpr ErrorCode error_code = "schema-pack";

/// Thrown and caught in this file only, as yaml-cpp throws, too.
struct Fault {
  YAML::Mark mark;
  std::string message;
};

[[noreturn]] void fail(const YAML::Node& at, std::string message) { throw Fault{at.Mark(), std::move(message)}; }

/// Reads nodes of the pack into a Storage.
class Reader {
 public:
  explicit Reader(SchemaPack::Storage& storage) : storage_(storage) {}

  void read(const YAML::Node& root) {
    expect_map(root, "a schema pack", {"domain", "source", "operators"});
    storage_.domain = ir::canonical_domain(text(required(root, "domain", "a schema pack"), "a domain"));
    for (const YAML::Node& node : list(required(root, "operators", "a schema pack"), "operators")) read_operator(node);
    std::ranges::sort(storage_.schemas, [](const OpSchema& a, const OpSchema& b) {
      return std::tie(a.name, a.since_version) < std::tie(b.name, b.since_version);
    });
  }

 private:
  void count_item(const YAML::Node& at) {
    if (++items_ > max_items) fail(at, fmt::format("more than {} entries", max_items));
  }

  std::string_view keep(std::string text) { return storage_.strings.emplace_back(std::move(text)); }

  template <class T>
  std::span<const T> keep(std::deque<std::vector<T>>& lists, std::vector<T> items) {
    return lists.emplace_back(std::move(items));
  }

  static YAML::Node required(const YAML::Node& map, const char* key, std::string_view what) {
    const YAML::Node value = map[key];
    if (!value) fail(map, fmt::format("{} requires the key '{}'", what, key));
    return value;
  }

  static void expect_map(const YAML::Node& node, std::string_view what, std::initializer_list<std::string_view> keys) {
    if (!node.IsMap()) fail(node, fmt::format("{} must be a mapping with the keys {}", what, fmt::join(keys, ", ")));
    std::vector<std::string> seen;
    for (const auto& entry : node) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (std::ranges::find(keys, key) == keys.end())
        fail(entry.first, fmt::format("{} has no key {}; its keys are {}", what, quote(key), fmt::join(keys, ", ")));
      if (std::ranges::find(seen, key) != seen.end())
        fail(entry.first, fmt::format("the key '{}' is given twice", key));
      seen.push_back(key);
    }
  }

  static std::string text(const YAML::Node& node, std::string_view what) {
    if (!node.IsScalar()) fail(node, fmt::format("{} must be a string", what));
    return node.Scalar();
  }

  std::string_view name(const YAML::Node& node, std::string_view what) {
    std::string result = text(node, what);
    if (result.empty()) fail(node, fmt::format("{} must not be empty", what));
    return keep(std::move(result));
  }

  template <class T>
  static T scalar(const YAML::Node& node, std::string_view what) {
    T value{};
    // Quoted text is a string even where it reads like a number.
    if (!node.IsScalar() || node.Tag() == "!" || !YAML::convert<T>::decode(node, value))
      fail(node, fmt::format("expected {}{}", what, node.IsScalar() ? ", found " + quote(node.Scalar(), 40) : ""));
    return value;
  }

  static bool flag(const YAML::Node& map, const char* key) {
    const YAML::Node value = map[key];
    return value && scalar<bool>(value, "true or false");
  }

  std::vector<YAML::Node> list(const YAML::Node& node, std::string_view what) {
    if (!node.IsSequence()) fail(node, fmt::format("'{}' must be a list", what));
    std::vector<YAML::Node> result;
    for (const YAML::Node& item : node) {
      count_item(item);
      result.push_back(item);
    }
    return result;
  }

  template <class T, class Read>
  std::vector<T> list_of(const YAML::Node& node, std::string_view what, Read read) {
    std::vector<T> result;
    for (const YAML::Node& item : list(node, what)) result.push_back(read(item));
    return result;
  }

  std::vector<TypeConstraint> read_constraints(const YAML::Node& types) {
    std::vector<TypeConstraint> result;
    if (!types) return result;
    if (!types.IsMap()) fail(types, "'types' must be a mapping from names to lists of types");
    for (const auto& entry : types) {
      TypeConstraint constraint{name(entry.first, "the name of a type constraint"), {}};
      if (std::ranges::find(result, constraint.name, &TypeConstraint::name) != result.end())
        fail(entry.first, fmt::format("the type constraint {} is given twice", quote(constraint.name)));
      for (const YAML::Node& item : list(entry.second, "types")) {
        const std::string type = text(item, "a type");
        const auto set = type_named(type);
        if (!set) fail(item, fmt::format("{} is not a type; write types like tensor(float)", quote(type)));
        constraint.allowed = united(constraint.allowed, *set);
      }
      if (constraint.allowed.empty())
        fail(entry.second, fmt::format("the type constraint {} allows no types", quote(constraint.name)));
      result.push_back(constraint);
    }
    return result;
  }

  /// Index of the constraint that a parameter names; a type written out gets a constraint of its own.
  std::uint16_t constraint_index(const YAML::Node& node, std::vector<TypeConstraint>& constraints) {
    const std::string type = text(node, "'type'");
    auto found = std::ranges::find(constraints, type, &TypeConstraint::name);
    if (found == constraints.end()) {
      const auto set = type_named(type);
      if (!set)
        fail(node, fmt::format("{} is neither a name under 'types' nor a type like tensor(float)", quote(type)));
      const std::string spelling = type_strings(*set).front();
      found = std::ranges::find(constraints, spelling, &TypeConstraint::name);
      if (found == constraints.end()) found = constraints.insert(found, {keep(spelling), *set});
    }
    return static_cast<std::uint16_t>(found - constraints.begin());
  }

  FormalParameter read_parameter(const YAML::Node& node, std::vector<TypeConstraint>& constraints) {
    expect_map(node, "an input or output", {"name", "type", "optional", "variadic", "heterogeneous"});
    FormalParameter parameter{name(required(node, "name", "an input or output"), "a name"),
                              constraint_index(required(node, "type", "an input or output"), constraints)};
    const YAML::Node variadic = node["variadic"];
    if (flag(node, "optional")) {
      if (variadic) fail(variadic, "an input or output is optional or variadic, not both");
      parameter.arity = Arity::optional;
    } else if (variadic) {
      const auto least = scalar<std::int64_t>(variadic, "the minimum number of values");
      if (least < 0 || least >= no_limit)
        fail(variadic, fmt::format("{} is not a valid minimum number of values", least));
      parameter.arity = Arity::variadic;
      parameter.min_arity = static_cast<std::uint16_t>(least);
      parameter.homogeneous = !flag(node, "heterogeneous");
    } else if (flag(node, "heterogeneous")) {
      fail(node["heterogeneous"], "only a variadic input or output can be heterogeneous");
    }
    return parameter;
  }

  struct Side {
    std::span<const FormalParameter> parameters;
    std::uint16_t least = 0, most = 0;
  };

  Side read_side(const YAML::Node& node, const char* what, std::vector<TypeConstraint>& constraints) {
    Side side;
    if (!node) return side;
    std::vector<FormalParameter> parameters;
    for (const YAML::Node& item : list(node, what)) {
      if (side.most == no_limit) fail(item, fmt::format("nothing can follow a variadic one in '{}'", what));
      if (parameters.size() == max_parameters) fail(item, fmt::format("more than {} {}", max_parameters, what));
      parameters.push_back(read_parameter(item, constraints));
      const FormalParameter& last = parameters.back();
      const auto before = static_cast<std::uint16_t>(parameters.size() - 1);
      side.most = last.arity == Arity::variadic ? no_limit : static_cast<std::uint16_t>(before + 1);
      if (last.arity == Arity::single) side.least = side.most;
      if (last.arity == Arity::variadic) side.least = static_cast<std::uint16_t>(before + last.min_arity);
    }
    side.parameters = keep(storage_.parameters, std::move(parameters));
    return side;
  }

  AttributeDefault read_default(const YAML::Node& node, const AttributeSchema& attribute) {
    const auto integer = [](const YAML::Node& n) { return scalar<std::int64_t>(n, "an integer"); };
    const auto real = [](const YAML::Node& n) { return scalar<float>(n, "a number"); };
    const auto string = [this](const YAML::Node& n) { return keep(text(n, "a default")); };
    AttributeDefault value;
    switch (attribute.type) {
      case AttributeType::integer:
        value.integer = integer(node);
        break;
      case AttributeType::real:
        value.real = real(node);
        break;
      case AttributeType::string:
        value.string = string(node);
        break;
      case AttributeType::integers:
        value.integers = keep(storage_.integer_lists, list_of<std::int64_t>(node, "default", integer));
        break;
      case AttributeType::reals:
        value.reals = keep(storage_.real_lists, list_of<float>(node, "default", real));
        break;
      case AttributeType::strings:
        value.strings = keep(storage_.string_lists, list_of<std::string_view>(node, "default", string));
        break;
      default:
        fail(node, fmt::format("an attribute of type {} cannot have a default here", name_of(attribute.type)));
    }
    return value;
  }

  void read_values(const YAML::Node& node, AttributeSchema& attribute) {
    if (attribute.type != AttributeType::string && attribute.type != AttributeType::strings)
      fail(node, "only an attribute of type string or strings can list its values");
    attribute.allowed_strings = keep(
        storage_.string_lists,
        list_of<std::string_view>(node, "values", [this](const YAML::Node& n) { return keep(text(n, "a value")); }));
  }

  AttributeSchema read_attribute(const YAML::Node& key, const YAML::Node& node) {
    expect_map(node, "an attribute", {"type", "required", "default", "values"});
    const YAML::Node type_node = required(node, "type", "an attribute");
    const auto type = attribute_type_named(text(type_node, "'type'"));
    if (!type)
      fail(type_node, fmt::format("{} is not an attribute type; use float, int, string, tensor, graph, floats, ...",
                                  quote(type_node.Scalar())));
    AttributeSchema attribute{.name = name(key, "the name of an attribute"), .type = *type};
    attribute.required = flag(node, "required");
    if (const YAML::Node values = node["values"]) read_values(values, attribute);
    if (const YAML::Node value = node["default"]) {
      if (attribute.required) fail(value, "a required attribute has no default");
      attribute.has_default = true;
      attribute.default_value = read_default(value, attribute);
      check_default(value, attribute);
    }
    return attribute;
  }

  static void check_default(const YAML::Node& node, const AttributeSchema& attribute) {
    const auto check = [&](std::string_view value) {
      if (std::ranges::find(attribute.allowed_strings, value) == attribute.allowed_strings.end())
        fail(node, fmt::format("the default {} is not one of the values", quote(value)));
    };
    if (attribute.allowed_strings.empty()) return;
    if (attribute.type == AttributeType::string) check(attribute.default_value.string);
    std::ranges::for_each(attribute.default_value.strings, check);
  }

  std::span<const AttributeSchema> read_attributes(const YAML::Node& node) {
    if (!node) return {};
    if (!node.IsMap()) fail(node, "'attributes' must be a mapping from names to attributes");
    std::vector<AttributeSchema> attributes;
    for (const auto& entry : node) {
      count_item(entry.first);
      attributes.push_back(read_attribute(entry.first, entry.second));
    }
    std::ranges::sort(attributes, {}, &AttributeSchema::name);
    const auto twice = std::ranges::adjacent_find(attributes, {}, &AttributeSchema::name);
    if (twice != attributes.end()) fail(node, fmt::format("the attribute {} is given twice", quote(twice->name)));
    return keep(storage_.attributes, std::move(attributes));
  }

  void read_operator(const YAML::Node& node) {
    expect_map(node, "an operator",
               {"name", "since_version", "deprecated", "experimental", "has_function_body", "non_deterministic",
                "inputs", "outputs", "attributes", "types", "meaning_change"});
    OpSchema schema;
    schema.domain = storage_.domain;
    schema.name = name(required(node, "name", "an operator"), "an operator's name");
    if (const YAML::Node since = node["since_version"]) schema.since_version = scalar<std::int32_t>(since, "a version");
    if (schema.since_version < 1) fail(node["since_version"], "versions start at 1");
    if (!versions_.emplace(schema.name, schema.since_version).second)
      fail(node, fmt::format("version {} of {} is given twice", schema.since_version, quote(schema.name)));
    schema.deprecated = flag(node, "deprecated");
    schema.experimental = flag(node, "experimental");
    schema.has_function_body = flag(node, "has_function_body");
    schema.non_deterministic = flag(node, "non_deterministic");
    if (const YAML::Node change = node["meaning_change"])
      schema.meaning_change = keep(text(change, "'meaning_change'"));

    auto constraints = read_constraints(node["types"]);
    const Side inputs = read_side(node["inputs"], "inputs", constraints);
    const Side outputs = read_side(node["outputs"], "outputs", constraints);
    schema.inputs = inputs.parameters;
    schema.outputs = outputs.parameters;
    std::tie(schema.min_inputs, schema.max_inputs) = std::pair(inputs.least, inputs.most);
    std::tie(schema.min_outputs, schema.max_outputs) = std::pair(outputs.least, outputs.most);
    schema.constraints = keep(storage_.constraints, std::move(constraints));
    schema.attributes = read_attributes(node["attributes"]);
    schema.has_subgraph = std::ranges::any_of(schema.attributes, [](const AttributeSchema& attribute) {
      return attribute.type == AttributeType::graph || attribute.type == AttributeType::graphs;
    });
    storage_.schemas.push_back(schema);
  }

  SchemaPack::Storage& storage_;
  std::set<std::pair<std::string_view, std::int32_t>> versions_;
  std::size_t items_ = 0;
};

Error pack_error(std::string_view source_name, const YAML::Mark& mark, const std::string& message) {
  Error error = make_error(error_code, mark.is_null() ? message : fmt::format("line {}: {}", mark.line + 1, message));
  error.diagnostic.location.file = source_name;
  return error;
}

}  // namespace

Result<SchemaPack> SchemaPack::from_yaml(std::string_view text, std::string_view source_name) {
  if (text.size() > max_bytes)
    return pack_error(source_name, YAML::Mark::null_mark(), fmt::format("more than {} MiB", max_bytes >> 20));
  auto storage = std::make_unique<Storage>();
  try {
    Reader(*storage).read(YAML::Load(std::string(text)));
  } catch (const Fault& fault) {
    return pack_error(source_name, fault.mark, fault.message);
  } catch (const YAML::Exception& exception) {
    return pack_error(source_name, exception.mark, "not YAML: " + exception.msg);
  } catch (const std::exception& exception) {
    return pack_error(source_name, YAML::Mark::null_mark(), exception.what());
  }
  return SchemaPack(std::move(storage));
}

Result<SchemaPack> SchemaPack::from_file(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  if (!file) return file.error();
  return from_yaml((*file)->view(), path.string());
}

std::string_view SchemaPack::domain() const { return storage_->domain; }
std::span<const OpSchema> SchemaPack::schemas() const { return storage_->schemas; }

SchemaPack::SchemaPack(std::unique_ptr<Storage> storage) : storage_(std::move(storage)) {}
SchemaPack::SchemaPack(SchemaPack&&) noexcept = default;
SchemaPack& SchemaPack::operator=(SchemaPack&&) noexcept = default;
SchemaPack::~SchemaPack() = default;

}  // namespace onnxkit::spec
