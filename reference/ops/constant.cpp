// Constant: the value of whichever attribute is there.
#include "reference/numerics/list.h"

namespace onnxkit::reference {
namespace {

Tensor value_of(const KernelContext& context) {
  if (const ir::Tensor* value = context.tensor("value")) return context.constant(*value);
  if (const ir::SparseTensor* sparse = context.sparse_tensor("sparse_value")) return context.constant(*sparse);
  if (const auto value = context.find_real("value_float"))
    return list<double>(context, ElementType::float32, std::vector{*value}).reshaped({});
  if (const auto* values = context.list_as_written<float>("value_floats"))
    return list<double>(context, ElementType::float32, *values);
  if (const auto value = context.find_integer("value_int"))
    return list<std::int64_t>(context, ElementType::int64, std::vector{*value}).reshaped({});
  if (const auto* values = context.list_as_written<std::int64_t>("value_ints"))
    return list<std::int64_t>(context, ElementType::int64, *values);
  if (context.has_attribute("value_string"))
    return list<std::string>(context, ElementType::string, std::vector{context.string("value_string")}).reshaped({});
  if (const auto* values = context.list_as_written<Text>("value_strings"))
    return list<std::string>(context, ElementType::string, *values);
  throw Fault("no attribute holds a value");
}

}  // namespace

void register_constant(KernelRegistry& registry) {
  registry.add("Constant", all_versions(), [](KernelContext& context) { context.set_output(0, value_of(context)); },
               {.noise = noise::exact, .sizes = SizeRole::constant});
}

}  // namespace onnxkit::reference
