#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "libonnxkit/cuda/text/element.h"
#include "libonnxkit/cuda/text/loops.h"
#include "libonnxkit/cuda/text/parameters.h"

namespace onnxkit::cuda {
namespace {

/// A block takes `tile` queries of one head, some columns of its values, and goes through keys and values tile by tile. The weights of a query are
/// relative to the greatest score so far; a greater one scales down what has been summed.
struct AttentionText {
  const plan::Step& step;
  const plan::AttentionParameters& parameters;
  const View &q = step.inputs[0], &k = step.inputs[1], &v = step.inputs[2], &to = step.outputs[0];
  Lane lane = number_lane(step);
  std::int64_t heads = to.dims[1], queries = q.dims[2], keys = k.dims[2], depth = q.dims[3];
  std::int64_t part = std::min<std::int64_t>(v.dims[3], lane == Lane::f64 ? 128 : 256);  ///< columns of a block
  std::int64_t tile = 32;
  bool shares =
      true;  ///< tiles of queries, keys and values lie in shared memory, which is too small for the longest ones

  AttentionText(const plan::Step& of, const plan::AttentionParameters& with) : step(of), parameters(with) {
    constexpr std::int64_t most_bytes = 46 << 10;
    while (tile > 8 && (tile / 2 >= queries || shared_bytes() > most_bytes)) tile /= 2;
    shares = shared_bytes() <= most_bytes;
  }

  std::int64_t threads() const { return tile == 8 ? 64 : 128; }
  std::int64_t parts() const { return (v.dims[3] + part - 1) / part; }
  std::int64_t tiles() const { return (queries + tile - 1) / tile; }
  std::int64_t blocks() const { return to.dims[0] * heads * tiles() * parts(); }

  std::string begin() const;
  std::string load(std::string_view name, const View& view, std::string_view first, std::int64_t rows,
                   std::int64_t columns) const;
  std::string element(std::string_view name, const View& view, std::string_view first, std::int64_t rows,
                      std::string_view row, std::string_view column) const;
  std::string scores() const;
  std::string weights() const;
  std::string sums() const;
  std::string results() const;

 private:
  std::int64_t tile_stride() const { return std::max(depth, part) + 1; }
  std::int64_t shared_bytes() const {
    return tile * (depth + 1 + tile_stride() + tile + 4) * (lane == Lane::f64 ? 8 : 4);
  }
  std::int64_t sums_of_thread() const { return (tile * part + threads() - 1) / threads(); }
  std::string head_place(const View& view, std::int64_t sharing) const {
    const std::string names[] = {"image", sharing == 1 ? "head" : fmt::format("(head / {})", sharing)};
    return place_text(names, std::span(view.strides).first(2));
  }
};

std::string AttentionText::begin() const {
  std::string text = fmt::format("  using Number = {};\n", lane_type(lane));
  if (shares)
    text += fmt::format("  __shared__ Number tile_q[{0}][{1}], tile_kv[{0}][{2}];\n", tile, depth + 1, tile_stride());
  text += fmt::format(
      "  __shared__ Number scores[{0}][{1}], most[{0}], total[{0}], factor[{0}];\n"
      "  const Index row = blockIdx.x % {2}u * {0};\n  const Index first = blockIdx.x / {2}u % {3}u * {4};\n"
      "  [[maybe_unused]] const Index head = blockIdx.x / {5}u % {6}u, image = blockIdx.x / {7}u;\n",
      tile, tile + 1, tiles(), parts(), part, tiles() * parts(), heads, tiles() * parts() * heads);
  const std::int64_t sharing = heads / k.dims[1];
  text += fmt::format(
      "  const auto* const q = x0 + {};\n  const auto* const k = x1 + {};\n  const auto* const v = x2 + {};\n",
      head_place(q, 1), head_place(k, sharing), head_place(v, sharing));
  text += load("q", q, "row", queries, depth);
  text += fmt::format(
      "  if (threadIdx.x < {0}) {{\n    most[threadIdx.x] = {1};\n    total[threadIdx.x] = 0;\n  }}\n"
      "  Number sums[{2}] = {{}};  // of values {3}, one for each (i * {4} + threadIdx.x)\n",
      tile, literal(lane, -INFINITY), sums_of_thread(), "by query and column", threads());
  const std::string end =
      parameters.is_causal ? fmt::format("(row + {0} < {1} ? row + {0} : {1})", tile + parameters.causal_offset, keys)
                           : std::to_string(keys);
  return text + fmt::format("  for (Index column = 0; column < {}; column += {}) {{\n", end, tile);
}

/// Rows of a tile to shared memory, zeros behind the last.
std::string AttentionText::load(std::string_view name, const View& view, std::string_view from, std::int64_t rows,
                                std::int64_t columns) const {
  if (!shares) return "";
  const bool is_part = name == "v";
  std::string condition = rows % tile == 0 ? "" : fmt::format("{} + r < {}", from, rows);
  if (is_part && view.dims[3] % part != 0)
    condition += fmt::format("{}first + d < {}", condition.empty() ? "" : " && ", view.dims[3]);
  const std::string names[] = {fmt::format("({} + r)", from), is_part ? "(first + d)" : "d"};
  std::string number =
      loaded(view.type, lane, fmt::format("{}[{}]", name, place_text(names, std::span(view.strides).last(2))));
  if (!condition.empty()) number = fmt::format("{} ? {} : 0", condition, number);
  return fmt::format(
      "  for (int i = threadIdx.x; i < {0}; i += {1}) {{\n    const int r = i / {2}, d = i % {2};\n    tile_{3}[r][d] "
      "= {4};\n  }}\n",
      tile * columns, threads(), columns, name == "q" ? "q" : "kv", number);
}

/// Of a tile, or straight from the operand: then of the last row for those behind it.
std::string AttentionText::element(std::string_view name, const View& view, std::string_view from, std::int64_t rows,
                                   std::string_view row, std::string_view column) const {
  if (shares) return fmt::format("tile_{}[{}][{}]", name == "q" ? "q" : "kv", row, column);
  std::string at_row = fmt::format("({} + {})", from, row), at_column(column);
  if (rows % tile != 0) at_row = fmt::format("({0} < {1} ? {0} : {2})", at_row, rows, rows - 1);
  if (name == "v") at_column = fmt::format("(first + {})", column);
  if (name == "v" && view.dims[3] % part != 0)
    at_column = fmt::format("({0} < {1} ? {0} : {2})", at_column, view.dims[3], view.dims[3] - 1);
  const std::string names[] = {at_row, at_column};
  return loaded(view.type, lane, fmt::format("{}[{}]", name, place_text(names, std::span(view.strides).last(2))));
}

/// A thread has one key and some of the queries.
std::string AttentionText::scores() const {
  const std::int64_t groups = threads() / tile, of_thread = tile / groups;
  std::string text = fmt::format(
      "    {{\n      const int c = threadIdx.x % {0}, r0 = threadIdx.x / {0};\n      Number dots[{1}] = {{}};\n"
      "      for (int d = 0; d < {2}; ++d) {{\n        const Number key = {3};\n"
      "#pragma unroll\n        for (int i = 0; i < {1}; ++i) dots[i] += {4} * key;\n      }}\n"
      "#pragma unroll\n      for (int i = 0; i < {1}; ++i) {{\n        const int r = r0 + i * {5};\n",
      tile, of_thread, depth, element("k", k, "column", keys, "c", "d"),
      element("q", q, "row", queries, fmt::format("(r0 + i * {})", groups), "d"), groups);
  text += fmt::format("        Number score = dots[i] * {};\n", literal(lane, parameters.scale));
  if (parameters.softcap > 0)
    text += fmt::format("        score = {0} * tanh_of(score / {0});\n", literal(lane, parameters.softcap));
  std::string sees = keys % tile == 0 ? "" : fmt::format("column + c < {}", keys);
  if (step.inputs.size() > 3) {
    const View& mask = step.inputs[3];
    const std::string names[] = {"image", "head", "(row + r)", "(column + c)"};
    std::string inside = sees;
    if (queries % tile != 0 && mask.strides[2] != 0)
      inside += fmt::format("{}row + r < {}", inside.empty() ? "" : " && ", queries);
    const std::string number = loaded(mask.type, lane, fmt::format("x3[{}]", place_text(names, mask.strides)));
    text += fmt::format("        {}", inside.empty() ? "" : fmt::format("if ({}) ", inside));
    text +=
        parameters.mask_replaces
            ? fmt::format(
                  "{{\n          const Number hidden = {};\n          if (hidden != 0) score = hidden;\n        }}\n",
                  number)
            : fmt::format("score += {};\n", number);
  }
  if (parameters.is_causal)
    sees += fmt::format("{}column + c <= row + r + {}", sees.empty() ? "" : " && ", parameters.causal_offset);
  const std::string number = sees.empty() ? "score" : fmt::format("{} ? score : {}", sees, literal(lane, -INFINITY));
  return text + fmt::format("        scores[r][c] = {};\n      }}\n    }}\n", number);
}

/// Some neighbouring threads have a query.
std::string AttentionText::weights() const {
  const std::int64_t width = threads() / tile;
  return fmt::format(
      "    {{\n      const int r = threadIdx.x / {0}, thread = threadIdx.x % {0};\n"
      "      const Number before = most[r];\n      Number now = before, sum = 0;\n"
      "      for (int c = thread; c < {1}; c += {0}) now = larger(now, scores[r][c]);\n"
      "      now = combined<{0}, Largest<Number>>(now);\n"
      "      for (int c = thread; c < {1}; c += {0}) {{\n"
      "        const Number weight = now == {2} ? 0 : exp_of(scores[r][c] - now);\n"
      "        scores[r][c] = weight;\n        sum += weight;\n      }}\n"
      "      sum = combined<{0}, Sum<Number>>(sum);\n"
      "      __syncwarp();\n      if (thread == 0) {{\n        factor[r] = before == now ? 1 : exp_of(before - now);\n"
      "        total[r] = total[r] * factor[r] + sum;\n        most[r] = now;\n      }}\n    }}\n",
      width, tile, literal(lane, -INFINITY));
}

std::string AttentionText::sums() const {
  const std::string guard = tile * part % threads() == 0 ? "" : fmt::format("if (at < {}) ", tile * part);
  const std::string at = fmt::format("[[maybe_unused]] const int at = i * {0} + threadIdx.x;\n", threads());
  return fmt::format(
      "#pragma unroll\n    for (int i = 0; i < {0}; ++i) {{\n      {1}      {2}sums[i] *= factor[at / {3}];\n    }}\n"
      "    for (int c = 0; c < {4}; ++c) {{\n#pragma unroll\n      for (int i = 0; i < {0}; ++i) {{\n        {1}"
      "        {2}sums[i] += scores[at / {3}][c] * {5};\n      }}\n    }}\n",
      sums_of_thread(), at, guard, part, tile, element("v", v, "column", keys, "c", fmt::format("at % {}", part)));
}

std::string AttentionText::results() const {
  std::string condition = tile * part % threads() == 0 ? "" : fmt::format("at < {}", tile * part);
  const auto require = [&](const std::string& more) { condition += (condition.empty() ? "" : " && ") + more; };
  if (queries % tile != 0) require(fmt::format("row + r < {}", queries));
  if (v.dims[3] % part != 0) require(fmt::format("first + d < {}", v.dims[3]));
  const std::string names[] = {"image", "head", "(row + r)", "(first + d)"};
  return fmt::format(
      "#pragma unroll\n  for (int i = 0; i < {0}; ++i) {{\n    const int at = i * {1} + threadIdx.x, r = at / {2}, d = "
      "at % {2};\n"
      "    {3}y[{4}] = {5};\n  }}\n",
      sums_of_thread(), threads(), part, condition.empty() ? "" : fmt::format("if ({}) ", condition),
      place_text(names, to.strides),
      stored(to.type, lane, fmt::format("(total[r] == 0 ? {} : sums[i] / total[r])", literal(lane, parameters.blind))));
}

Result<std::vector<Launch>> write_attention(const plan::Step& step, const Preparation& preparation) {
  if (const auto fits = check_types(step); !fits) return fits.error();
  const AttentionText text(step, static_cast<const plan::AttentionParameters&>(*step.parameters));
  constexpr std::int64_t most_blocks = (std::int64_t{1} << 31) - 1;
  if (text.blocks() > most_blocks) return make_error("not-supported", "more tiles than a launch has blocks");
  std::vector<const View*> views;
  for (const View& view : step.inputs) views.push_back(&view);
  views.push_back(&step.outputs[0]);
  Launch launch;
  launch.text = fmt::format("{} {{\n  using Index = {};\n", write_parameters(step, preparation),
                            fits_31_bits(views) ? "int" : "long long");
  launch.text += text.begin();
  launch.text += "    __syncthreads();\n" + text.load("k", text.k, "column", text.keys, text.depth);
  launch.text += "    __syncthreads();\n" + text.scores();
  launch.text += "    __syncthreads();\n" + text.load("v", text.v, "column", text.keys, text.part) + text.weights();
  launch.text += "    __syncthreads();\n" + text.sums() + "  }\n";
  launch.text += "  __syncthreads();\n" + text.results() + "}\n";
  launch.add_operands(step);
  launch.blocks = static_cast<std::uint32_t>(text.blocks());
  launch.threads = static_cast<std::uint32_t>(text.threads());
  launch.synchronizes = true;
  return std::vector<Launch>{std::move(launch)};
}

}  // namespace

void register_attention(StepRegistry& registry);
void register_attention(StepRegistry& registry) { registry.add(plan::attention_step, write_attention); }

}  // namespace onnxkit::cuda
