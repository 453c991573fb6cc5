// com.microsoft: normalization of sums, of embeddings and of groups of channels.
#include <cmath>

#include <fmt/core.h>

#include "reference/kernels/axes.h"
#include "reference/noise/noise.h"
#include "reference/numerics/reals.h"

namespace onnxkit::reference {
namespace {

struct Moments {
  double mean, inverse_deviation;
};

/// Of the elements of a row; around 0 instead of the mean for root mean squares.
Moments moments(std::span<const double> row, double epsilon, bool centered) {
  double mean = 0, square = 0;
  if (centered) {
    for (const double x : row) mean += x;
    mean /= static_cast<double>(row.size());
  }
  for (const double x : row) square += (x - mean) * (x - mean);
  return {mean, 1 / std::sqrt(square / static_cast<double>(row.size()) + epsilon)};
}

struct Normalized {
  Tensor y, mean, inverse_deviation;
};

/// Rows of the last axis, scaled by gamma and shifted by beta where given.
Normalized normalize_rows_microsoft(const KernelContext& context, const Tensor& x, const Tensor& gamma,
                                    const Tensor* beta, bool centered, ElementType type) {
  require(x.rank() > 0 && gamma.size() == x.dims().back(), "gamma must have one element per column");
  require(!beta || beta->size() == gamma.size(), "beta must have one element per column");
  const double epsilon = context.real("epsilon", 1e-12F);
  Dims dims = x.dims();
  dims.back() = 1;
  Normalized result{context.make(type, x.dims()), context.make(ElementType::float32, dims),
                    context.make(ElementType::float32, dims)};
  const auto length = static_cast<std::size_t>(gamma.size());
  const std::span<double> out = result.y.write<double>(), mean = result.mean.write<double>();
  const std::span<double> deviation = result.inverse_deviation.write<double>();
  const std::span<const double> in = x.as<double>(), scale = gamma.as<double>();
  for (std::size_t r = 0; r < mean.size() && length > 0; ++r) {
    const Moments of_row = moments(in.subspan(r * length, length), epsilon, centered);
    mean[r] = of_row.mean;
    deviation[r] = of_row.inverse_deviation;
    for (std::size_t i = 0; i < length; ++i) {
      const double normal = (in[r * length + i] - of_row.mean) * of_row.inverse_deviation * scale[i];
      out[r * length + i] = normal + (beta ? beta->as<double>()[i] : 0);
    }
  }
  return result;
}

/// Of input + skip + bias, which is the last output.
void normalize_sum(KernelContext& context, bool centered) {
  const Tensor& x = context.input(0);
  Tensor sum = sum_of(context, x, context.input(1));
  if (const Tensor* bias = context.find_input(centered ? 4 : 3)) sum = sum_of(context, sum, *bias);
  require(sum.dims() == x.dims(), "skip or bias do not broadcast to the input");
  Normalized result = normalize_rows_microsoft(context, sum, context.input(2),
                                               centered ? context.find_input(3) : nullptr, centered, x.type());
  context.set_output(0, std::move(result.y));
  context.set_output(1, std::move(result.mean));
  context.set_output(2, std::move(result.inverse_deviation));
  context.set_output(3, sum.retyped(x.type()));
}

void skip_layer_normalization(KernelContext& context) { normalize_sum(context, true); }
void skip_simplified_layer_normalization(KernelContext& context) { normalize_sum(context, false); }

// ---- EmbedLayerNormalization

/// Adds row `index` of a table [rows, size] to `to`.
void add_row(const Tensor& table, std::int64_t index, std::span<double> to, const char* what) {
  require(table.rank() == 2 && table.dim(1) == static_cast<std::int64_t>(to.size()),
          "the embeddings differ in hidden size");
  require(0 <= index && index < table.dim(0), [&] { return fmt::format("{} {} does not exist", what, index); });
  const auto row = table.as<double>().subspan(static_cast<std::size_t>(index) * to.size(), to.size());
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += row[i];
}

/// For each sequence how many elements of its mask are 1, wherever they stand.
Tensor mask_index(const KernelContext& context, const Tensor* mask, std::int64_t batch, std::int64_t length) {
  Tensor index = context.make(ElementType::int32, {batch});
  if (!mask) return index;
  require(mask->dims() == Dims({batch, length}), "the mask and input_ids have different shapes");
  for (std::int64_t b = 0; b < batch; ++b) {
    const auto row =
        mask->as<std::int64_t>().subspan(static_cast<std::size_t>(b * length), static_cast<std::size_t>(length));
    index.write<std::int64_t>()[static_cast<std::size_t>(b)] = std::ranges::count(row, 1);
  }
  return index;
}

/// Tables and factors of EmbedLayerNormalization and its quantized form.
struct Embeddings {
  Tensor words, positions, segments, gamma, beta;
};

/// Tables are added row by row, then rows normalized. `position_ids` may be null.
Tensor embed(KernelContext& context, const Embeddings& in, const Tensor* position_ids, ElementType type) {
  const Tensor& ids = context.input(0);
  const Tensor* segment_ids = context.find_input(1);
  require(ids.rank() == 2 && in.words.rank() == 2, "input_ids and word_embedding must be matrices");
  const std::int64_t batch = ids.dim(0), length = ids.dim(1);
  require(!segment_ids || segment_ids->dims() == ids.dims(), "segment_ids and input_ids have different shapes");
  require(!position_ids || (position_ids->rank() == 2 && position_ids->dim(1) == length &&
                            (position_ids->dim(0) == batch || position_ids->dim(0) == 1)),
          "position_ids and input_ids have different shapes");
  Tensor sum = context.make(real_type, {batch, length, in.words.dim(1)});
  const std::span<double> all = sum.write<double>();
  const auto hidden = static_cast<std::size_t>(in.words.dim(1));
  for (std::size_t i = 0; i < static_cast<std::size_t>(ids.size()); ++i) {
    const std::span<double> row = all.subspan(i * hidden, hidden);
    const auto in_sequence = static_cast<std::int64_t>(i) % length;
    const std::int64_t position =
        position_ids ? position_ids->as<std::int64_t>()[i % static_cast<std::size_t>(position_ids->size())]
                     : in_sequence;
    add_row(in.words, ids.as<std::int64_t>()[i], row, "word");
    add_row(in.positions, position, row, "position");
    if (segment_ids) add_row(in.segments, segment_ids->as<std::int64_t>()[i], row, "segment");
  }
  constexpr double roundings = 2;
  if (const Noise* noise = context.noise()) sum = noise->disturbed(context.threads(), sum, roundings);
  Normalized result = normalize_rows_microsoft(context, sum, in.gamma, &in.beta, true, type);
  context.set_output(0, std::move(result.y));
  context.set_output(1, mask_index(context, context.find_input(7), batch, length));
  return sum;
}

void embed_layer_normalization(KernelContext& context) {
  const ElementType type = context.input(2).type();
  const Tensor none = context.make(type, {0, 0});
  const Embeddings tables{context.input(2), context.input(3), context.has_input(4) ? context.input(4) : none,
                          context.input(5), context.input(6)};
  const Tensor sum = embed(context, tables, context.find_input(8), type);
  context.set_output(2, sum.retyped(type));
}

void quantized_embed_layer_normalization(KernelContext& context) {
  const auto table = [&](std::size_t at) {
    return dequantized(context, context.input(at), affine_at(context, at + 6, at + 11));
  };
  const Tensor none = context.make(real_type, {0, 0});
  const Embeddings tables{table(2), table(3), context.has_input(4) ? table(4) : none, table(5), table(6)};
  embed(context, tables, nullptr, context.input(8).type());
}

// ---- GroupNorm

/// [N, C, ...] or, with channels_last, [N, ..., C]; a group are `C / groups` channels at all positions.
Tensor normalize_groups_microsoft(const KernelContext& context, const Tensor& x, ElementType type) {
  const bool last = context.integer("channels_last", 1) != 0;
  require(x.rank() >= 3, "the input has no channel and spatial axes");
  const std::int64_t batch = x.dim(0), channels = last ? x.dims().back() : x.dim(1), groups = context.integer("groups");
  require(groups > 0 && channels > 0 && channels % groups == 0, "the number of channels is not divisible by group");
  const Tensor& gamma = context.input(1);
  const Tensor& beta = context.input(2);
  require(gamma.size() == channels && beta.size() == channels, "gamma and beta must have one element per channel");
  const double epsilon = context.real("epsilon", 1e-5F);
  const bool silu = context.integer("activation") == 1;
  const std::int64_t positions_per_image = batch == 0 ? 0 : x.size() / batch / channels, per_group = channels / groups;
  Tensor y = context.make(type, x.dims());
  const std::span<const double> in = x.as<double>();
  const std::span<double> out = y.write<double>();
  context.for_range(batch * groups, 1, [&](std::int64_t first, std::int64_t end) {
    std::vector<double> group;
    for (std::int64_t g = first; g < end; ++g) {
      const auto offset = [&](std::int64_t channel, std::int64_t position) {
        const std::int64_t image = g / groups;
        return static_cast<std::size_t>(last ? (image * positions_per_image + position) * channels + channel
                                             : (image * channels + channel) * positions_per_image + position);
      };
      const std::int64_t channel0 = g % groups * per_group;
      group.clear();
      for (std::int64_t c = channel0; c < channel0 + per_group; ++c)
        for (std::int64_t p = 0; p < positions_per_image; ++p) group.push_back(in[offset(c, p)]);
      const Moments of_group = moments(group, epsilon, true);
      for (std::int64_t c = channel0; c < channel0 + per_group; ++c) {
        const double scale = gamma.as<double>()[static_cast<std::size_t>(c)];
        const double shift = beta.as<double>()[static_cast<std::size_t>(c)];
        for (std::int64_t p = 0; p < positions_per_image; ++p) {
          const double v = (in[offset(c, p)] - of_group.mean) * of_group.inverse_deviation * scale + shift;
          out[offset(c, p)] = silu ? v / (1 + std::exp(-v)) : v;
        }
      }
    }
  });
  return y;
}

void group_norm(KernelContext& context) {
  const Tensor& x = context.input(0);
  context.set_output(0, normalize_groups_microsoft(context, x, x.type()));
}

void skip_group_norm(KernelContext& context) {
  const Tensor& x = context.input(0);
  Tensor skip = context.input(3);
  const bool last = context.integer("channels_last", 1) != 0;
  const auto as_channels = [&](const Tensor& given, std::int64_t batch) {
    Dims dims(static_cast<std::size_t>(x.rank()), 1);
    dims[0] = batch;
    dims[last ? dims.size() - 1 : 1] = batch == 0 ? given.size() : given.size() / batch;
    return given.reshaped(std::move(dims));
  };
  require(x.rank() >= 3, "the input has no channel and spatial axes");
  if (skip.rank() == 2) skip = as_channels(skip, skip.dim(0));
  Tensor sum = sum_of(context, x, skip);
  if (const Tensor* bias = context.find_input(4)) sum = sum_of(context, sum, as_channels(*bias, 1));
  require(sum.dims() == x.dims(), "skip or bias do not broadcast to the input");
  context.set_output(0, normalize_groups_microsoft(context, sum, x.type()));
  context.set_output(1, sum.retyped(x.type()));
}

}  // namespace

void register_microsoft_normalization(KernelRegistry& registry) {
  const auto add = [&registry](const char* op, Kernel kernel, const KernelTraits& traits = {}) {
    registry.add(microsoft_domain, op, all_versions(), kernel, traits);
  };
  add("SkipLayerNormalization", skip_layer_normalization, {.noise = noise::along_axis});
  add("SkipSimplifiedLayerNormalization", skip_simplified_layer_normalization, {.noise = noise::along_axis});
  add("EmbedLayerNormalization", embed_layer_normalization, {.noise = noise::beside_integers});
  add("QEmbedLayerNormalization", quantized_embed_layer_normalization, {.noise = noise::beside_integers});
  add("GroupNorm", group_norm, {.noise = noise::ordinary});
  add("SkipGroupNorm", skip_group_norm, {.noise = noise::ordinary});
}

}  // namespace onnxkit::reference
