// Products of one value with several constant matrices, as those of queries, keys and values of an attention: one product with the matrices side by side,
// and a Split, which is views of its result. A constant bias behind a product goes along.
#include <algorithm>
#include <cstring>
#include <map>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/pass.h"
#include "libonnxkit/plan/rewriting.h"

namespace onnxkit::plan {
namespace {

class ProductJoining {
 public:
  explicit ProductJoining(Subject& subject) : subject_(subject), rewriting_(subject) {}

  bool run() {
    constexpr std::int64_t first_with_split_input = 13;
    if (subject_.opset() < first_with_split_input) return false;
    std::map<Key, std::vector<Product>> groups;
    for (std::size_t at = 0; at < subject_.graph().nodes.size(); ++at) {
      if (auto product = product_at(at)) groups[product->key].push_back(*std::move(product));
    }
    for (const auto& [key, products] : groups) {
      if (products.size() > 1) join(products);
    }
    return rewriting_.finish();
  }

 private:
  /// Products of one key can be joined.
  struct Key {
    ir::ValueId x = ir::ValueId::none;
    ElementType type = ElementType::undefined;
    std::int64_t rows = 0;  ///< of the matrices
    auto operator<=>(const Key&) const = default;
  };
  struct Product {
    Key key;
    std::size_t node = 0, last = 0;  ///< the same, or the Add of the bias
    ir::ValueId weights = ir::ValueId::none, bias = ir::ValueId::none;
    std::int64_t columns = 0;
  };

  std::optional<Product> product_at(std::size_t at) const {
    const ir::Node& node = subject_.graph().nodes[at];
    if (!Subject::is_op(node, "MatMul") || !subject_.is_constant(node.inputs[1])) return std::nullopt;
    const checker::Shape* const x = subject_.shape(node.inputs[0]);
    const auto w = subject_.dims(node.inputs[1]);
    const ElementType type = subject_.type(node.inputs[1]);
    if (!x || !w || x->size() < 2 || w->size() != 2 || !is_floating(type) || element_count(*w) == 0)
      return std::nullopt;
    Product made{.key = {.x = node.inputs[0], .type = type, .rows = (*w)[0]},
                 .node = at,
                 .last = at,
                 .weights = node.inputs[1],
                 .columns = (*w)[1]};
    add_bias(made);
    return made;
  }

  /// The Add that alone reads the product, when it adds one constant to each column.
  void add_bias(Product& product) const {
    const ir::ValueId result = subject_.graph().nodes[product.node].outputs[0];
    const auto add = only_reader(subject_, result, "Add");
    if (!add) return;
    const ir::Node& node = subject_.graph().nodes[*add];
    const auto bias = other_input(node, result);
    const auto dims = bias && subject_.is_constant(*bias) ? subject_.dims(*bias) : std::nullopt;
    if (!dims || dims->empty() || dims->back() != product.columns || element_count(*dims) != product.columns ||
        !subject_.same_shape(node.outputs[0], result))
      return;
    product.last = *add;
    product.bias = *bias;
  }

  /// The matrices with their columns side by side.
  std::optional<Tensor> weights_of(const std::vector<Product>& products, std::int64_t columns) const {
    const Key& key = products.front().key;
    const auto width = static_cast<std::size_t>(storage_bits(key.type)) / 8;
    const auto rows = static_cast<std::size_t>(key.rows), row_bytes = static_cast<std::size_t>(columns) * width;
    if (width == 0) return std::nullopt;
    std::vector<std::byte> bytes(rows * row_bytes);
    std::size_t begin = 0;
    for (const Product& product : products) {
      const auto content = subject_.content(product.weights);
      const std::size_t part = static_cast<std::size_t>(product.columns) * width;
      if (!content || content->bytes().size() != rows * part) return std::nullopt;
      for (std::size_t row = 0; row < rows; ++row)
        std::memcpy(bytes.data() + row * row_bytes + begin, content->bytes().data() + row * part, part);
      begin += part;
    }
    auto made = Tensor::from_bytes(key.type, {key.rows, columns}, std::move(bytes));
    return made ? std::optional(*std::move(made)) : std::nullopt;
  }

  /// Zeros for a product without one; empty when a bias cannot be read.
  std::vector<double> biases_of(const std::vector<Product>& products) const {
    std::vector<double> all;
    for (const Product& product : products) {
      std::vector<double> part(static_cast<std::size_t>(product.columns), 0);
      if (product.bias != ir::ValueId::none) {
        const auto content = subject_.content(product.bias);
        if (!content || content->size() != product.columns) return {};
        part = to_reals(*content);
      }
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  void join(const std::vector<Product>& products) {
    const Product& first = products.front();
    std::vector<std::int64_t> columns;
    std::int64_t total = 0;
    std::vector<ir::ValueId> results;
    for (const Product& product : products) {
      if (rewriting_.is_taken(product.node) || rewriting_.is_taken(product.last)) return;
      columns.push_back(product.columns);
      total += product.columns;
      results.push_back(subject_.graph().nodes[product.last].outputs[0]);
    }
    const auto weights = weights_of(products, total);
    const bool has_bias = std::any_of(products.begin(), products.end(),
                                      [](const Product& product) { return product.bias != ir::ValueId::none; });
    const std::vector<double> biases = has_bias ? biases_of(products) : std::vector<double>();
    if (!weights || (has_bias && biases.empty())) return;
    const std::string stem(subject_.graph().name_of(first.weights));
    ir::ValueId all =
        rewriting_.add(first.node, "MatMul", {first.key.x, rewriting_.constant(stem + "_joined", *weights)});
    if (has_bias) {
      const ir::ValueId bias = rewriting_.reals(stem + "_bias", first.key.type, {total}, biases);
      all = rewriting_.add(first.node, "Add", {all, bias});
    }
    rewriting_.patch().insert_before(
        first.node, ir::make_node(subject_.model(), "Split", {all, rewriting_.integers(columns)}, results,
                                  {{"axis", std::int64_t{-1}}}));
    take(products);
  }

  void take(const std::vector<Product>& products) {
    const ir::Graph& graph = subject_.graph();
    const std::string into = node_title(graph, graph.nodes[products.front().node]);
    for (const Product& product : products) {
      for (const std::size_t at : {product.node, product.last}) {
        if (rewriting_.is_taken(at)) continue;
        subject_.notes().taken.push_back({node_title(graph, graph.nodes[at]), into});
        rewriting_.took(at);
        rewriting_.patch().remove(at);
      }
    }
  }

  Subject& subject_;
  Rewriting rewriting_;
};

}  // namespace

void register_join_products(PassRegistry& registry);
void register_join_products(PassRegistry& registry) {
  registry.add({.name = "join_products",
                .stage = Stage::weights,
                .run = [](Subject& subject) -> Result<bool> { return ProductJoining(subject).run(); },
                .wants_few_steps = true});
}

}  // namespace onnxkit::plan
