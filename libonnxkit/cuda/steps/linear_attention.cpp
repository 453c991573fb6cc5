#include <fmt/core.h>

#include "libonnxkit/cuda/text/element.h"
#include "libonnxkit/cuda/text/loops.h"
#include "libonnxkit/cuda/text/parameters.h"

// A warp for each column of a state, whose rows its threads share, through all points in time: columns are apart from one another.
namespace onnxkit::cuda {
namespace {

class LinearAttentionText {
 public:
  static constexpr std::int64_t warp = 32, warps = 8;  // as many columns as a sector holds

  explicit LinearAttentionText(const plan::Step& step)
      : of_(static_cast<const plan::LinearAttentionParameters&>(*step.parameters)),
        q_(step.inputs[0]),
        k_(step.inputs[1]),
        v_(step.inputs[2]),
        first_(step.inputs[3]),
        y_(step.outputs[0]),
        last_(step.outputs[1]),
        lane_(number_lane(step)) {
    std::size_t next = 4;
    if (of_.has_decay) decay_ = &step.inputs[next], decay_name_ = fmt::format("x{}", next), ++next;
    if (of_.has_rate) rate_ = &step.inputs[next], rate_name_ = fmt::format("x{}", next);
    std::vector<const View*> views = {&y_, &last_};
    for (const View& view : step.inputs) views.push_back(&view);
    is_near_ = fits_31_bits(views);
  }

  std::int64_t columns() const { return v_.dims[0] * v_.dims[1] * v_.dims[3]; }
  std::int64_t rows_of_thread() const { return (k_.dims[3] + warp - 1) / warp; }

  std::string body() const {
    const std::int64_t states = v_.dims[1], values = v_.dims[3], results = y_.dims[1] / states;
    std::string text = fmt::format(
        "  using Number = {};\n  using Index = {};\n  const int thread = threadIdx.x % {};\n"
        "  const Index own = (Index)blockIdx.x * {} + threadIdx.x / {};\n"
        "  const Index at = own < {} ? own : {};\n"  // warps behind the last column compute it, too, and store nothing
        "  const Index column = at % {}, head = at / {} % {}, batch = at / {};\n  Number state[{}] = {{}};\n",
        lane_type(lane_), is_near_ ? "int" : "long long", warp, warps, warp, columns(), columns() - 1, values, values,
        states, values * states, rows_of_thread());
    text += for_rows("state[i] = " + row_element(first_, "x3", "row", "column") + ";");
    text += fmt::format("  for (Index time = 0; time < {}; ++time) {{\n    Number key[{}] = {{}};\n", v_.dims[2],
                        rows_of_thread());
    if (decay_ && decay_->dims[3] == 1)
      text += fmt::format("    const Number factor = exp_of({});\n", gate(*decay_, decay_name_, "0"));
    text += for_rows(fmt::format("key[i] = {};", vector_element(k_, "x1", part_of_head(k_, states), "row")));
    if (decay_) {
      const bool is_one = decay_->dims[3] == 1;
      text += for_rows(fmt::format("state[i] *= {};",
                                   is_one ? "factor" : fmt::format("exp_of({})", gate(*decay_, decay_name_, "row"))));
    }
    const std::string value = vector_element(v_, "x2", "head", "column");
    if (rate_) {
      text += "    Number known = 0;\n" + for_rows("known += state[i] * key[i];");
      text += fmt::format("    const Number written = {} * ({} - combined<32, Sum<Number>>(known));\n",
                          gate(*rate_, rate_name_, "0"), value);
    } else {
      text += fmt::format("    const Number written = {};\n", value);
    }
    text += for_rows("state[i] += key[i] * written;");
    text += fmt::format(
        "    for (int r = 0; r < {}; ++r) {{\n      const Index result = head * {} + r;\n      Number sum = 0;\n{}"
        "      sum = combined<32, Sum<Number>>(sum) * {};\n      if (thread == 0 && own < {}) y[{}] = {};\n    }}\n  "
        "}}\n",
        results, results,
        for_rows(fmt::format("sum += state[i] * {};", vector_element(q_, "x0", part_of_result(), "row"))),
        literal(lane_, of_.scale), columns(), vector_place(y_, "result", "column"), stored(y_.type, lane_, "sum"));
    const std::string place = place_of(last_, {"batch", "head", "row", "column"});
    return text +
           for_rows(fmt::format("if (own < {}) y1[{}] = {};", columns(), place, stored(last_.type, lane_, "state[i]")));
  }

 private:
  static std::string place_of(const View& view, const std::vector<std::string>& names) {
    return place_text(names, view.strides);
  }
  std::string row_element(const View& view, const char* name, const char* row, const char* column) const {
    return loaded(view.type, lane_, fmt::format("{}[{}]", name, place_of(view, {"batch", "head", row, column})));
  }
  static std::string vector_place(const View& view, const std::string& head, const std::string& at) {
    return place_of(view, {"batch", head, "time", at});
  }
  std::string vector_element(const View& view, const char* name, const std::string& head, const char* at) const {
    return loaded(view.type, lane_, fmt::format("{}[{}]", name, vector_place(view, head, at)));
  }
  std::string gate(const View& view, const std::string& name, const char* at) const {
    return loaded(view.type, lane_,
                  fmt::format("{}[{}]", name, vector_place(view, view.dims[1] == 1 ? "0" : "head", at)));
  }
  static std::string part_of_head(const View& view, std::int64_t states) {
    return view.dims[1] == states ? "head" : fmt::format("(head / {})", states / view.dims[1]);
  }
  std::string part_of_result() const {
    return q_.dims[1] == y_.dims[1] ? "result" : fmt::format("(result / {})", y_.dims[1] / q_.dims[1]);
  }
  /// A statement for each row i that the thread has, whose number is `row`.
  std::string for_rows(const std::string& statement) const {
    const std::string bound = k_.dims[3] % warp == 0 ? "" : fmt::format("      if (row >= {}) continue;\n", k_.dims[3]);
    return fmt::format(
        "#pragma unroll\n    for (int i = 0; i < {}; ++i) {{\n      [[maybe_unused]] const Index row = thread + i * "
        "{};\n{}      {}\n    }}\n",
        rows_of_thread(), warp, bound, statement);
  }

  const plan::LinearAttentionParameters& of_;
  const View &q_, &k_, &v_, &first_, &y_, &last_;
  Lane lane_;
  const View *decay_ = nullptr, *rate_ = nullptr;
  std::string decay_name_, rate_name_;
  bool is_near_ = true;
};

Result<std::vector<Launch>> write_linear_attention(const plan::Step& step, const Preparation& preparation) {
  if (const auto fits = check_types(step); !fits) return fits.error();
  const LinearAttentionText attention(step);
  constexpr std::int64_t most_rows = 8;  // of a thread, in registers
  if (attention.rows_of_thread() > most_rows) return make_error("not-supported", "a state of more than 256 keys");
  const View& values = step.inputs[2];
  const std::int64_t results = step.outputs[0].dims[1] / values.dims[1];  // of each state
  const std::int64_t each = values.dims[2] * attention.rows_of_thread() * (2 + results);
  constexpr std::int64_t most_products = std::int64_t{1} << 42;
  if (auto ends = check_work(attention.columns() * attention.warp, each, "products", most_products); !ends)
    return ends.error();
  Launch launch;
  launch.text = fmt::format("{} {{\n{}}}\n", write_parameters(step, preparation), attention.body());
  launch.add_operands(step);
  launch.blocks = static_cast<std::uint32_t>((attention.columns() + attention.warps - 1) / attention.warps);
  launch.threads = attention.warps * attention.warp;
  launch.synchronizes = true;
  return std::vector<Launch>{std::move(launch)};
}

}  // namespace

void register_linear_attention(StepRegistry& registry);
void register_linear_attention(StepRegistry& registry) {
  registry.add(plan::linear_attention_step, write_linear_attention);
}

}  // namespace onnxkit::cuda
