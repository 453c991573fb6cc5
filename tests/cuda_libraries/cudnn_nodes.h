#pragma once

#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libonnxkit/cuda/libraries/cudnn.h"
#include "tests/cuda_libraries/memory.h"

// Descriptors of the stand-in for libcudnn: attributes as they were given, and tensors and pointwise operations read from them.
namespace onnxkit::cuda_libraries {

using namespace cuda::cudnn;
using Dims = std::vector<std::int64_t>;

constexpr Status not_finalized = 2004, attribute_type = 2010;

/// An attribute: its type and its elements as they were given.
struct Values {
  AttributeType type = AttributeType::int64;
  std::int64_t count = 0;
  std::vector<std::byte> bytes;
};

struct Node {
  DescriptorType type = DescriptorType::tensor;
  bool is_final = false;
  std::map<Attribute, Values> values;
  std::int64_t engine = 0;  ///< of configurations, engines and plans
  const Node* graph = nullptr;

  template <class T>
  std::vector<T> all(Attribute name) const {
    const auto found = values.find(name);
    if (found == values.end()) return {};
    std::vector<T> result(found->second.bytes.size() / sizeof(T));
    std::memcpy(result.data(), found->second.bytes.data(), result.size() * sizeof(T));
    return result;
  }
  template <class T>
  std::optional<T> one(Attribute name) const {
    const auto values_of = all<T>(name);
    return values_of.size() == 1 ? std::optional(values_of[0]) : std::nullopt;
  }
  const Node* node(Attribute name) const {
    const auto pointer = one<Descriptor>(name);
    return pointer ? static_cast<const Node*>(*pointer) : nullptr;
  }
};

bool is_live(const void* pointer);
/// Keeps the reason for cudnnGetLastErrorString.
Status refuse(Status status, std::string why);

struct State {
  std::mutex mutex;
  std::set<const void*> live;
  std::string error;
};
State& state();

std::size_t bytes_of(AttributeType type);

/// Which descriptor has an attribute, and its type.
struct Rule {
  DescriptorType owner;
  AttributeType type;
};
std::optional<Rule> rule_of(Attribute name);

struct Tensor {
  std::int64_t id = 0, alignment = 0;
  ElementType type = ElementType::float32;
  Dims dims, strides;    ///< of four axes; those of three get one of one element in front
  std::size_t rank = 4;  ///< as it was given
  bool is_virtual = false, is_by_value = false;
};
std::optional<Tensor> tensor_of(const Node* node);

struct Pointwise {
  PointwiseMode mode = PointwiseMode::add;
  ElementType precision = ElementType::float32;
  double upper = 0;
  std::int64_t axis = -1;
  Tensor x, y;
  std::optional<Tensor> b, t;
};
std::optional<Pointwise> pointwise_of(const Node& operation);
bool takes_two(PointwiseMode mode);

using Pointers = std::map<std::int64_t, void*>;
/// `index` with 0 where the tensor repeats.
double read(const Tensor& tensor, const Pointers& pointers, const std::int64_t (&index)[4]);

/// The attention of a graph, read and found sound: products around a softmax, as cuDNN's fused engines know it.
struct Attention {
  Tensor q, k, v, y, scale;
  std::optional<Tensor> mask, hidden;  ///< added to scores; the number in place of those behind the row
};
std::optional<Attention> attention_of(const Node& graph);
std::vector<const Tensor*> operands_of(const Attention& attention);
void compute(const Attention& attention, const Pointers& pointers);

}  // namespace onnxkit::cuda_libraries
