#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "libonnxkit/spec/op_schema.h"
#include "libonnxkit/spec/schema_pack.h"

namespace onnxkit::spec {

/// Newest opset of a domain of the ONNX standard; 0 for all other domains, com.microsoft too: no pack claims to be complete.
std::int32_t newest_opset(std::string_view domain);
/// True for the domains of the ONNX standard (ai.onnx, ai.onnx.ml, ai.onnx.preview ...).
bool is_official_domain(std::string_view domain);
/// What helps where a model has operators of a domain that no pack describes; empty where nothing is known of the domain.
std::string_view help_for_domain(std::string_view domain);
/// Newest IR version of the schema that the table was generated from, and the onnx release it came in.
std::int32_t newest_ir_version();
std::string_view onnx_release();
/// Least IR version that an official release paired with opset `version` of ai.onnx; 0 when unknown.
std::int32_t ir_version_of_opset(std::int64_t version);

/// The compiled-in schemas of one domain.
struct DomainTable {
  std::string_view domain;
  std::int32_t newest_opset;
  bool official;  ///< part of the ONNX standard; else a schema pack that comes with the library (com.microsoft)
  std::span<const OpSchema>
      schemas;  ///< sorted by (name, since_version), those that runtimes add among them (OpSchema::added_by)
};
/// All of them, sorted by domain.
std::span<const DomainTable> builtin_domains();
/// All schemas of the ONNX standard, sorted by (domain, name, since_version).
std::span<const OpSchema> official_schemas();

/// Lookup over the compiled-in schemas and any packs. Cheap to make: the tables are constexpr, their index by name is made once.
/// Lookups of a const table may run in parallel.
class OpTable {
 public:
  OpTable();
  ~OpTable();
  OpTable(OpTable&&) noexcept;
  OpTable& operator=(OpTable&&) noexcept;
  /// What a pack says of an operator takes precedence, all versions together, over packs added before and over the
  /// compiled-in schemas.
  void add(SchemaPack pack);
  bool knows_domain(std::string_view domain) const;
  /// The version of the standard, or of a pack, in force at `opset`: greatest since_version <= opset; null when the operator did not exist yet or at all.
  /// A deprecated schema is returned as such.
  const OpSchema* find(std::string_view domain, std::string_view name, std::int64_t opset) const;
  /// As find; where the standard has no version yet, the one that a runtime adds (OpSchema::added_by): for whatever runs or infers.
  const OpSchema* find_with_additions(std::string_view domain, std::string_view name, std::int64_t opset) const;
  /// All versions, oldest first, but those that runtimes add.
  std::vector<const OpSchema*> versions(std::string_view domain, std::string_view name) const;
  /// Those that runtimes add, oldest first; older than all of the standard.
  std::vector<const OpSchema*> additions(std::string_view domain, std::string_view name) const;
  /// Deprecated, and no later version is in force: from `schema` on the operator is gone. GroupNormalization 18 is deprecated and not gone,
  /// since 21 redefines it.
  bool is_removed(const OpSchema& schema) const;
  /// Names of all operators of a domain, but those that runtimes add, sorted.
  std::vector<std::string_view> operators(std::string_view domain) const;
  std::vector<std::string_view> domains() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace onnxkit::spec
