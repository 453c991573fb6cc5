// Stands in for libcudnn: keeps descriptors as attributes, refuses what NVIDIA's documentation does not allow, and computes graphs of a convolution
// and pointwise operations with plain loops. Its engines are two: one without and one with tensor cores, which computes float32 in TF32.
#include <algorithm>
#include <cmath>
#include <memory>

#include "tests/cuda_libraries/cudnn_nodes.h"

namespace {

using namespace onnxkit::cuda_libraries;
using onnxkit::ElementType;

struct Convolution {
  Tensor x, w, y;
  Dims strides, dilations, pre, post;
};

std::optional<Convolution> convolution_of(const Node& operation) {
  const Node* description = operation.node(Attribute::forward_convolution);
  const auto x = tensor_of(operation.node(Attribute::forward_x)), w = tensor_of(operation.node(Attribute::forward_w)),
             y = tensor_of(operation.node(Attribute::forward_y));
  if (!description || !description->is_final || !x || !w || !y) return std::nullopt;
  Convolution c{.x = *x,
                .w = *w,
                .y = *y,
                .strides = description->all<std::int64_t>(Attribute::convolution_strides),
                .dilations = description->all<std::int64_t>(Attribute::convolution_dilations),
                .pre = description->all<std::int64_t>(Attribute::convolution_pre_padding),
                .post = description->all<std::int64_t>(Attribute::convolution_post_padding)};
  const auto is = [&](Attribute name, double value) {
    return x->type == ElementType::float64 ? operation.one<double>(name) == value
                                           : operation.one<float>(name) == static_cast<float>(value);
  };
  if (!is(Attribute::forward_alpha, 1) || !is(Attribute::forward_beta, 0)) return std::nullopt;
  // Groups follow from the channels; sizes must be those that the parameters give.
  if (c.x.dims[1] % c.w.dims[1] != 0 || c.y.dims[1] != c.w.dims[0] || c.y.dims[0] != c.x.dims[0] ||
      c.w.dims[0] % (c.x.dims[1] / c.w.dims[1]) != 0 || c.x.type != c.w.type)
    return std::nullopt;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t reach = (c.w.dims[axis + 2] - 1) * c.dilations[axis] + 1;
    const std::int64_t size = (c.x.dims[axis + 2] + c.pre[axis] + c.post[axis] - reach) / c.strides[axis] + 1;
    if (size != c.y.dims[axis + 2]) return std::nullopt;
  }
  return c;
}

/// A product of two matrices of three axes.
struct Product {
  Tensor a, b, y;
};

std::optional<Product> product_of(const Node& operation) {
  const Node* description = operation.node(Attribute::operation_product);
  const auto a = tensor_of(operation.node(Attribute::product_a)), b = tensor_of(operation.node(Attribute::product_b)),
             y = tensor_of(operation.node(Attribute::product_c));
  if (!description || description->one<DataType>(Attribute::product_precision) != DataType::f32 || !a || !b || !y)
    return std::nullopt;
  // cuDNN 9.26 has no engine for a chain behind a product of four axes.
  if (a->rank != 3 || b->rank != 3 || y->rank != 3 || a->type != b->type) return std::nullopt;
  const bool fits = a->dims[1] == b->dims[1] && a->dims[1] == y->dims[1] && a->dims[3] == b->dims[2] &&
                    y->dims[2] == a->dims[2] && y->dims[3] == b->dims[3];
  return fits ? std::optional(Product{*a, *b, *y}) : std::nullopt;
}

/// A graph, read and found sound: an attention, or one convolution or product, then pointwise operations each on the result before.
struct Graph {
  std::optional<Attention> attention;
  std::optional<Product> product;
  Convolution convolution;
  std::vector<Pointwise> pointwise;

  const Tensor& output() const {
    return !pointwise.empty() ? pointwise.back().y : product ? product->y : convolution.y;
  }
  std::vector<const Tensor*> operands() const {
    if (attention) return operands_of(*attention);
    std::vector<const Tensor*> all = {product ? &product->a : &convolution.x, product ? &product->b : &convolution.w,
                                      &output()};
    for (const Pointwise& p : pointwise)
      if (p.b) all.push_back(&*p.b);
    return all;
  }
};

/// Of a chain behind a convolution.
bool is_known(PointwiseMode mode) {
  using Mode = PointwiseMode;
  for (const Mode one : {Mode::add, Mode::multiply, Mode::minimum, Mode::relu, Mode::tanh, Mode::sigmoid, Mode::gelu,
                         Mode::swish, Mode::gelu_tanh})
    if (mode == one) return true;
  return false;
}

std::optional<Graph> graph_of(const Node& node) {
  Graph graph;
  graph.attention = attention_of(node);
  if (graph.attention) return graph;
  std::set<std::int64_t> ids;
  std::int64_t now = 0;
  const auto operations = node.all<Descriptor>(Attribute::graph_operations);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Node& operation = *static_cast<const Node*>(operations[i]);
    const bool is_last = i + 1 == operations.size();
    const Tensor* y = nullptr;
    if (i == 0 && operation.type == DescriptorType::product_operation) {
      graph.product = product_of(operation);
      if (!graph.product) return std::nullopt;
      y = &graph.product->y;
      ids = {graph.product->a.id, graph.product->b.id};
    } else if (i == 0) {
      const auto convolution = convolution_of(operation);
      if (operation.type != DescriptorType::convolution_operation || !convolution) return std::nullopt;
      graph.convolution = *convolution;
      y = &graph.convolution.y;
      ids = {convolution->x.id, convolution->w.id};
    } else {
      const auto pointwise = pointwise_of(operation);
      if (operation.type != DescriptorType::pointwise_operation || !pointwise || pointwise->x.id != now ||
          !is_known(pointwise->mode))
        return std::nullopt;
      graph.pointwise.push_back(*pointwise);
      y = &graph.pointwise.back().y;
      if (pointwise->b && !ids.insert(pointwise->b->id).second) return std::nullopt;
    }
    now = y->id;
    if (!ids.insert(now).second || y->is_virtual == is_last) return std::nullopt;
  }
  return operations.empty() ? std::nullopt : std::optional(graph);
}

double activated(const Pointwise& p, double x) {
  switch (p.mode) {
    case PointwiseMode::relu:
      return std::isnan(x) ? x : std::min(std::max(x, 0.0), p.upper);
    case PointwiseMode::tanh:
      return std::tanh(x);
    case PointwiseMode::sigmoid:
      return 1 / (1 + std::exp(-x));
    case PointwiseMode::swish:
      return x / (1 + std::exp(-x));
    case PointwiseMode::gelu:
      return 0.5 * x * (1 + std::erf(x * 0.7071067811865476));
    default:
      return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
  }
}

double sum_at(const Convolution& c, const Pointers& pointers, const std::int64_t (&index)[4], bool is_tf32) {
  const std::int64_t channels = c.w.dims[1], filters = c.y.dims[1] / (c.x.dims[1] / channels);
  double sum = 0;
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    for (std::int64_t i = 0; i < c.w.dims[2]; ++i) {
      for (std::int64_t j = 0; j < c.w.dims[3]; ++j) {
        const std::int64_t row = index[2] * c.strides[0] + i * c.dilations[0] - c.pre[0];
        const std::int64_t column = index[3] * c.strides[1] + j * c.dilations[1] - c.pre[1];
        if (row < 0 || row >= c.x.dims[2] || column < 0 || column >= c.x.dims[3]) continue;
        double a = read(c.x, pointers, {index[0], index[1] / filters * channels + channel, row, column});
        double b = read(c.w, pointers, {index[1], channel, i, j});
        if (is_tf32) a = onnxkit::cuda_libraries::as_tf32(a), b = onnxkit::cuda_libraries::as_tf32(b);
        sum += a * b;
      }
    }
  }
  return sum;
}

double sum_at(const Product& p, const Pointers& pointers, const std::int64_t (&index)[4]) {
  double sum = 0;
  for (std::int64_t k = 0; k < p.a.dims[3]; ++k)
    sum += read(p.a, pointers, {0, index[1], index[2], k}) * read(p.b, pointers, {0, index[1], k, index[3]});
  return sum;
}

void compute(const Graph& graph, const Pointers& pointers, bool is_tf32) {
  const Tensor& y = graph.output();
  for (std::int64_t at = 0; at < y.dims[0] * y.dims[1] * y.dims[2] * y.dims[3]; ++at) {
    const std::int64_t index[4] = {at / (y.dims[1] * y.dims[2] * y.dims[3]), at / (y.dims[2] * y.dims[3]) % y.dims[1],
                                   at / y.dims[3] % y.dims[2], at % y.dims[3]};
    double value =
        graph.product ? sum_at(*graph.product, pointers, index) : sum_at(graph.convolution, pointers, index, is_tf32);
    for (const Pointwise& p : graph.pointwise) {
      const double b = p.b ? read(*p.b, pointers, index) : 0;
      if (p.mode == PointwiseMode::add) value += b;
      if (p.mode == PointwiseMode::multiply) value *= b;
      if (p.mode == PointwiseMode::minimum) value = std::min(value, b);
      if (!takes_two(p.mode)) value = activated(p, value);
    }
    std::int64_t place = 0;
    for (std::size_t axis = 0; axis < 4; ++axis) place += index[axis] * y.strides[axis];
    onnxkit::cuda_libraries::set_element(y.type, pointers.at(y.id), place, value);
  }
}

/// What the precompiled engines of cuDNN fuse in float32: an addend, a bias, then relu.
bool is_fused_form(const Graph& graph) {
  std::vector<PointwiseMode> modes;
  for (const Pointwise& p : graph.pointwise) modes.push_back(p.mode);
  if (!modes.empty() && modes.back() == PointwiseMode::relu) modes.pop_back();
  const bool only_adds =
      std::all_of(modes.begin(), modes.end(), [](PointwiseMode mode) { return mode == PointwiseMode::add; });
  return modes.size() <= 2 && only_adds && (modes.size() < 2 || graph.pointwise[0].b->dims == graph.convolution.y.dims);
}

std::vector<std::int64_t> engines_of(const Graph& graph, HeuristicMode mode) {
  if (graph.attention || graph.product) return {1};
  const bool is_double = graph.convolution.x.type == ElementType::float64;
  if (is_double) return {};
  if (graph.convolution.x.type == ElementType::float32 && !is_fused_form(graph)) return {1};
  return mode == HeuristicMode::a ? std::vector<std::int64_t>{1, 0} : std::vector<std::int64_t>{0};
}

constexpr std::int64_t workspace_bytes = 256;

Status finalize(Node& node) {
  switch (node.type) {
    case DescriptorType::tensor:
      if (!tensor_of(&node)) return refuse(bad_parameter, "a tensor without type, sizes, strides, number or alignment");
      break;
    case DescriptorType::pointwise: {
      const auto mode = node.one<PointwiseMode>(Attribute::pointwise_mode);
      if (!mode || !node.one<DataType>(Attribute::pointwise_precision)) return refuse(bad_parameter, "no mode");
      if (node.values.contains(Attribute::pointwise_relu_upper) && *mode != PointwiseMode::relu)
        return refuse(bad_parameter, "a bound of another mode than relu");
      break;
    }
    case DescriptorType::convolution: {
      const auto axes = node.one<std::int64_t>(Attribute::convolution_axes);
      for (const auto name : {Attribute::convolution_strides, Attribute::convolution_dilations,
                              Attribute::convolution_pre_padding, Attribute::convolution_post_padding})
        if (axes != 2 || node.all<std::int64_t>(name).size() != 2) return refuse(bad_parameter, "not of two axes");
      break;
    }
    case DescriptorType::convolution_operation:
      if (!convolution_of(node)) return refuse(bad_parameter, "sizes that do not fit the convolution");
      break;
    case DescriptorType::pointwise_operation:
      if (!pointwise_of(node)) return refuse(bad_parameter, "operands that do not fit the mode");
      break;
    case DescriptorType::product:
      if (!node.one<DataType>(Attribute::product_precision)) return refuse(bad_parameter, "no precision");
      break;
    case DescriptorType::reduction:
      if (!node.one<DataType>(Attribute::reduction_precision) || !node.one<ReductionMode>(Attribute::reduction_mode))
        return refuse(bad_parameter, "no mode or no precision");
      break;
    case DescriptorType::product_operation:
      for (const auto name : {Attribute::product_a, Attribute::product_b, Attribute::product_c})
        if (!tensor_of(node.node(name))) return refuse(bad_parameter, "no factor or no result");
      if (!node.node(Attribute::operation_product)) return refuse(bad_parameter, "no description");
      break;
    case DescriptorType::reduction_operation:
      for (const auto name : {Attribute::reduction_x, Attribute::reduction_y})
        if (!tensor_of(node.node(name))) return refuse(bad_parameter, "no operand or no result");
      if (!node.node(Attribute::operation_reduction)) return refuse(bad_parameter, "no description");
      break;
    case DescriptorType::operation_graph:
      if (!graph_of(node))
        return refuse(not_supported,
                      "a graph that is neither a chain behind a convolution or a product nor an attention");
      break;
    case DescriptorType::heuristic:
      if (!node.node(Attribute::heuristic_graph) || !node.node(Attribute::heuristic_graph)->is_final)
        return refuse(not_finalized, "no graph");
      break;
    case DescriptorType::execution_plan:
      if (!node.node(Attribute::plan_configuration) || !node.one<Handle>(Attribute::plan_handle))
        return refuse(bad_parameter, "no engine or no handle");
      node.engine = node.node(Attribute::plan_configuration)->engine;
      node.graph = node.node(Attribute::plan_configuration)->graph;
      break;
    case DescriptorType::variant_pack:
      if (node.all<std::int64_t>(Attribute::pack_ids).size() != node.all<void*>(Attribute::pack_pointers).size())
        return refuse(bad_parameter, "pointers that are not as many as numbers of tensors");
      break;
    default:
      return refuse(bad_parameter, "nothing to finalize");
  }
  node.is_final = true;
  return success;
}

template <class T>
Status give(std::int64_t room, std::int64_t* count, void* values, const std::vector<T>& all) {
  if (count) *count = static_cast<std::int64_t>(all.size());
  if (room > 0 && !all.empty())
    std::memcpy(
        values, all.data(),
        sizeof(T) * static_cast<std::size_t>(std::min<std::int64_t>(room, static_cast<std::int64_t>(all.size()))));
  return success;
}

/// The descriptors that the caller made are filled, as many as there are.
Status give_configurations(const Node& heuristic, std::int64_t room, std::int64_t* count, void* values) {
  const Node* graph = heuristic.node(Attribute::heuristic_graph);
  const auto engines = engines_of(*graph_of(*graph), *heuristic.one<HeuristicMode>(Attribute::heuristic_mode));
  *count = static_cast<std::int64_t>(engines.size());
  if (room == 0) return success;
  *count = std::min(*count, room);
  auto* const nodes = static_cast<Node**>(values);
  for (std::int64_t i = 0; i < *count; ++i) {
    if (!is_live(nodes[i]) || nodes[i]->type != DescriptorType::engine_configuration)
      return refuse(bad_parameter, "results are not descriptors of configurations");
    nodes[i]->engine = engines[static_cast<std::size_t>(i)];
    nodes[i]->graph = graph;
    nodes[i]->is_final = true;
  }
  return success;
}

struct HandleState {
  onnxkit::cuda::DriverStream stream = nullptr;
};

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT std::size_t cudnnGetVersion() { return 90100; }
EXPORT std::size_t onnxkit_cudnn_live() {
  const std::scoped_lock lock(state().mutex);
  return state().live.size();
}
EXPORT void cudnnGetLastErrorString(char* message, std::size_t bytes) {
  const std::scoped_lock lock(state().mutex);
  const std::size_t length = std::min(bytes - 1, state().error.size());
  std::memcpy(message, state().error.data(), length);
  message[length] = '\0';
}
EXPORT Status cudnnCreate(Handle* handle) {
  auto* const made = new HandleState();
  const std::scoped_lock lock(state().mutex);
  state().live.insert(made);
  *handle = reinterpret_cast<Handle>(made);
  return success;
}
EXPORT Status cudnnDestroy(Handle handle) {
  const std::scoped_lock lock(state().mutex);
  if (state().live.erase(handle) == 0) return bad_parameter;
  delete reinterpret_cast<HandleState*>(handle);
  return success;
}
EXPORT Status cudnnSetStream(Handle handle, onnxkit::cuda::DriverStream stream) {
  if (!is_live(handle)) return bad_parameter;
  reinterpret_cast<HandleState*>(handle)->stream = stream;
  return success;
}
EXPORT Status cudnnBackendCreateDescriptor(DescriptorType type, Descriptor* descriptor) {
  auto* const node = new Node();
  node->type = type;
  const std::scoped_lock lock(state().mutex);
  state().live.insert(node);
  *descriptor = node;
  return success;
}
EXPORT Status cudnnBackendDestroyDescriptor(Descriptor descriptor) {
  const std::scoped_lock lock(state().mutex);
  if (state().live.erase(descriptor) == 0) return bad_parameter;
  delete static_cast<Node*>(descriptor);
  return success;
}
EXPORT Status cudnnBackendFinalize(Descriptor descriptor) {
  return is_live(descriptor) ? finalize(*static_cast<Node*>(descriptor)) : bad_parameter;
}
EXPORT Status cudnnBackendSetAttribute(Descriptor descriptor, Attribute name, AttributeType type, std::int64_t count,
                                       const void* values) {
  if (!is_live(descriptor) || count < 1 || !values) return refuse(bad_parameter, "no descriptor or no values");
  auto& node = *static_cast<Node*>(descriptor);
  const auto rule = rule_of(name);
  if (!rule || rule->owner != node.type || node.is_final)
    return refuse(not_supported, "an attribute of another descriptor, or of a finalized one");
  const bool is_factor = name == Attribute::forward_alpha || name == Attribute::forward_beta;
  if (rule->type != type && !(is_factor && type == AttributeType::f64))
    return refuse(attribute_type, "an attribute of another type");
  if (type == AttributeType::descriptor) {
    for (std::int64_t i = 0; i < count; ++i)
      if (const void* one = static_cast<void* const*>(values)[i];
          !is_live(one) || !static_cast<const Node*>(one)->is_final)
        return refuse(not_finalized, "a descriptor that is not finalized");
  }
  const auto* first = static_cast<const std::byte*>(values);
  node.values[name] = {
      .type = type, .count = count, .bytes = {first, first + static_cast<std::size_t>(count) * bytes_of(type)}};
  return success;
}
EXPORT Status cudnnBackendGetAttribute(Descriptor descriptor, Attribute name, AttributeType, std::int64_t room,
                                       std::int64_t* count, void* values) {
  if (!is_live(descriptor) || !static_cast<Node*>(descriptor)->is_final) return refuse(not_finalized, "not finalized");
  const auto& node = *static_cast<Node*>(descriptor);
  if (node.type == DescriptorType::heuristic && name == Attribute::heuristic_results)
    return give_configurations(node, room, count, values);
  if (node.type == DescriptorType::engine_configuration && name == Attribute::configuration_engine) {
    auto* const engine = *static_cast<Node**>(values);
    if (!is_live(engine) || engine->type != DescriptorType::engine) return bad_parameter;
    engine->engine = node.engine;
    engine->is_final = true;
    return success;
  }
  if (node.type == DescriptorType::engine && name == Attribute::engine_notes)
    return give(room, count, values,
                node.engine == 1 ? std::vector{NumericalNote::tensor_core} : std::vector<NumericalNote>());
  if (node.type == DescriptorType::engine && name == Attribute::engine_number)
    return give(room, count, values, std::vector{node.engine});
  if (node.type == DescriptorType::execution_plan && name == Attribute::plan_workspace)
    return give(room, count, values, std::vector{node.engine == 0 ? workspace_bytes : std::int64_t{0}});
  return refuse(not_supported, "an attribute that cannot be read");
}

EXPORT Status cudnnBackendExecute(Handle handle, Descriptor plan, Descriptor pack) {
  if (!is_live(handle) || !is_live(plan) || !is_live(pack)) return refuse(bad_parameter, "no plan or no pack");
  const auto &node = *static_cast<const Node*>(plan), &given = *static_cast<const Node*>(pack);
  if (!node.is_final || !given.is_final) return refuse(not_finalized, "not finalized");
  const auto graph = graph_of(*node.graph);
  if (!graph) return refuse(bad_parameter, "the graph of the plan is no more");
  const auto ids = given.all<std::int64_t>(Attribute::pack_ids);
  const auto all = given.all<void*>(Attribute::pack_pointers);
  Pointers pointers;
  for (std::size_t i = 0; i < ids.size(); ++i) pointers[ids[i]] = all[i];
  const std::vector<const Tensor*> wanted = graph->operands();
  std::vector<std::pair<std::int64_t, float>> numbers;
  for (const Tensor* tensor : wanted) {
    const auto found = pointers.find(tensor->id);
    if (found == pointers.end() ||
        !onnxkit::cuda_libraries::is_aligned(found->second, static_cast<std::uint64_t>(tensor->alignment)))
      return refuse(bad_parameter, "a tensor without a pointer, or one that is not aligned as it was said");
    // A number of the host is read now, not when the work is done.
    if (tensor->is_by_value) numbers.emplace_back(tensor->id, *static_cast<const float*>(found->second));
  }
  if (pointers.size() != wanted.size()) return refuse(bad_parameter, "pointers that no tensor has");
  void* const workspace = given.one<void*>(Attribute::pack_workspace).value_or(nullptr);
  if (node.engine == 0 && !workspace) return refuse(bad_parameter, "no workspace");
  const bool is_tf32 = node.engine == 1 && graph->convolution.x.type == ElementType::float32;
  const bool writes = node.engine == 0;
  const bool queued = onnxkit::cuda_libraries::run_on(
      reinterpret_cast<HandleState*>(handle)->stream,
      [graph = *graph, pointers, numbers = std::move(numbers), is_tf32, writes, workspace]() mutable {
        Pointers places = pointers;
        for (auto& [id, value] : numbers) places[id] = &value;
        if (graph.attention)
          onnxkit::cuda_libraries::compute(*graph.attention, places);
        else
          compute(graph, places, is_tf32);
        constexpr int scribble = 0x5a;
        if (writes) std::memset(workspace, scribble, static_cast<std::size_t>(workspace_bytes));
      });
  return queued ? success : refuse(bad_parameter, "the stream takes no work");
}
