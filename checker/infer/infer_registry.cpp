#include "checker/infer/infer_registry.h"

#include "libonnxkit/ir/scope.h"

namespace onnxkit::checker {

void register_all_ops(InferRegistry& registry);

const InferRegistry& infer_registry() {
  static const InferRegistry registry = [] {
    InferRegistry all;
    register_all_ops(all);
    return all;
  }();
  return registry;
}

const InferTraits& traits_of(const ir::Node& node, std::span<const ir::OpsetImport> opsets,
                             const spec::OpTable& table) {
  static const InferTraits none{};
  const std::string_view domain = ir::canonical_domain(node.domain);
  const auto opset = ir::opset_of(opsets, domain);
  const spec::OpSchema* schema = opset ? table.find_with_additions(domain, node.op_type, *opset) : nullptr;
  return schema ? infer_registry().traits(schema->domain, schema->name, schema->since_version) : none;
}

}  // namespace onnxkit::checker
