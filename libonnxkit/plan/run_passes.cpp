#include "libonnxkit/plan/run_passes.h"

#include <algorithm>
#include <map>

#include "libonnxkit/plan/blocked_weights.h"
#include "libonnxkit/plan/steps.h"

namespace onnxkit::plan {
namespace {

const PassRegistry& passes_of(const BuildOptions& options) {
  return options.passes ? *options.passes : pass_registry();
}

/// What the pass said of patterns that it found in part.
void note_misses(const Pass& pass, Subject& subject, PassLog& log) {
  for (PassNotes::Missed& missed : subject.notes().missed) {
    // Passes over calls run before sizes split the model, and again behind that.
    if (!log.known_misses.emplace(pass.name, missed.node, missed.reason).second) continue;
    log.misses.push_back({.node = std::move(missed.node),
                          .op = std::move(missed.op),
                          .pass = pass.name,
                          .reason = std::move(missed.reason)});
  }
}

/// Runs a pass and notes the nodes that it took away.
Result<void> run_pass(const Pass& pass, Subject& subject, PassLog& log) {
  struct NodeBefore {
    ir::ValueId first;
    Text name, op;
  };
  std::vector<NodeBefore> before;
  for (const ir::Node& node : subject.graph().nodes) {
    if (const ir::ValueId first = ir::first_output(node); first != ir::ValueId::none)
      before.push_back({first, node.name, node.op_type});
  }
  subject.notes() = {};
  const auto changed = pass.run(subject);
  if (!changed) return changed.error();
  note_misses(pass, subject, log);
  if (!*changed) return {};
  log.names.emplace_back(pass.name);
  std::map<std::string_view, std::string_view> into;
  for (const PassNotes::Taken& taken : subject.notes().taken) into.emplace(taken.node, taken.into);
  for (const NodeBefore& node : before) {
    const std::int32_t writer = subject.uses().producer(node.first);
    const ir::Node* now = writer < 0 ? nullptr : &subject.graph().nodes[static_cast<std::size_t>(writer)];
    if (now && now->op_type == node.op) continue;
    const std::string_view title = node.name.empty() ? subject.graph().name_of(node.first) : node.name.view();
    const auto place = into.find(title);
    log.changes.push_back({.node = std::string(title),
                           .op = std::string(node.op.view()),
                           .pass = pass.name,
                           .made = now ? std::string(now->op_type.view()) : std::string(),
                           .into = place == into.end() ? std::string() : std::string(place->second)});
  }
  return {};
}

/// A plan of one step, to ask a backend whether it takes such steps.
class Probe {
 public:
  View add(Home home, ElementType type, Dims dims) {
    plan_.buffers.push_back({.home = home, .type = type, .bytes = 4, .offset = 0, .index = 0});
    Dims strides = row_major_strides(dims);
    return {.buffer = static_cast<std::uint32_t>(plan_.buffers.size() - 1),
            .type = type,
            .offset = 0,
            .dims = std::move(dims),
            .strides = std::move(strides)};
  }
  View add_constant(const Tensor& content) {
    plan_.constants.push_back(content);
    View view = add(Home::constant, content.type(), content.dims());
    plan_.buffers.back().index = plan_.constants.size() - 1;
    return view;
  }
  bool is_taken(const Takes& takes, const Step& step) const { return !takes || !takes(plan_, step); }

 private:
  Plan plan_;
};

/// Whether the backend runs a small convolution of integers.
bool takes_integers(const Takes& takes) {
  Probe probe;
  const Dims pixel = {1, 1, 1, 1};
  const View x = probe.add(Home::input, ElementType::uint8, pixel);
  const View filter = probe.add_constant(*Tensor::from_bytes(ElementType::int8, pixel, {std::byte{1}}));
  const View zero = probe.add(Home::input, ElementType::uint8, {});
  const View sum = probe.add(Home::arena, ElementType::int32, pixel);
  auto parameters = std::make_shared<IntegerConvolutionParameters>();
  parameters->strides = parameters->dilations = {1, 1};
  parameters->pads = {0, 0, 0, 0};
  return probe.is_taken(takes, {.kind = integer_convolution_step,
                                .inputs = {x, filter, zero},
                                .outputs = {sum},
                                .parameters = std::move(parameters)});
}

/// Whether the backend runs a small product with weights in blocks.
bool takes_blocks(const Takes& takes) {
  Probe probe;
  const View a = probe.add(Home::input, ElementType::float32, {1, 8});
  const View b = probe.add_constant(*Tensor::from_bytes(ElementType::uint8, {4}, std::vector<std::byte>(4)));
  const View c = probe.add(Home::arena, ElementType::float32, {1, 1});
  auto parameters = std::make_shared<ProductParameters>();
  parameters->blocks = std::make_shared<const BlockedWeights>(BlockedWeights{.n = 1, .k = 8, .size = 8});
  return probe.is_taken(takes,
                        {.kind = product_step, .inputs = {a, b}, .outputs = {c}, .parameters = std::move(parameters)});
}

}  // namespace

Subject::Options subject_options(const BuildOptions& options) {
  return {.allow_outside_data = options.allow_outside_data,
          .external = options.external,
          .exact = options.exact,
          .packs_weights = !options.exact && takes_blocks(options.takes),
          .splits_capped_attention = options.splits_capped_attention,
          .memory_limit = options.memory_limit};
}

Result<void> run_passes(Subject& subject, const BuildOptions& options, Stage last, PassLog& log) {
  if (names_values(subject.graph())) return {};
  const bool has_integers = takes_integers(options.takes);
  for (const Pass& pass : passes_of(options).ordered()) {
    if (pass.stage > last || options.without_passes.contains(pass.name) || (options.exact && !pass.is_exact) ||
        (pass.wants_integer_steps && !has_integers) || (pass.wants_few_steps && !options.prefers_few_steps))
      continue;
    if (auto done = run_pass(pass, subject, log); !done) return done;
    if (auto more = may_go_on(options); !more) return more;
  }
  return {};
}

}  // namespace onnxkit::plan
