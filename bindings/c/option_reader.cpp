#include "bindings/c/option_reader.h"

#include <algorithm>
#include <limits>

#include <dlfcn.h>

#include "libonnxkit/base/text/nearest.h"
#include "onnxkit/c_api.h"
#include "onnxkit/diagnostic.h"
#include "tools/actions/python.h"

namespace onnxkit::c {
namespace {

using nlohmann::json;

bool is_text(const json& member) { return member.is_string(); }
bool is_texts(const json& member) { return member.is_array() && std::all_of(member.begin(), member.end(), is_text); }
bool is_text_map(const json& member) {
  return member.is_object() && std::all_of(member.begin(), member.end(), is_text);
}

/// JSON has one type for all numbers.
bool is_whole(const json& member) {
  return member.is_number_integer() &&
         (!member.is_number_unsigned() ||
          member.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
}
bool is_int(const json& member) {
  return is_whole(member) && member.get<std::int64_t>() >= 0 &&
         member.get<std::int64_t>() <= std::numeric_limits<int>::max();
}
bool is_whole_map(const json& member) {
  return member.is_object() && std::all_of(member.begin(), member.end(), is_whole);
}

/// The library lies in a folder beside share; the build tree has a link of that name. Nothing where it cannot be told.
std::optional<std::filesystem::path> own_workers() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&onnxkit_version_text), &info) == 0 || info.dli_fname == nullptr)
    return std::nullopt;
  std::error_code status;
  const std::filesystem::path library = std::filesystem::canonical(info.dli_fname, status);
  if (status) return std::nullopt;
  return library.parent_path() / ONNXKIT_WORKERS_FROM_LIB;
}

}  // namespace

Result<OptionReader> OptionReader::parse(const char* text) {
  OptionReader reader;
  reader.object_ = json::object();
  if (text == nullptr || *text == '\0') return reader;
  reader.object_ = json::parse(text, nullptr, false);
  if (reader.object_.is_object()) return reader;
  return make_error("usage", reader.object_.is_discarded() ? "the options are not JSON" : "the options are no object");
}

const json* OptionReader::find(const char* name) {
  asked_.emplace_back(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void OptionReader::wrong(const char* name, const std::string& what) {
  if (fault_.empty()) fault_ = "the option " + quote(name) + " must be " + what;
}

template <class T, class Is>
void OptionReader::read_as(const char* name, T& target, Is is, const char* what) {
  const json* member = find(name);
  if (!member) return;
  if (!is(*member)) return wrong(name, what);
  target = member->get<T>();
}

void OptionReader::read(const char* name, bool& target) {
  read_as(
      name, target, [](const json& member) { return member.is_boolean(); }, "true or false");
}
void OptionReader::read(const char* name, int& target) { read_as(name, target, is_int, "a whole number from 0 on"); }
void OptionReader::read(const char* name, std::int64_t& target) { read_as(name, target, is_whole, "a whole number"); }
void OptionReader::read(const char* name, std::uint64_t& target) {
  read_as(
      name, target, [](const json& member) { return member.is_number_unsigned(); }, "a whole number from 0 on");
}
void OptionReader::read(const char* name, std::string& target) { read_as(name, target, is_text, "a text"); }
void OptionReader::read(const char* name, std::optional<double>& target) {
  double number = 0;
  const json* member = find(name);
  if (!member) return;
  if (!member->is_number() || !((number = member->get<double>()) >= 0)) return wrong(name, "a number from 0 on");
  target = number;
}
void OptionReader::read(const char* name, std::vector<std::string>& target) {
  read_as(name, target, is_texts, "a list of texts");
}
void OptionReader::read(const char* name, std::vector<std::filesystem::path>& target) {
  std::vector<std::string> texts;
  read(name, texts);
  target.insert(target.end(), texts.begin(), texts.end());
}
void OptionReader::read(const char* name, std::map<std::string, std::string>& target) {
  read_as(name, target, is_text_map, "an object of texts");
}
void OptionReader::read(const char* name, std::map<std::string, std::int64_t>& target) {
  read_as(name, target, is_whole_map, "an object of whole numbers");
}

Result<void> OptionReader::finish() const {
  if (!fault_.empty()) return make_error("usage", fault_);
  for (const auto& [name, value] : object_.items()) {
    if (std::find(asked_.begin(), asked_.end(), name) != asked_.end()) continue;
    Error error = make_error("usage", "the option " + quote(name) + " is unknown");
    const std::vector<std::string_view> known(asked_.begin(), asked_.end());
    if (const std::string_view meant = nearest(name, known); !meant.empty())
      error.diagnostic.help = "did you mean " + std::string(meant) + "?";
    return error;
  }
  return {};
}

DimSettings dims_of(OptionReader& options) {
  DimSettings dims;
  options.read("dims", dims.sizes);
  return dims;
}

Result<Model> sized_model(const Model& model, const DimSettings& settings, DeclaredSizes declared,
                          std::map<std::string, std::int64_t>& dims) {
  Model sized = model;
  auto left = declare_dims(sized, settings, declared);
  if (!left) return left.error();
  dims = *std::move(left);
  return sized;
}

Result<Context> context_of(OptionReader& options) {
  ContextOptions made;
  options.read("schemas", made.schemas);
  if (auto read = options.finish(); !read) return read.error();
  return Context::make(std::move(made));
}

Result<Context> worker_context_of(OptionReader& options) {
  ContextOptions made;
  WorkerSettings& workers = made.workers;
  workers.python = tools::usual_python();
  options.read("schemas", made.schemas);
  options.read("python", workers.python);
  options.read("worker_folders", workers.folders);
  options.read("trust_files", workers.trust_files);
  options.read("start_ms", workers.limits.start_ms);
  options.read("load_ms", workers.limits.load_ms);
  options.read("run_ms", workers.limits.run_ms);
  options.read("worker_bytes", workers.limits.memory_bytes);
  if (auto own = own_workers()) workers.folders.push_back(*std::move(own));
  if (auto read = options.finish(); !read) return read.error();
  return Context::make(std::move(made));
}

}  // namespace onnxkit::c
