// RotaryEmbedding and MRotaryEmbedding of com.microsoft; RotaryEmbedding of ai.onnx becomes other operators in the pass expand_operators.
#include <algorithm>

#include "libonnxkit/plan/attend.h"
#include "libonnxkit/plan/rotate.h"

namespace onnxkit::plan {
namespace {

struct Rotary {
  enum : std::size_t { x, positions, cosine_cache, sine_cache };
};

/// [batch, heads, rows, size]; nothing where the heads do not divide the last axis.
std::optional<View> heads_to_turn(LowerCall& call, const View& x) {
  if (x.rank() == 4) return x;
  std::int64_t heads = call.integer("num_heads");
  if (heads == 0 || call.integer("rotary_embedding_dim") == 0) {
    const Dims& cache = call.input_dims(Rotary::cosine_cache);
    if (x.rank() != 3 || cache.size() != 2 || cache[1] == 0 || x.dims[2] % (2 * cache[1]) != 0) return std::nullopt;
    heads = x.dims[2] / (2 * cache[1]);
  }
  return split_heads(call, x, heads);
}

/// One number is the position of the first row of each sequence.
std::optional<View> positions_of_rows(LowerCall& call, std::int64_t batch, std::int64_t rows) {
  const View given = call.input(Rotary::positions);
  if (given.size() != 1) return given.dims == Dims{batch, rows} ? std::optional(given) : std::nullopt;
  Expression e;
  e.apply(Operation::add, e.input(0, Lane::i64), e.input(1, Lane::i64));
  return mapped(call, e, {reshaped_or_copied(call, given, {1, 1}), positions_along(call, {batch, rows}, 1)},
                ElementType::int64, {batch, rows});
}

/// The heads turned, under the sizes of the input.
Unlowered give_turned(LowerCall& call, const Dims& dims, const View& heads, const std::optional<Angles>& angles) {
  if (!angles || 2 * angles->cosines.dims[3] > heads.dims[3]) return "caches of other sizes";
  const View result = turned(call, heads, *angles, call.integer("interleaved") != 0);
  call.set_output(0, dims.size() == 4 ? result : reshaped_or_copied(call, permuted(result, heads_before_rows), dims));
  return std::nullopt;
}

Unlowered lower_rotary_embedding(LowerCall& call) {
  const View x = call.as_real(call.input(Rotary::x));
  if (x.size() == 0) return "without elements";
  const auto heads = heads_to_turn(call, x);
  if (!heads) return "heads of other sizes";
  const auto positions = positions_of_rows(call, heads->dims[0], heads->dims[2]);
  if (!positions) return "positions of other sizes";
  const auto angles = angles_at(call, Rotary::cosine_cache, Rotary::sine_cache, *positions);
  return give_turned(call, x.dims, *heads, angles);
}

/// Parts of the angles at positions in time, height and width, one behind the other, or those of height and width in the second and third of three.
std::optional<Angles> angles_of_streams(LowerCall& call, const View& positions) {
  const auto sections = call.integers("mrope_section");
  const Dims cache = call.input_dims(Rotary::cosine_cache);
  const std::int64_t layout = call.integer("mrope_layout");
  if (!sections || sections->size() != 3 || cache.size() != 2 || layout < 0 || layout > 1) return std::nullopt;
  const bool is_interleaved = layout == 1;
  std::int64_t rest = cache[1];
  for (const std::int64_t size : *sections) {
    if (size < 0 || size > rest) return std::nullopt;
    rest -= size;
  }
  if (rest != 0) return std::nullopt;
  std::optional<Angles> whole;
  std::int64_t before = 0;
  for (std::int64_t stream = 0; stream < 3; ++stream) {
    const std::int64_t section = (*sections)[static_cast<std::size_t>(stream)];
    const auto angles = angles_at(call, Rotary::cosine_cache, Rotary::sine_cache, picked(positions, 0, stream));
    if (!angles) return std::nullopt;
    if (stream == 0 && is_interleaved) {
      whole = angles;
      continue;
    }
    const Dims& dims = angles->cosines.dims;
    if (!whole) whole = Angles{call.make(ElementType::float32, dims), call.make(ElementType::float32, dims)};
    const std::int64_t in_thirds = std::min(section, (cache[1] - stream + 2) / 3);
    const auto part = [&](const View& of) {
      return is_interleaved ? sliced(of, 3, stream, 3, in_thirds) : sliced(of, 3, before, 1, section);
    };
    if (section > 0) {
      call.emit_copy(part(angles->cosines), part(whole->cosines));
      call.emit_copy(part(angles->sines), part(whole->sines));
    }
    before += section;
  }
  return whole;
}

Unlowered lower_multimodal_rotary_embedding(LowerCall& call) {
  const View x = call.as_real(call.input(Rotary::x));
  if (x.size() == 0) return "without elements";
  if (call.integer("is_packed_batching") != 0) return "packed batches";
  const auto heads = heads_to_turn(call, x);
  if (!heads) return "heads of other sizes";
  if (call.input_dims(Rotary::positions) != Dims{3, heads->dims[0], heads->dims[2]}) return "positions of other sizes";
  const auto angles = angles_of_streams(call, call.input(Rotary::positions));
  return give_turned(call, x.dims, *heads, angles);
}

}  // namespace

void register_rotary_embedding(LoweringRegistry& registry);
void register_rotary_embedding(LoweringRegistry& registry) {
  registry.add("com.microsoft", "RotaryEmbedding", all_versions(), lower_rotary_embedding);
  registry.add("com.microsoft", "MRotaryEmbedding", all_versions(), lower_multimodal_rotary_embedding);
}

}  // namespace onnxkit::plan
