#include "libonnxkit/spec/op_table.h"
#include "libonnxkit/ir/scope.h"

#include <algorithm>
#include <array>
#include <deque>
#include <set>
#include <unordered_map>

namespace onnxkit::spec {
namespace generated {

constexpr std::uint32_t bit(ElementType type) { return std::uint32_t{1} << static_cast<unsigned>(type); }

constexpr auto t_float = bit(ElementType::float32), t_double = bit(ElementType::float64);
constexpr auto t_float16 = bit(ElementType::float16), t_bfloat16 = bit(ElementType::bfloat16);
constexpr auto t_uint8 = bit(ElementType::uint8), t_int8 = bit(ElementType::int8);
constexpr auto t_uint16 = bit(ElementType::uint16), t_int16 = bit(ElementType::int16);
constexpr auto t_uint32 = bit(ElementType::uint32), t_int32 = bit(ElementType::int32);
constexpr auto t_uint64 = bit(ElementType::uint64), t_int64 = bit(ElementType::int64);
constexpr auto t_uint4 = bit(ElementType::uint4), t_int4 = bit(ElementType::int4);
constexpr auto t_uint2 = bit(ElementType::uint2), t_int2 = bit(ElementType::int2);
constexpr auto t_bool = bit(ElementType::boolean), t_string = bit(ElementType::string);
constexpr auto t_complex64 = bit(ElementType::complex64), t_complex128 = bit(ElementType::complex128);
constexpr auto t_float8e4m3fn = bit(ElementType::float8e4m3fn), t_float8e4m3fnuz = bit(ElementType::float8e4m3fnuz);
constexpr auto t_float8e5m2 = bit(ElementType::float8e5m2), t_float8e5m2fnuz = bit(ElementType::float8e5m2fnuz);
constexpr auto t_float8e8m0 = bit(ElementType::float8e8m0), t_float4e2m1 = bit(ElementType::float4e2m1);
constexpr auto t_float6e2m3 = bit(ElementType::float6e2m3), t_float6e3m2 = bit(ElementType::float6e3m2);
// In the order of map_types.
constexpr std::uint32_t map_int64_string = 1, map_int64_float = 2, map_int64_double = 4;
constexpr std::uint32_t map_string_int64 = 8, map_string_float = 16, map_string_double = 32;

#include "libonnxkit/spec/table/op_table.inc"

constexpr bool is_of_standard(const OpSchema& schema) { return schema.added_by.empty(); }

constexpr std::size_t official_count() {
  std::size_t n = 0;
  for (const DomainTable& table : tables)
    if (table.official) n += std::ranges::count_if(table.schemas, is_of_standard);
  return n;
}

constexpr auto official = [] {
  std::array<OpSchema, official_count()> all;
  auto out = all.begin();
  for (const DomainTable& table : tables)
    if (table.official) out = std::ranges::copy_if(table.schemas, out, is_of_standard).out;
  return all;
}();

}  // namespace generated

namespace {

const DomainTable* builtin_domain(std::string_view domain) {
  const std::span<const DomainTable> tables = generated::tables;
  const auto found = std::ranges::lower_bound(tables, domain, {}, &DomainTable::domain);
  return found != tables.end() && found->domain == domain ? &*found : nullptr;
}

/// The schemas of one operator among the sorted schemas of its domain.
std::span<const OpSchema> versions_in(std::span<const OpSchema> schemas, std::string_view name) {
  const auto first = std::ranges::lower_bound(schemas, name, {}, &OpSchema::name);
  // An operator has few versions.
  const auto last = std::find_if(first, schemas.end(), [&](const OpSchema& schema) { return schema.name != name; });
  return {first, last};
}

/// What a runtime adds to an operator is older than the standard's versions, as scripts/gen_op_spec sees to.
struct Versions {
  std::span<const OpSchema> added, standard;
};

Versions parted(std::span<const OpSchema> versions) {
  const auto first = std::ranges::find_if(versions, generated::is_of_standard);
  const auto added = static_cast<std::size_t>(first - versions.begin());
  return {versions.first(added), versions.subspan(added)};
}

const OpSchema* newest_at(std::span<const OpSchema> versions, std::int64_t opset) {
  const auto next = std::ranges::upper_bound(versions, opset, {}, &OpSchema::since_version);
  return next == versions.begin() ? nullptr : &*std::prev(next);
}

/// Versions by name, of every built-in domain. Rules ask for an operator about ten times for each node, and bisection compares names
/// that differ at their ends.
class BuiltinIndex {
 public:
  BuiltinIndex() {
    for (const DomainTable& table : builtin_domains()) {
      ByName& names = domains_.emplace_back();
      for (auto at = table.schemas.begin(); at != table.schemas.end();) {
        const std::span<const OpSchema> versions = versions_in({at, table.schemas.end()}, at->name);
        names.emplace(at->name, parted(versions));
        at += std::ssize(versions);
      }
    }
  }

  Versions versions(std::string_view domain, std::string_view name) const {
    const DomainTable* table = builtin_domain(domain);
    if (!table) return {};
    const ByName& names = domains_[static_cast<std::size_t>(table - builtin_domains().data())];
    const auto found = names.find(name);
    return found != names.end() ? found->second : Versions();
  }

 private:
  using ByName = std::unordered_map<std::string_view, Versions>;
  std::vector<ByName> domains_;  ///< in the order of builtin_domains()
};

const BuiltinIndex& builtin_index() {
  static const BuiltinIndex index;
  return index;
}

}  // namespace

std::int32_t newest_opset(std::string_view domain) {
  const DomainTable* table = builtin_domain(ir::canonical_domain(domain));
  return table && table->official ? table->newest_opset : 0;
}

bool is_official_domain(std::string_view domain) {
  const DomainTable* table = builtin_domain(ir::canonical_domain(domain));
  return table && table->official;
}

std::string_view help_for_domain(std::string_view domain) {
  if (domain == "com.microsoft.nchwc")
    return "ONNX Runtime saved the model for one machine; have it saved with graph optimization level EXTENDED or "
           "lower";
  return {};
}

std::int32_t newest_ir_version() { return generated::ir_version; }
std::string_view onnx_release() { return generated::release; }

std::int32_t ir_version_of_opset(std::int64_t version) {
  if (version < 1 || version > std::ssize(generated::ir_versions)) return 0;
  return generated::ir_versions[version - 1];
}

std::span<const DomainTable> builtin_domains() { return generated::tables; }
std::span<const OpSchema> official_schemas() { return generated::official; }

struct OpTable::State {
  std::deque<SchemaPack> packs;  ///< newest first

  /// All versions of an operator from the source that has precedence.
  Versions versions(std::string_view domain, std::string_view name) const {
    for (const SchemaPack& pack : packs)
      if (pack.domain() == domain)
        if (const auto found = versions_in(pack.schemas(), name); !found.empty())
          return {.added = {}, .standard = found};
    return builtin_index().versions(domain, name);
  }
};

OpTable::OpTable() : state_(std::make_unique<State>()) {}
OpTable::~OpTable() = default;
OpTable::OpTable(OpTable&&) noexcept = default;
OpTable& OpTable::operator=(OpTable&&) noexcept = default;

void OpTable::add(SchemaPack pack) { state_->packs.push_front(std::move(pack)); }

bool OpTable::knows_domain(std::string_view domain) const {
  const auto canonical = ir::canonical_domain(domain);
  return builtin_domain(canonical) ||
         std::ranges::any_of(state_->packs, [&](const SchemaPack& pack) { return pack.domain() == canonical; });
}

const OpSchema* OpTable::find(std::string_view domain, std::string_view name, std::int64_t opset) const {
  return newest_at(state_->versions(ir::canonical_domain(domain), name).standard, opset);
}

const OpSchema* OpTable::find_with_additions(std::string_view domain, std::string_view name, std::int64_t opset) const {
  const Versions versions = state_->versions(ir::canonical_domain(domain), name);
  const OpSchema* standard = newest_at(versions.standard, opset);
  return standard ? standard : newest_at(versions.added, opset);
}

std::vector<const OpSchema*> OpTable::versions(std::string_view domain, std::string_view name) const {
  std::vector<const OpSchema*> result;
  for (const OpSchema& schema : state_->versions(ir::canonical_domain(domain), name).standard)
    result.push_back(&schema);
  return result;
}

std::vector<const OpSchema*> OpTable::additions(std::string_view domain, std::string_view name) const {
  std::vector<const OpSchema*> result;
  for (const OpSchema& schema : state_->versions(ir::canonical_domain(domain), name).added) result.push_back(&schema);
  return result;
}

bool OpTable::is_removed(const OpSchema& schema) const {
  return schema.deprecated && state_->versions(schema.domain, schema.name).standard.back().deprecated;
}

std::vector<std::string_view> OpTable::operators(std::string_view domain) const {
  const auto canonical = ir::canonical_domain(domain);
  std::set<std::string_view> names;
  const auto collect = [&](std::span<const OpSchema> schemas) {
    for (const OpSchema& schema : schemas)
      if (generated::is_of_standard(schema)) names.insert(schema.name);
  };
  if (const DomainTable* table = builtin_domain(canonical)) collect(table->schemas);
  for (const SchemaPack& pack : state_->packs)
    if (pack.domain() == canonical) collect(pack.schemas());
  return {names.begin(), names.end()};
}

std::vector<std::string_view> OpTable::domains() const {
  std::set<std::string_view> names;
  for (const DomainTable& table : generated::tables) names.insert(table.domain);
  for (const SchemaPack& pack : state_->packs) names.insert(pack.domain());
  return {names.begin(), names.end()};
}

}  // namespace onnxkit::spec
