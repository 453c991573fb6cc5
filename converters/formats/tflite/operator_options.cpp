#include "converters/formats/tflite/operator_options.h"

#include <algorithm>
#include <string_view>

#include <flatbuffers/minireflect.h>
#include <fmt/format.h>

namespace onnxkit::tflite {
namespace {

using foreign::Argument;

struct OptionsOf {
  schema::BuiltinOperator op;
  schema::BuiltinOptions options;
};
/// Operators whose options are not named like them, or shared.
constexpr OptionsOf renamed_options[] = {
    {schema::BuiltinOperator_AVERAGE_POOL_2D, schema::BuiltinOptions_Pool2DOptions},
    {schema::BuiltinOperator_MAX_POOL_2D, schema::BuiltinOptions_Pool2DOptions},
    {schema::BuiltinOperator_L2_POOL_2D, schema::BuiltinOptions_Pool2DOptions},
    {schema::BuiltinOperator_MEAN, schema::BuiltinOptions_ReducerOptions},
    {schema::BuiltinOperator_SUM, schema::BuiltinOptions_ReducerOptions},
    {schema::BuiltinOperator_REDUCE_MAX, schema::BuiltinOptions_ReducerOptions},
    {schema::BuiltinOperator_REDUCE_MIN, schema::BuiltinOptions_ReducerOptions},
    {schema::BuiltinOperator_REDUCE_PROD, schema::BuiltinOptions_ReducerOptions},
    {schema::BuiltinOperator_REDUCE_ANY, schema::BuiltinOptions_ReducerOptions},
    {schema::BuiltinOperator_REDUCE_ALL, schema::BuiltinOptions_ReducerOptions},
    {schema::BuiltinOperator_BATCH_MATMUL, schema::BuiltinOptions_BatchMatMulOptions},
    {schema::BuiltinOperator_L2_NORMALIZATION, schema::BuiltinOptions_L2NormOptions},
    {schema::BuiltinOperator_CONV_3D_TRANSPOSE, schema::BuiltinOptions_Conv3DOptions},
};

/// "Conv2DOptions" of CONV_2D.
std::string options_name(std::string_view op) {
  std::string name;
  bool starts_word = true;
  for (const char c : op) {
    if (c == '_') {
      starts_word = true;
      continue;
    }
    const bool is_upper = c >= 'A' && c <= 'Z';
    name += is_upper && !starts_word ? static_cast<char>(c - 'A' + 'a') : c;
    starts_word = c >= '0' && c <= '9';
  }
  return name + "Options";
}

schema::BuiltinOptions options_type(schema::BuiltinOperator op) {
  const auto* known = std::find_if(std::begin(renamed_options), std::end(renamed_options),
                                   [&](const OptionsOf& row) { return row.op == op; });
  if (known != std::end(renamed_options)) return known->options;
  const std::string wanted = options_name(schema::EnumNameBuiltinOperator(op));
  for (const schema::BuiltinOptions type : schema::EnumValuesBuiltinOptions()) {
    const std::string_view name = schema::EnumNameBuiltinOptions(type);
    const bool fits = std::equal(name.begin(), name.end(), wanted.begin(), wanted.end(), [](char a, char b) {
      const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
      return lower(a) == lower(b);
    });
    if (fits) return type;
  }
  return schema::BuiltinOptions_NONE;
}

const flatbuffers::TypeTable* table_type(schema::BuiltinOptions type) {
  const flatbuffers::TypeTable* all = schema::BuiltinOptionsTypeTable();
  const std::int64_t at = flatbuffers::LookupEnum(type, all->values, all->num_elems);
  return at <= 0 || all->type_codes[at].sequence_ref < 0 ? nullptr : all->type_refs[all->type_codes[at].sequence_ref]();
}

void add_number(flatbuffers::FlatBufferBuilder& builder, flatbuffers::voffset_t slot, std::uint16_t base_type,
                double value) {
  switch (base_type) {
    case flatbuffers::ET_BOOL:
      return builder.AddElement<std::uint8_t>(slot, value != 0 ? 1 : 0, 0);
    case flatbuffers::ET_CHAR:
      return builder.AddElement<std::int8_t>(slot, static_cast<std::int8_t>(value), 0);
    case flatbuffers::ET_INT:
      return builder.AddElement<std::int32_t>(slot, static_cast<std::int32_t>(value), 0);
    default:
      return builder.AddElement<float>(slot, static_cast<float>(value), 0);
  }
}

}  // namespace

WrittenOptions write_options(flatbuffers::FlatBufferBuilder& builder, schema::BuiltinOperator op,
                             const std::vector<Argument>& arguments, const OptionNumber& number) {
  const schema::BuiltinOptions type = options_type(op);
  const flatbuffers::TypeTable* fields = type == schema::BuiltinOptions_NONE ? nullptr : table_type(type);
  if (!fields) return {};
  const auto find = [&](std::string_view field) {
    return std::find_if(arguments.begin(), arguments.end(), [&](const Argument& argument) {
      constexpr std::string_view ending = "_subgraph_index";
      return argument.name == field ||
             (argument.as<std::unique_ptr<foreign::Graph>>() && fmt::format("{}{}", argument.name, ending) == field);
    });
  };
  std::vector<flatbuffers::uoffset_t> lists(fields->num_elems, 0);
  for (std::size_t f = 0; f < fields->num_elems; ++f) {
    const auto argument = find(fields->names[f]);
    if (!fields->type_codes[f].is_repeating || argument == arguments.end()) continue;
    std::vector<std::int32_t> values;
    if (const auto* list = argument->as<Argument::List>())
      for (const Argument& item : *list) values.push_back(static_cast<std::int32_t>(number(item)));
    lists[f] = builder.CreateVector(values).o;
  }
  const flatbuffers::uoffset_t start = builder.StartTable();
  for (std::size_t f = 0; f < fields->num_elems; ++f) {
    const flatbuffers::voffset_t slot = flatbuffers::FieldIndexToOffset(static_cast<flatbuffers::voffset_t>(f));
    const auto argument = find(fields->names[f]);
    if (argument == arguments.end()) continue;
    if (fields->type_codes[f].is_repeating)
      builder.AddOffset(slot, flatbuffers::Offset<void>(lists[f]));
    else
      add_number(builder, slot, fields->type_codes[f].base_type, number(*argument));
  }
  return {type, flatbuffers::Offset<void>(builder.EndTable(start))};
}

}  // namespace onnxkit::tflite
