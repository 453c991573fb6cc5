#include "libonnxkit/inputs/bound_sizes.h"

#include <optional>

#include <fmt/core.h>

#include "libonnxkit/exec/value_desc.h"
#include "libonnxkit/ir/dim/dim.h"

namespace onnxkit::inputs {
namespace {

using NamedSizes = std::map<std::string, std::int64_t>;

class Binder {
 public:
  Binder(const ir::Graph& graph, const NamedSizes& sizes) : graph_(graph), sizes_(sizes) {}

  /// NamedSizes that stand for themselves, such as N.
  Result<void> bind(std::size_t input, std::size_t axis, std::int64_t size) {
    const ir::Dim dim = dim_of(input, axis);
    const auto symbols = pool_.symbols_in(dim);
    if (symbols.size() != 1) return {};
    const std::string& name = pool_.symbol(symbols.front()).name;
    if (dim != pool_.named(name)) return {};
    const auto [known, is_new] = sizes_.emplace(name, size);
    if (is_new) origins_.emplace(name, fmt::format("in input {}", quote(name_of(input))));
    if (known->second == size) return {};
    const auto origin = origins_.find(name);
    return contradiction(input, axis, size, known->second,
                         origin == origins_.end() ? "by a given size" : origin->second);
  }

  /// NamedSizes that follow from others, such as 2*N.
  Result<void> check(std::size_t input, std::size_t axis, std::int64_t size) {
    const auto expected = size_of(pool_, dim_of(input, axis), sizes_);
    return !expected || *expected == size ? Result<void>()
                                          : contradiction(input, axis, size, *expected, "by the other inputs");
  }

  NamedSizes take() { return std::move(sizes_); }

 private:
  std::string_view name_of(std::size_t input) const { return graph_.name_of(graph_.inputs[input].value); }

  const ir::DeclaredDim& declared(std::size_t input, std::size_t axis) const {
    return graph_.inputs[input].type->shape->dims[axis];
  }

  ir::Dim dim_of(std::size_t input, std::size_t axis) {
    const ir::DeclaredDim& dim = declared(input, axis);
    return dim.size() ? ir::Dim(*dim.size()) : pool_.from_dim_param(dim.param);
  }

  Error contradiction(std::size_t input, std::size_t axis, std::int64_t size, std::int64_t other,
                      const std::string& where) const {
    return exec::input_error("input-shape", graph_, input,
                             fmt::format("axis {} has size {}, but {} is {} {}", axis, size,
                                         quote(declared(input, axis).param.view()), other, where));
  }

  const ir::Graph& graph_;
  NamedSizes sizes_;
  std::map<std::string, std::string> origins_;
  ir::DimPool pool_;
};

/// Calls f(input, axis, size) for every axis of the tensors among `given` that have as many axes as is declared.
template <class F>
Result<void> for_each_axis(const ir::Graph& graph, std::span<const Value> given, const F& f) {
  for (std::size_t input = 0; input < std::min(given.size(), graph.inputs.size()); ++input) {
    const auto& type = graph.inputs[input].type;
    if (!given[input].is_tensor() || !type || !type->shape) continue;
    const auto& dims = given[input].tensor.dims();
    if (dims.size() != type->shape->dims.size()) continue;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      if (type->shape->dims[axis].size()) continue;  // backends compare these
      if (auto fits = f(input, axis, dims[axis]); !fits) return fits;
    }
  }
  return {};
}

}  // namespace

std::optional<std::int64_t> size_of(const ir::DimPool& pool, ir::Dim dim, const NamedSizes& sizes) {
  return pool.evaluate(dim, [&](std::string_view name) {
    const auto found = sizes.find(std::string(name));
    return found == sizes.end() ? std::nullopt : std::optional(found->second);
  });
}

Result<NamedSizes> bound_sizes(const ir::Graph& graph, std::span<const Value> given, const NamedSizes& sizes) {
  Binder binder(graph, sizes);
  const auto bind = [&](std::size_t input, std::size_t axis, std::int64_t size) {
    return binder.bind(input, axis, size);
  };
  const auto check = [&](std::size_t input, std::size_t axis, std::int64_t size) {
    return binder.check(input, axis, size);
  };
  if (auto bound = for_each_axis(graph, given, bind); !bound) return bound.error();
  if (auto checked = for_each_axis(graph, given, check); !checked) return checked.error();
  return binder.take();
}

}  // namespace onnxkit::inputs
