#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onnxkit/context.h"
#include "onnxkit/dims.h"
#include "onnxkit/result.h"

namespace onnxkit::c {

/// The members of an object with options. Each is asked for by its name; what none asked for is unknown.
class OptionReader {
 public:
  /// NULL and "" are an object without members. Errors: usage for what is no object.
  static Result<OptionReader> parse(const char* text);

  // What is there, else the target stays. A member of another type is an error that finish() tells.
  void read(const char* name, bool& target);
  void read(const char* name, int& target);
  void read(const char* name, std::int64_t& target);
  void read(const char* name, std::uint64_t& target);
  void read(const char* name, std::string& target);
  void read(const char* name, std::optional<double>& target);
  void read(const char* name, std::vector<std::string>& target);
  void read(const char* name, std::vector<std::filesystem::path>& target);
  void read(const char* name, std::map<std::string, std::string>& target);
  void read(const char* name, std::map<std::string, std::int64_t>& target);
  /// One of some words.
  template <class Value>
  void read_word(const char* name, Value& target, const std::vector<std::pair<std::string, Value>>& words) {
    std::string word;
    read(name, word);
    if (word.empty()) return;
    std::string all;
    for (const auto& [known, value] : words) {
      if (known == word) return void(target = value);
      all += (all.empty() ? "" : ", ") + known;
    }
    wrong(name, "one of " + all);
  }

  /// The member as JSON, null where there is none: for those of several types.
  const nlohmann::json* find(const char* name);
  /// The member must be what `what` says: "a list of texts".
  void wrong(const char* name, const std::string& what);

  /// The first fault. Error usage.
  Result<void> finish() const;

 private:
  template <class T, class Is>
  void read_as(const char* name, T& target, Is is, const char* what);

  nlohmann::json object_;
  std::vector<std::string> asked_;
  std::string fault_;
};

/// "dims".
DimSettings dims_of(OptionReader& options);
/// The model with what is said of its inputs; sizes of named dimensions go into `dims`. Errors: those of declare_dims.
Result<Model> sized_model(const Model& model, const DimSettings& settings, DeclaredSizes declared,
                          std::map<std::string, std::int64_t>& dims);
/// "schemas". Errors: those of Context::make, and what the reader found.
Result<Context> context_of(OptionReader& options);
/// The same with "python", "worker_folders", "trust_files" and the limits of workers.
Result<Context> worker_context_of(OptionReader& options);

}  // namespace onnxkit::c
