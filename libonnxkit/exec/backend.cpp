#include "libonnxkit/exec/backend.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <system_error>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/text/nearest.h"
#include "libonnxkit/base/text/unknown_name.h"
#include "libonnxkit/exec/passes_option.h"

namespace onnxkit::exec {
namespace {

bool is_number(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc() && read.ptr == end;
}

bool is_whole_number(const std::string& text, int most) {
  int number = -1;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc() && read.ptr == end && number >= 0 && number <= most;
}

std::string listed(const std::string& wrong, const std::vector<std::string_view>& words) {
  const std::string_view close = is_number(wrong) ? std::string_view() : nearest(wrong, words);
  return fmt::format("{}{}", fmt::join(words, ", "), close.empty() ? "" : fmt::format("; did you mean {}?", close));
}

/// Of what has a name.
template <class Named>
std::vector<std::string_view> names_of(const std::vector<Named>& all) {
  std::vector<std::string_view> names;
  for (const Named& named : all) names.push_back(named.name);
  return names;
}

/// The first of each name.
template <class Named>
std::map<std::string_view, std::size_t> first_indices(const std::vector<Named>& all) {
  std::map<std::string_view, std::size_t> indices;
  for (std::size_t i = 0; i < all.size(); ++i) indices.emplace(all[i].name, i);
  return indices;
}

}  // namespace

Result<void> check_options(const BackendDesc& backend, const std::map<std::string, std::string>& options) {
  for (const auto& [name, value] : options) {
    const auto known = backend.options.find(name);
    if (known == backend.options.end()) {
      std::vector<std::string_view> names;
      for (const auto& option : backend.options) names.push_back(option.first);
      return make_error("unknown-option", fmt::format("the backend {} has no option {}; it has {}", backend.name,
                                                      quote(name), names.empty() ? "none" : listed(name, names)));
    }
    const OptionDesc& option = known->second;
    const std::vector<std::string_view> values(option.values.begin(), option.values.end());
    if (!values.empty() && std::find(values.begin(), values.end(), value) == values.end())
      return make_error("unknown-option", fmt::format("the option {} of the backend {} cannot be {}; it can be {}",
                                                      name, backend.name, quote(value), listed(value, values)));
    if (option.most && !is_whole_number(value, *option.most))
      return make_error("unknown-option",
                        fmt::format("the option {} of the backend {} must be a whole number from 0 to {}, not {}", name,
                                    backend.name, *option.most, quote(value)));
    if (values.empty() && is_number(option.fallback) && !is_number(value))
      return make_error("unknown-option", fmt::format("the option {} of the backend {} must be a number, not {}", name,
                                                      backend.name, quote(value)));
    if (name == without_pass_option && !backend.capabilities.passes.empty()) {
      if (auto passes = passes_named(value, backend.capabilities.passes); !passes) return passes.error();
    }
  }
  return {};
}

Result<void> check_load(const BackendDesc& backend, const ModelSource& source, const LoadOptions& options) {
  if (auto known = check_options(backend, options.options); !known) return known;
  const auto has = [](const auto& list, const auto& item) {
    return std::find(list.begin(), list.end(), item) != list.end();
  };
  if (!has(backend.formats, source.format))
    return make_error("not-supported", fmt::format("{} runs models of the format {}, not {}", backend.name,
                                                   fmt::join(backend.formats, ", "), source.format));
  if (!options.device.empty() && !has(backend.devices, options.device))
    return make_error("not-supported", fmt::format("{} runs on {}, not on {}", backend.name,
                                                   fmt::join(backend.devices, ", "), quote(options.device)));
  if (!has(backend.capabilities.math_modes, options.math))
    return make_error("not-supported", fmt::format("{} cannot leave numbers unrounded between nodes", backend.name));
  return {};
}

Error cancelled_run() { return make_error("cancelled", "the run was cancelled"); }

Error late_run(std::chrono::milliseconds limit) {
  return make_error("time-limit", fmt::format("the run took longer than {} ms", limit.count()));
}

Result<std::vector<Value>> arrange(const std::vector<ValueDesc>& inputs, const std::vector<NamedValue>& given) {
  std::vector<Value> values(inputs.size());
  const auto indices = first_indices(inputs);
  for (const NamedValue& named : given) {
    const auto found = indices.find(named.name);
    if (found == indices.end()) return unknown_name("unknown-input", "input", named.name, names_of(inputs));
    values[found->second] = named.value;
  }
  return values;
}

Result<std::vector<NamedValue>> select_outputs(std::vector<NamedValue> outputs,
                                               const std::vector<std::string>& wanted) {
  if (wanted.empty()) return outputs;
  std::vector<NamedValue> selected;
  const auto indices = first_indices(outputs);
  for (const std::string& name : wanted) {
    const auto found = indices.find(name);
    if (found == indices.end()) return unknown_name("unknown-value", "output", name, names_of(outputs));
    selected.push_back(outputs[found->second]);
  }
  return selected;
}

}  // namespace onnxkit::exec
