// operator_traits [--rebase] TABLE FOLDER...: what is registered of each operator of the specification beside its inference and kernel, against
// TABLE, which says it in a line for each operator version that differs from the one before. A trait that is not stated is "-" there. A kernel
// that gives reals has to state its noise. FOLDER...: where the message about an operator looks for its registration.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "libonnxkit/spec/op_table.h"
#include "reference/executor/kernel.h"

namespace {

namespace fs = std::filesystem;
using namespace onnxkit;
using checker::InferTraits;
using checker::Role;
using reference::KernelTraits;
using reference::NoiseRule;

std::string name_of(const spec::OpSchema& schema) {
  return fmt::format("{} {}", schema.domain.empty() ? "ai.onnx" : schema.domain, schema.name);
}

std::string noise_text(const std::optional<NoiseRule>& rule) {
  static constexpr const char* lengths[] = {"", " reduced", " last-axis", " image"};
  if (!rule) return "-";
  std::string text = fmt::format("{}", rule->results);
  if (rule->input != 0) text += fmt::format(" input {}", rule->input);
  if (rule->absolute != 0) text += fmt::format(" absolute {}", rule->absolute);
  text += lengths[static_cast<std::size_t>(rule->length)];
  if (rule->is_product) text += " product";
  if (rule->takes_weights) text += " weights";
  if (rule->is_convolution) text += " convolution";
  if (rule->steps) text += " steps";
  if (rule->rounds_beside_integers) text += " beside integers";
  return text;
}

std::string cost_text(checker::CostFunction cost) {
  namespace known = checker::cost;
  const std::pair<checker::CostFunction, const char*> names[] = {
      {nullptr, "-"},
      {known::convolution, "convolution"},
      {known::quantized_convolution, "quantized-convolution"},
      {known::transposed_convolution, "transposed-convolution"},
      {known::matmul, "matmul"},
      {known::gemm, "gemm"},
      {known::recurrent, "recurrent"},
      {known::einsum, "einsum"},
      {known::attention, "attention"},
      {known::flex_attention, "flex-attention"},
      {known::multi_head_attention, "multi-head-attention"},
      {known::group_query_attention, "group-query-attention"},
      {known::projected_attention<4>, "projected-attention past 4"},
      {known::projected_attention<8>, "projected-attention past 8"},
      {known::unknown, "unknown"}};
  const auto found =
      std::find_if(std::begin(names), std::end(names), [cost](const auto& one) { return one.first == cost; });
  return found == std::end(names) ? "its own" : found->second;
}

const char* name_of(Role role) {
  switch (role) {
    case Role::moved:
      return "moved";
    case Role::shifted:
      return "shifted";
    case Role::index:
      return "index";
    case Role::index_nd:
      return "index-nd";
    case Role::row:
      return "row";
    case Role::label:
      return "label";
    case Role::length:
      return "length";
    case Role::time:
      return "time";
    case Role::count:
      return "count";
    case Role::size:
      return "size";
    case Role::stretched:
      return "stretched";
    case Role::pieces:
      return "pieces";
    case Role::scales:
      return "scales";
    case Role::axes:
      return "axes";
    case Role::unit_axes:
      return "unit-axes";
    case Role::new_axes:
      return "new-axes";
    case Role::share:
      return "share";
    case Role::counted:
      return "counted";
    case Role::compared:
      return "compared";
    case Role::like_input:
      return "like-input";
    case Role::like_output:
      return "like-output";
    case Role::joined:
      return "joined";
    case Role::mapped:
      return "mapped";
  }
  return "?";
}

/// The roles, and in brackets the inputs that hold integers only and have none.
std::string inputs_text(const spec::OpSchema& schema, const checker::InputRoles& roles) {
  constexpr std::uint32_t integers =
      1U << static_cast<int>(ElementType::int32) | 1U << static_cast<int>(ElementType::int64);
  std::string text;
  std::set<std::size_t> stated;
  for (const checker::InputRole& role : roles) {
    stated.insert(role.input);
    const std::string input = role.input == checker::every_input ? "all" : std::to_string(role.input);
    const bool compares = role.role == Role::row || role.role == Role::like_input;
    text += fmt::format("{}{}: {}{}", text.empty() ? "" : ", ", input, name_of(role.role),
                        compares ? fmt::format(" {}", role.other) : "");
  }
  for (std::size_t i = 0; i < schema.inputs.size(); ++i) {
    const spec::TypeSet& types = schema.types_of(schema.inputs[i]);
    const bool is_integer = types.tensor != 0 && (types.tensor & ~integers) == 0;
    if (is_integer && !stated.contains(i))
      text += fmt::format("{}[{}]", text.empty() ? "" : " ", schema.inputs[i].name);
  }
  return text.empty() ? "-" : text;
}

/// What few operators have.
std::string rare_text(const InferTraits& traits) {
  std::string text;
  if (traits.is_constant) text += " | constant";
  if (traits.is_view) text += " | view";
  if (traits.own_body_outputs != 0) text += fmt::format(" | own body outputs {}", traits.own_body_outputs);
  if (traits.training.attribute) text += fmt::format(" | trains by {}", traits.training.attribute);
  for (const char* name : traits.type_attributes) {
    if (name) text += fmt::format(" | type in {}", name);
  }
  if (traits.training.input >= 0) text += fmt::format(" | trains by input {}", traits.training.input);
  return text;
}

std::string traits_text(const spec::OpSchema& schema, const InferTraits* inferred, const KernelTraits* run) {
  static constexpr const char* sizes[] = {"-", "constant", "source", "step"};
  static constexpr const char* draws[] = {"-", "in training", "always"};
  const std::string kernel =
      run ? fmt::format("noise {} | derivative {} | sizes {} | draws {} | quantizing {}", noise_text(run->noise),
                        run->derivative ? "yes" : "-", sizes[static_cast<std::size_t>(run->sizes)],
                        draws[static_cast<std::size_t>(run->draws)], run->is_quantizing ? "yes" : "-")
          : "no kernel";
  const std::string inference = inferred ? fmt::format("cost {} | inputs {} | reads sizes only {}{}",
                                                       cost_text(inferred->cost), inputs_text(schema, inferred->inputs),
                                                       inferred->reads_sizes_only ? "yes" : "-", rare_text(*inferred))
                                         : "no inference";
  return kernel + " | " + inference;
}

bool gives_reals(const spec::OpSchema& schema) {
  constexpr ElementType reals[] = {ElementType::float16, ElementType::bfloat16, ElementType::float32,
                                   ElementType::float64};
  for (const spec::FormalParameter& output : schema.outputs) {
    const spec::TypeSet& types = schema.types_of(output);
    for (const ElementType real : reals) {
      const std::uint32_t bit = 1U << static_cast<int>(real);
      if ((types.tensor | types.sequence | types.optional | types.optional_sequence) & bit) return true;
      for (const ElementType key : {ElementType::int64, ElementType::string}) {
        if (contains_map(types, key, real) || contains_sequence_of_map(types, key, real)) return true;
      }
    }
  }
  return false;
}

/// "reference/ops/softmax.cpp": the files that register an operator of this name.
std::string files_of(std::string_view op, const std::vector<fs::path>& folders) {
  std::string found;
  for (const fs::path& folder : folders) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      std::ifstream in(entry.path());
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      const std::size_t start = text.find("\nvoid register_");
      if (start == std::string::npos || text.find(fmt::format("\"{}\"", op), start) == std::string::npos) continue;
      found += (found.empty() ? "" : ", ") + entry.path().string();
    }
  }
  return found.empty() ? "no file yet" : found;
}

struct Table {
  std::vector<std::string> lines;
  std::map<std::string, std::string> text;       ///< of "domain operator version"
  std::map<std::string, std::string> operators;  ///< by the same key
  std::vector<std::string> without_noise;
};

Table registered() {
  const spec::OpTable operators;
  Table table;
  std::string before, of;
  for (const spec::DomainTable& domain : spec::builtin_domains()) {
    for (const spec::OpSchema& schema : domain.schemas) {
      if (operators.is_removed(schema)) continue;
      const auto* inferred = checker::infer_registry().find_row(schema.domain, schema.name, schema.since_version);
      const auto* run = reference::kernel_registry().find_row(schema.domain, schema.name, schema.since_version);
      if (run && !run->traits.noise && gives_reals(schema)) table.without_noise.emplace_back(schema.name);
      const std::string text =
          traits_text(schema, inferred ? &inferred->traits : nullptr, run ? &run->traits : nullptr);
      if (name_of(schema) == of && text == before) continue;
      of = name_of(schema), before = text;
      const std::string key = fmt::format("{} {}", of, schema.since_version);
      table.text.emplace(key, text);
      table.operators.emplace(key, schema.name);
      table.lines.push_back(fmt::format("{}: {}", key, text));
    }
  }
  return table;
}

/// Prints where the table and the registrations differ; how often.
std::size_t differences(const Table& table, const fs::path& path, const std::vector<fs::path>& folders) {
  std::ifstream in(path);
  std::map<std::string, std::string> expected;
  for (std::string line; std::getline(in, line);) {
    if (const std::size_t colon = line.find(": "); colon != std::string::npos)
      expected.emplace(line.substr(0, colon), line.substr(colon + 2));
  }
  std::size_t count = 0;
  for (const auto& [key, text] : table.text) {
    const auto found = expected.find(key);
    if (found != expected.end() && found->second == text) continue;
    ++count;
    const std::string& op = table.operators.at(key);
    fmt::print("{}\n  registered {}\n  {:10} {}\n  registered in {}\n", key, text, path.filename().string(),
               found == expected.end() ? "has no line for it" : found->second, files_of(op, folders));
    fmt::print("  state its traits there, then write the table anew with --rebase\n");
  }
  for (const auto& [key, text] : expected) {
    if (table.text.contains(key)) continue;
    ++count;
    fmt::print("{}\n  is in {} and no longer registered\n", key, path.string());
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  bool rebase = false;
  std::vector<fs::path> paths;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--rebase")
      rebase = true;
    else
      paths.emplace_back(argv[i]);
  }
  if (paths.empty()) return 2;
  const std::vector<fs::path> folders(paths.begin() + 1, paths.end());
  const Table table = registered();
  for (const std::string& op : table.without_noise) {
    fmt::print("{} gives reals and has no noise rule: add .noise = noise::... to its registration in {}\n", op,
               files_of(op, folders));
  }
  if (rebase) {
    std::ofstream out(paths[0]);
    for (const std::string& line : table.lines) out << line << '\n';
  }
  const std::size_t wrong = differences(table, paths[0], folders) + table.without_noise.size();
  fmt::print("{} passed, {} failed\n", table.lines.size() - std::min(wrong, table.lines.size()), wrong);
  return wrong == 0 ? 0 : 1;
}
