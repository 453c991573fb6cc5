#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/element_type.h"

// Signatures are data: what the official schemas (and YAML schema packs) say of an operator, in a form that a
// constexpr table can hold. Everything here is a view; the table or the pack owns the storage.
namespace onnxkit::spec {

/// The types a formal parameter may have. One bit per ElementType number in each mask.
struct TypeSet {
  std::uint32_t tensor = 0;             ///< tensor(T)
  std::uint32_t sequence = 0;           ///< seq(tensor(T))
  std::uint32_t optional = 0;           ///< optional(tensor(T))
  std::uint32_t optional_sequence = 0;  ///< optional(seq(tensor(T)))
  std::uint32_t sparse = 0;             ///< sparse_tensor(T)
  std::uint32_t map = 0;                ///< bit per MapType: map(K, V)
  std::uint32_t sequence_map = 0;       ///< bit per MapType: seq(map(K, V))

  constexpr bool operator==(const TypeSet&) const = default;
  constexpr bool empty() const { return *this == TypeSet{}; }
};

/// The map types that schemas name, as bits of TypeSet::map and TypeSet::sequence_map.
struct MapType {
  ElementType key;
  ElementType value;
};
inline constexpr MapType map_types[] = {
    {ElementType::int64, ElementType::string},   {ElementType::int64, ElementType::float32},
    {ElementType::int64, ElementType::float64},  {ElementType::string, ElementType::int64},
    {ElementType::string, ElementType::float32}, {ElementType::string, ElementType::float64},
};

/// The forms that hold an element type, as members of TypeSet.
enum class TypeForm : std::uint8_t { tensor, sequence, optional, optional_sequence, sparse };

bool contains(const TypeSet& set, TypeForm form, ElementType element);
bool contains_map(const TypeSet& set, ElementType key, ElementType value);
bool contains_sequence_of_map(const TypeSet& set, ElementType key, ElementType value);

TypeSet united(const TypeSet& a, const TypeSet& b);
/// The types of `a` that `b` lacks.
TypeSet without(const TypeSet& a, const TypeSet& b);

/// Each type as ONNX spells it, "tensor(float)" or "seq(map(int64,tensor(float)))": tensors first, by element type number.
std::vector<std::string> type_strings(const TypeSet& set);
/// As messages spell types: "float, seq(double), map(int64, string)"; beyond `limit` the rest is counted: "float, uint8 and 9 more".
std::string describe(const TypeSet& set, std::size_t limit = 12);
/// Shorter and complete, for people: "tensor(float, double), seq(tensor(float, double))".
std::string describe_by_form(const TypeSet& set);
/// The set of that one type; nullopt when `text` is no type that a schema can name. Blanks and the older spelling map(int64, float)
/// are understood.
std::optional<TypeSet> type_named(std::string_view text);

struct TypeConstraint {
  std::string_view name;  ///< "T"; a parameter of type "tensor(int64)" has a constraint of that name
  TypeSet allowed;
};

enum class Arity : std::uint8_t { single, optional, variadic };

struct FormalParameter {
  std::string_view name;
  std::uint16_t constraint;  ///< index into OpSchema::constraints
  Arity arity = Arity::single;
  bool homogeneous = true;      ///< all actuals of a variadic parameter have one type
  std::uint16_t min_arity = 1;  ///< least number of actuals of a variadic parameter
};

/// Numbered as AttributeProto.AttributeType.
enum class AttributeType : std::uint8_t {
  undefined = 0,
  real = 1,
  integer = 2,
  string = 3,
  tensor = 4,
  graph = 5,
  reals = 6,
  integers = 7,
  strings = 8,
  tensors = 9,
  graphs = 10,
  sparse_tensor = 11,
  sparse_tensors = 12,
  type_proto = 13,
  type_protos = 14,
};

/// "float", "ints", "sparse_tensor" ...; "undefined" for numbers outside the enumeration.
std::string_view name_of(AttributeType type);
std::optional<AttributeType> attribute_type_named(std::string_view name);

/// Default of an attribute; the member that the attribute's type names is the one that counts.
struct AttributeDefault {
  std::int64_t integer = 0;
  float real = 0;
  std::string_view string = {};
  std::span<const std::int64_t> integers = {};
  std::span<const float> reals = {};
  std::span<const std::string_view> strings = {};
};

struct AttributeSchema {
  std::string_view name;
  AttributeType type;
  bool required = false;
  bool has_default = false;
  AttributeDefault default_value = {};  ///< empty for tensors, of which only the presence is told
  /// Values a string attribute (or each element of a string list) may take; empty when any. Official schemas do not
  /// say this, so it comes from `string_enums.yaml` beside the generator.
  std::span<const std::string_view> allowed_strings = {};
};

bool operator==(const AttributeSchema& a, const AttributeSchema& b);

/// The default as ONNX text writes it: 0.01, 1, "NOTSET", [0, 2, 3]; empty without one.
std::string default_text(const AttributeSchema& attribute);

inline constexpr std::uint16_t no_limit = 0xffff;

struct OpSchema {
  std::string_view domain;  ///< "" for ai.onnx
  std::string_view name;
  std::int32_t since_version = 1;
  bool deprecated = false;  ///< as ONNX says; OpTable::is_removed tells whether the operator is gone
  bool experimental = false;
  bool has_function_body = false;
  bool non_deterministic = false;  ///< equal inputs may give different outputs (also when a subgraph of it may)
  std::uint16_t min_inputs = 0, max_inputs = 0;  ///< max may be no_limit
  std::uint16_t min_outputs = 0, max_outputs = 0;
  std::span<const FormalParameter> inputs = {};
  std::span<const FormalParameter> outputs = {};
  std::span<const AttributeSchema> attributes = {};  ///< sorted by name
  std::span<const TypeConstraint> constraints = {};
  bool has_subgraph = false;  ///< some attribute is a graph
  /// The runtime that defines this version in a domain of the ONNX standard, which does not have it: "ONNX Runtime" for
  /// SimplifiedLayerNormalization of ai.onnx. Empty for versions of the standard, and in all other domains.
  std::string_view added_by = {};
  /// What this version changed in meaning where signatures do not show it; several joined by "; ". Often empty.
  std::string_view meaning_change = {};

  const AttributeSchema* find_attribute(std::string_view attribute) const;
  /// Formal parameter for actual input/output `index` (the last one when variadic); null when there is none.
  const FormalParameter* input_at(std::size_t index) const;
  const FormalParameter* output_at(std::size_t index) const;
  const TypeSet& types_of(const FormalParameter& parameter) const { return constraints[parameter.constraint].allowed; }
  /// The constraint's name: "T", or a type such as "tensor(int64)".
  std::string_view type_name_of(const FormalParameter& parameter) const {
    return constraints[parameter.constraint].name;
  }
};

}  // namespace onnxkit::spec
