#include "converters/opset/engine/registry.h"

namespace onnxkit::opset {

void register_all_steps(StepRegistry& registry);

Way compatible(std::string why) { return {Way::Kind::compatible, std::move(why), nullptr}; }
Way adapt(std::string what, std::function<void(Step&)> function) {
  return {Way::Kind::adapter, std::move(what), std::move(function)};
}
Way never(std::string why) { return {Way::Kind::refusal, std::move(why), nullptr}; }

namespace {

StepRegistry::Key key_of(std::string_view op, std::int32_t version) {
  const std::size_t split = op.rfind("::");
  const bool is_plain = split == std::string_view::npos;
  return {std::string(is_plain ? "" : op.substr(0, split)), std::string(is_plain ? op : op.substr(split + 2)), version};
}

}  // namespace

void StepRegistry::change(Names ops, std::int32_t version, const Change& change) {
  for (const std::string_view op : ops) changes_[key_of(op, version)] = change;
}

void StepRegistry::change(Names ops, std::int32_t version, const Way& up, const Way& down) {
  change(ops, version, {up, down, false});
}

void StepRegistry::types(Names ops, std::initializer_list<std::int32_t> versions) {
  const Way way = compatible("only the allowed types differ");
  for (const std::int32_t version : versions) change(ops, version, {way, way, true});
}

void StepRegistry::introduced(Names ops, std::int32_t version, const Way& down) { change(ops, version, {}, down); }

void StepRegistry::deprecated(Names ops, std::int32_t version, const Way& up) { change(ops, version, up, {}); }

void StepRegistry::before(Names ops, std::int32_t version, const Way& attempt) {
  for (const std::string_view op : ops) before_[key_of(op, version)] = attempt;
}

const Way* StepRegistry::find_before(std::string_view domain, std::string_view op, std::int32_t version) const {
  const auto found = before_.find({std::string(domain), std::string(op), version});
  return found == before_.end() ? nullptr : &found->second;
}

const Change* StepRegistry::find(std::string_view domain, std::string_view op, std::int32_t version) const {
  const auto found = changes_.find({std::string(domain), std::string(op), version});
  return found == changes_.end() ? nullptr : &found->second;
}

const StepRegistry& step_registry() {
  static const StepRegistry registry = [] {
    StepRegistry made;
    register_all_steps(made);
    return made;
  }();
  return registry;
}

}  // namespace onnxkit::opset
