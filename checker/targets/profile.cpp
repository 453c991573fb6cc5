#include "checker/targets/profile.h"
#include "libonnxkit/ir/scope.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <span>
#include <tuple>

#include "libonnxkit/base/text/nearest.h"
#include "libonnxkit/spec/context_cache.h"
#include "libonnxkit/spec/op_table.h"
#include "scripts/cmake/embedded.h"

namespace onnxkit::checker {

std::span<const EmbeddedText> embedded_targets();

bool TargetEntry::covers(std::int32_t since_version) const {
  return since.empty() || std::ranges::find(since, since_version) != since.end();
}

const TypeStanding* TargetEntry::types_of(std::string_view constraint) const {
  const auto found = std::ranges::find(types, constraint, &TypeStanding::constraint);
  return found == types.end() ? nullptr : &*found;
}

const std::vector<TargetEntry>* TargetProfile::find_all(std::string_view domain, std::string_view op) const {
  const auto in_domain = operators.find(std::string(ir::canonical_domain(domain)));
  if (in_domain == operators.end()) return nullptr;
  const auto entries = in_domain->second.find(std::string(op));
  return entries == in_domain->second.end() ? nullptr : &entries->second;
}

Standing TargetProfile::unlisted(std::string_view domain) const {
  const bool covered = operators.contains(std::string(ir::canonical_domain(domain)));
  return exhaustive && covered ? Standing::refused : Standing::unknown;
}

const TargetEntry* TargetProfile::find(std::string_view domain, std::string_view op, std::int32_t since_version) const {
  const std::vector<TargetEntry>* entries = find_all(domain, op);
  if (!entries) return nullptr;
  const auto found =
      std::ranges::find_if(*entries, [&](const TargetEntry& entry) { return entry.covers(since_version); });
  return found == entries->end() ? nullptr : &*found;
}

namespace {

/// Thrown and caught in this file only, as yaml-cpp throws, too.
struct Fault {
  YAML::Mark mark;
  std::string message;
};

[[noreturn]] void fail(const YAML::Node& at, std::string message) { throw Fault{at.Mark(), std::move(message)}; }

std::string text(const YAML::Node& node) {
  if (!node.IsScalar()) fail(node, "expected a string");
  return node.Scalar();
}

std::int64_t integer(const YAML::Node& node) {
  std::int64_t value = 0;
  const std::string digits = text(node);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size())
    fail(node, fmt::format("expected an integer, found {}", quote(digits, 40)));
  return value;
}

bool flag(const YAML::Node& node) {
  const std::string word = text(node);
  if (word != "true" && word != "false") fail(node, "expected true or false");
  return word == "true";
}

template <class Read>
auto list(const YAML::Node& node, Read&& read) {
  if (!node.IsSequence()) fail(node, "expected a list");
  std::vector<decltype(read(node))> items;
  items.reserve(node.size());
  for (const YAML::Node& item : node) items.push_back(read(item));
  return items;
}

std::vector<std::string> texts(const YAML::Node& node) { return list(node, text); }

std::pair<std::int64_t, std::int64_t> span_of(const YAML::Node& node) {
  const auto ends = list(node, integer);
  if (ends.size() != 2 || ends[0] > ends[1]) fail(node, "expected [least, greatest]");
  return {ends[0], ends[1]};
}

/// Calls read(key, value) for each pair of a mapping; false from it means that the key is unknown.
template <class Read>
void pairs(const YAML::Node& node, std::string_view what, Read&& read) {
  if (!node.IsMap()) fail(node, fmt::format("{} must be a mapping", what));
  for (const auto& pair : node) {
    if (!read(text(pair.first), pair.second))
      fail(pair.first, fmt::format("{} has no key {}", what, quote(pair.first.Scalar(), 40)));
  }
}

ConditionValue condition_value(const YAML::Node& node) {
  ConditionValue value{.text = text(node), .number = {}};
  double number = 0;
  if (node.Tag() != "!" && YAML::convert<double>::decode(node, number)) value.number = number;
  return value;
}

/// A demand whose value is true or false.
struct FlagDemand {
  std::string_view key;
  TargetCondition::Demand demand;
  bool can_be_false = false;
};

std::optional<FlagDemand> flag_demand(std::string_view key) {
  using enum TargetCondition::Demand;
  static constexpr std::array<FlagDemand, 9> all = {{{"present", present, true},
                                                     {"constant", constant, true},
                                                     {"initializer", initializer, true},
                                                     {"static", is_static, false},
                                                     {"nonempty", nonempty, false},
                                                     {"named", named, false},
                                                     {"local", local, false},
                                                     {"port", port, true},
                                                     {"equal_ranks", equal_ranks, false}}};
  const auto* const found = std::ranges::find(all, key, &FlagDemand::key);
  return found == all.end() ? std::nullopt : std::optional(*found);
}

TargetCondition condition(const YAML::Node& node) {
  using Item = TargetCondition::Item;
  using Demand = TargetCondition::Demand;
  TargetCondition result;
  int demands = 0;
  const auto demand = [&](Demand kind) {
    result.demand = kind;
    ++demands;
    return true;
  };
  const auto item = [&](Item kind, const YAML::Node& value) {
    if (result.item != Item::node) fail(value, "a condition must be about one item");
    result.item = kind;
    result.name = text(value);
    return true;
  };
  pairs(node, "a condition", [&](const std::string& key, const YAML::Node& value) {
    if (key == "attribute") return item(Item::attribute, value);
    if (key == "input") return item(Item::input, value);
    if (key == "output") return item(Item::output, value);
    if (key == "in" || key == "not_in") {
      result.values = list(value, condition_value);
      return demand(key == "in" ? Demand::in : Demand::not_in);
    }
    if (const auto flags = flag_demand(key)) {
      result.wanted = flag(value);
      return (result.wanted || flags->can_be_false) && demand(flags->demand);
    }
    if (key == "not_from") {
      result.operators = texts(value);
      return demand(Demand::not_from);
    }
    if (key == "copies") {
      result.copied = text(value);
      return demand(Demand::copies);
    }
    if (key == "rank") {
      std::tie(result.min_rank, result.max_rank) = span_of(value);
      return demand(Demand::rank);
    }
    if (key == "min_rank") {
      result.min_rank = integer(value);
      result.max_rank = std::numeric_limits<std::int64_t>::max();
      return demand(Demand::rank);
    }
    if (key == "not_rank") {
      result.ranks = list(value, integer);
      return demand(Demand::not_rank);
    }
    if (key == "note") {
      result.note = text(value);
      return demand(Demand::note);
    }
    if (key == "if") {
      result.only_if = list(value, condition);
      return true;
    }
    return false;
  });
  if (demands != 1) fail(node, "a condition must make one demand");
  return result;
}

Standing status(const YAML::Node& node) {
  const std::string word = text(node);
  if (word == "runs") return Standing::runs;
  if (word == "loads") return Standing::loads;
  if (word == "refused") return Standing::refused;
  fail(node, fmt::format("status is runs, loads or refused, not {}", quote(word, 40)));
}

void add_types(TargetEntry& entry, const YAML::Node& node, std::vector<std::string> TypeStanding::*standing) {
  pairs(node, "a list of types", [&](const std::string& constraint, const YAML::Node& value) {
    auto found = std::ranges::find(entry.types, constraint, &TypeStanding::constraint);
    if (found == entry.types.end()) {
      entry.types.push_back({.constraint = constraint, .runs = {}, .loads = {}, .refused = {}});
      found = std::prev(entry.types.end());
    }
    (*found).*standing = texts(value);
    return true;
  });
}

TargetEntry entry(const YAML::Node& node) {
  TargetEntry result;
  pairs(node, "an entry", [&](const std::string& key, const YAML::Node& value) {
    if (key == "since") {
      result.since = list(value, [](const YAML::Node& n) { return static_cast<std::int32_t>(integer(n)); });
    } else if (key == "status") {
      result.status = status(value);
    } else if (key == "why") {
      result.why = text(value);
    } else if (key == "types") {
      add_types(result, value, &TypeStanding::runs);
    } else if (key == "loads") {
      add_types(result, value, &TypeStanding::loads);
    } else if (key == "refused") {
      add_types(result, value, &TypeStanding::refused);
    } else if (key == "when") {
      result.when = list(value, condition);
    } else {
      return false;
    }
    return true;
  });
  return result;
}

TargetLimits limits(const YAML::Node& node) {
  TargetLimits result;
  pairs(node, "limits", [&](const std::string& key, const YAML::Node& value) {
    if (key == "opset") {
      pairs(value, "opset", [&](const std::string& domain, const YAML::Node& ends) {
        result.opset[std::string(ir::canonical_domain(domain))] = span_of(ends);
        return true;
      });
    } else if (key == "ir_version") {
      result.ir_version = integer(value);
    } else if (key == "static_shapes") {
      result.static_shapes = flag(value);
    } else if (key == "equal_names") {
      result.equal_names = flag(value);
    } else if (key == "functions") {
      result.functions = flag(value);
    } else if (key == "sparse_initializers") {
      result.sparse_initializers = flag(value);
    } else if (key == "tensor_ports") {
      result.tensor_ports = flag(value);
    } else if (key == "types") {
      result.types = texts(value);
    } else if (key == "narrowed") {
      pairs(value, "narrowed", [&](const std::string& wide, const YAML::Node& narrow) {
        result.narrowed[wide] = text(narrow);
        return true;
      });
    } else {
      return false;
    }
    return true;
  });
  return result;
}

TargetProfile profile(const YAML::Node& root) {
  TargetProfile result;
  pairs(root, "a support profile", [&](const std::string& key, const YAML::Node& value) {
    if (key == "format") {
      if (integer(value) != 1) fail(value, "only format 1 is supported");
    } else if (key == "target") {
      result.name = text(value);
    } else if (key == "about") {
      result.about = text(value);
    } else if (key == "kind") {
      result.measured = text(value) == "measured";
      if (!result.measured && text(value) != "published") fail(value, "kind must be measured or published");
    } else if (key == "version") {
      result.version = text(value);
    } else if (key == "date") {
      result.date = text(value);
    } else if (key == "source") {
      result.source = text(value);
    } else if (key == "command") {
      result.command = text(value);
    } else if (key == "exhaustive") {
      result.exhaustive = flag(value);
    } else if (key == "limits") {
      result.limits = limits(value);
    } else if (key == "operators") {
      pairs(value, "operators", [&](const std::string& domain, const YAML::Node& names) {
        auto& operators = result.operators[std::string(ir::canonical_domain(domain))];
        pairs(names, "a domain", [&](const std::string& name, const YAML::Node& entries) {
          operators[name] = list(entries, entry);
          return true;
        });
        return true;
      });
    } else {
      return false;
    }
    return true;
  });
  if (result.name.empty() || result.version.empty() || result.date.empty() || result.source.empty())
    fail(root, "a support profile must have a target, version, date and source");
  return result;
}

/// `wanted` is the version or its beginning up to a dot; "onnx2tf-2.6.7" is also known as "2.6.7".
bool version_matches(std::string_view version, std::string_view wanted) {
  const auto begins = [&](std::string_view whole) {
    return whole.starts_with(wanted) && (whole.size() == wanted.size() || whole[wanted.size()] == '.');
  };
  const std::size_t dash = version.find('-');
  return begins(version) || (dash != std::string_view::npos && begins(version.substr(dash + 1)));
}

}  // namespace

Result<TargetProfile> parse_target(std::string_view yaml, std::string_view source_name) {
  const auto failed = [&](const YAML::Mark& mark, const std::string& message) {
    return make_error("target-profile", fmt::format("{}:{}: {}", source_name, mark.line + 1, message));
  };
  try {
    return profile(YAML::Load(std::string(yaml)));
  } catch (const Fault& fault) {
    return failed(fault.mark, fault.message);
  } catch (const YAML::Exception& exception) {
    return failed(exception.mark, exception.msg);
  }
}

namespace {

Result<std::shared_ptr<const TargetProfile>> parsed_once(const EmbeddedText& file, const Context& context) {
  return context.cache().get<TargetProfile>(fmt::format("target {}", file.name),
                                            [&] { return parse_target(file.text, fmt::format("{}.yaml", file.name)); });
}

}  // namespace

std::vector<std::string_view> target_names() {
  std::vector<std::string_view> names;
  for (const EmbeddedText& file : embedded_targets()) names.push_back(file.name);
  std::ranges::sort(names);
  return names;
}

Result<std::shared_ptr<const TargetProfile>> load_target(std::string_view name_at_version, const Context& context) {
  const std::size_t at = name_at_version.find('@');
  const std::string_view name = name_at_version.substr(0, at);
  for (const EmbeddedText& file : embedded_targets()) {
    if (file.name != name) continue;
    auto found = parsed_once(file, context);
    if (!found || at == std::string_view::npos) return found;
    const std::string_view wanted = name_at_version.substr(at + 1);
    if (version_matches((*found)->version, wanted)) return found;
    return make_error("unknown-target", fmt::format("the profile of {} is of version {}, not {}", name,
                                                    (*found)->version, quote(wanted, 40)));
  }
  const auto names = target_names();
  const std::string_view close = nearest(name, names);
  Error error = make_error("unknown-target", fmt::format("no support profile exists for {}", quote(name, 40)));
  error.diagnostic.expected = fmt::format("{}", fmt::join(names, ", "));
  if (!close.empty()) error.diagnostic.help = fmt::format("did you mean {}?", close);
  return error;
}

}  // namespace onnxkit::checker
