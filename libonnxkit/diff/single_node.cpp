#include "libonnxkit/diff/single_node.h"

#include <algorithm>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/base/system/atomic_file.h"
#include "libonnxkit/diff/cut_model.h"
#include "libonnxkit/diff/matching.h"
#include "libonnxkit/diff/side.h"
#include "libonnxkit/wire/values/tensor_proto.h"

namespace onnxkit::diffing {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string, std::less<>>;

Result<Model> part(const Model& model, const std::vector<std::string>& values, const Names& known,
                   const DiffOptions& options) {
  auto copy = fresh_copy(model, options);
  if (!copy) return copy.error();
  set_outputs(copy->ir(), values);
  cut(copy->ir(), known);
  return copy;
}

/// Inputs whose type nothing told get that of their value: runtimes want one.
void declare_inputs(ir::Graph& graph, const InputSet& inputs) {
  for (ir::ValueInfo& input : graph.inputs) {
    for (const NamedValue& given : inputs.values) {
      if (input.type || given.name != graph.name_of(input.value) || !given.value.is_tensor()) continue;
      ir::DeclaredType& type = input.type.emplace();
      type.kind = ir::DeclaredType::Kind::tensor;
      type.elem_type = static_cast<std::int32_t>(given.value.tensor.type());
      ir::DeclaredShape& shape = type.shape.emplace();
      for (const std::int64_t size : given.value.tensor.dims()) shape.dims.emplace_back().value = size;
    }
  }
}

/// Exact values of the names among a graph's inputs that nodes of the whole model write, and the set's values for the others.
Result<InputSet> exact_inputs(const LayerQuestion& question, const Names& wanted) {
  InputSet inputs{question.set.name, question.set.values};
  const auto take = [&](std::size_t, std::string_view name, const exec::Spread& spread) -> Result<void> {
    auto value = as_stored(spread);
    if (!value) return value.error();
    inputs.values.push_back({std::string(name), *std::move(value)});
    return {};
  };
  const auto wants = [&](std::string_view name) { return wanted.contains(name); };
  if (auto run = question.noise_floor.each_value(question.set, question.profile, 0, wants, take); !run)
    return run.error();
  return inputs;
}

void add_inputs(const Model& model, Names& names) {
  for (const ir::ValueInfo& input : model.ir().graph->inputs) names.emplace(model.ir().graph->name_of(input.value));
}

/// Files that appear in a folder all together or not at all: written to a hidden folder in it, then moved. Of folders that were made for it nothing
/// remains unless published.
class NewFolder {
 public:
  static Result<NewFolder> make(const fs::path& folder) {
    NewFolder made;
    made.folder_ = folder;
    std::error_code fault;
    for (fs::path at = folder; !at.empty() && !fs::exists(at, fault); at = at.parent_path()) {
      if (at.has_filename()) made.made_.push_back(at);
    }
    made.hidden_ = folder / ".onnxkit-part";
    fs::create_directories(made.hidden_, fault);
    if (!fault) return made;
    return make_error("cannot-write",
                      "the folder " + quote(folder.string()) + " cannot be created: " + fault.message());
  }

  NewFolder(NewFolder&& other) noexcept
      : folder_(std::move(other.folder_)), hidden_(std::move(other.hidden_)), made_(std::move(other.made_)) {
    other.hidden_.clear();
    other.made_.clear();
  }
  NewFolder& operator=(NewFolder&&) = delete;

  ~NewFolder() {
    std::error_code ignored;
    if (!hidden_.empty()) fs::remove_all(hidden_, ignored);
    for (const fs::path& folder : made_) fs::remove(folder, ignored);  // the innermost first; only empty ones go
  }

  const fs::path& hidden() const { return hidden_; }

  Result<void> publish() {
    std::error_code fault;
    for (const fs::directory_entry& file : fs::directory_iterator(hidden_, fault)) {
      fs::rename(file.path(), folder_ / file.path().filename(), fault);
      if (fault) break;
    }
    if (fault) return make_error("cannot-write", "cannot write to " + quote(folder_.string()) + ": " + fault.message());
    made_.clear();
    return {};
  }

 private:
  NewFolder() = default;

  fs::path folder_, hidden_;
  std::vector<fs::path> made_;
};

Result<void> write_files(const Alone& alone, const LayerQuestion& question, const SideReport& report,
                         const std::string& value, const fs::path& folder) {
  SaveOptions save;
  save.format = "binary";
  save.weights = Weights::embed;
  save.allow_outside_data = question.options.allow_outside_data;
  if (auto written = write_model(*alone.side, folder / "model.onnx", save); !written) return written.error();
  if (auto written = write_model(*alone.base, folder / "expected.onnx", save); !written) return written.error();
  const ir::Graph& graph = *alone.side->ir().graph;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const std::string_view name = graph.name_of(graph.inputs[i].value);
    for (const NamedValue& input : alone.inputs.values) {
      if (input.name != name || input.value.kind == ValueKind::none) continue;
      const std::string bytes = wire::write_value(input.value, input.name);
      if (auto written = replace_file(folder / fmt::format("input_{}.pb", i), bytes); !written) return written;
    }
  }
  auto noise_floor = NoiseFloor::make(alone.base, question.sessions);
  if (!noise_floor) return noise_floor.error();
  const auto spreads = noise_floor->spreads(alone.inputs, 0, question.profile);
  if (!spreads) return spreads.error();
  auto expected = as_stored((*spreads)->at(value));
  if (!expected) return expected.error();
  if (auto written = replace_file(folder / "output_0.pb", wire::write_value(*expected, value)); !written)
    return written;
  std::string options;
  for (const auto& [name, text] : question.side.options) options += ":" + name + "=" + text;
  const std::string sides = question.base.model == question.side.model
                                ? fmt::format("model.onnx -b reference,{}{}", question.side.backend, options)
                                : fmt::format("expected.onnx {}{}:model.onnx", question.side.backend, options);
  const std::string text = fmt::format(
      "The value {} of {} alone, as {} computes it, with its exact inputs (input_*.pb) and the exact\n"
      "output (output_0.pb). expected.onnx is the same part of {}.\n\n"
      "    onnxkit diff {} --set . --recorded\n\n{}: {}\n",
      quote(value), quote(report.model), report.label, quote(question.base.model->path().string()), sides,
      question.side.backend, report.version);
  return replace_file(folder / "README.txt", text);
}

}  // namespace

Result<Value> as_stored(const exec::Spread& spread) {
  if (!spread.exact.is_tensor() || spread.exact.tensor.type() == spread.type) return spread.exact;
  auto tensor = cast(spread.exact.tensor, spread.type);
  if (!tensor) return make_error("not-supported", "a value cannot be stored");
  return Value(*std::move(tensor));
}

DiffSide side_on(const DiffSide& side, std::shared_ptr<const Model> model) {
  DiffSide other = side;
  other.model = std::move(model);
  other.path.clear();
  return other;
}

Result<std::map<std::string, Value, std::less<>>> run_once(const DiffSide& side, const InputSet& set,
                                                           Sessions& sessions) {
  SideReport unused;
  Side once(side, sessions, unused);
  if (auto open = once.open(1); !open) return open.error();
  auto run = once.run_once(set);
  if (!run) return run.error();
  std::map<std::string, Value, std::less<>> values;
  for (NamedValue& output : run->outputs) values.emplace(std::move(output.name), std::move(output.value));
  return values;
}

Result<Alone> run_alone(const LayerQuestion& question, const std::vector<std::string>& values, const Names& known) {
  Names others = known;
  for (const std::string& value : values) others.erase(value);
  Alone alone;
  auto base = part(*question.base.model, values, others, question.options);
  if (!base) return base.error();
  auto side = part(*question.side.model, values, others, question.options);
  if (!side) return side.error();
  Names wanted;
  add_inputs(*base, wanted);
  add_inputs(*side, wanted);
  auto inputs = exact_inputs(question, wanted);
  if (!inputs) return inputs.error();
  std::erase_if(inputs->values, [&](const NamedValue& input) { return !wanted.contains(input.name); });
  alone.inputs = *std::move(inputs);
  declare_inputs(*base->ir().graph, alone.inputs);
  declare_inputs(*side->ir().graph, alone.inputs);
  alone.base = std::make_shared<const Model>(*std::move(base));
  alone.side = std::make_shared<const Model>(*std::move(side));
  auto got = run_once(side_on(question.side, alone.side), alone.inputs, question.sessions);
  if (!got) return got.error();
  alone.got = *std::move(got);
  return alone;
}

Result<void> write_repro(const Alone& alone, const LayerQuestion& question, const SideReport& report,
                         const std::string& value, const fs::path& folder) {
  auto made = NewFolder::make(folder);
  if (!made) return made.error();
  if (auto written = write_files(alone, question, report, value, made->hidden()); !written) return written;
  return made->publish();
}

}  // namespace onnxkit::diffing
