#include "converters/containers/json.h"

#include <limits>
#include <nlohmann/json.hpp>

namespace onnxkit::containers {

/// What nlohmann's parser finds, one after another.
struct JsonReader final : nlohmann::json_sax<nlohmann::json> {
  explicit JsonReader(JsonDocument& target) : document(target) {}

  bool null() override { return add(JsonDocument::Kind::null); }
  bool boolean(bool value) override {
    return add(JsonDocument::Kind::boolean, [&](auto& entry) { entry.integer = value ? 1 : 0; });
  }
  bool number_integer(std::int64_t value) override {
    return add(JsonDocument::Kind::integer, [&](auto& entry) { entry.integer = value; });
  }
  bool number_unsigned(std::uint64_t value) override {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return number_float(static_cast<double>(value), {});
    return number_integer(static_cast<std::int64_t>(value));
  }
  bool number_float(double value, const std::string&) override {
    return add(JsonDocument::Kind::real, [&](auto& entry) { entry.real = value; });
  }
  bool string(std::string& value) override {
    const std::string_view kept = document.strings_.keep(value);
    return add(JsonDocument::Kind::text, [&](auto& entry) { entry.text = kept; });
  }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(JsonDocument::Kind::object); }
  bool start_array(std::size_t) override { return open(JsonDocument::Kind::array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& value) override {
    name = document.strings_.keep(value);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    fault = make_error("json-syntax", "the text is not JSON");
    fault->diagnostic.location.byte_offset = position;
    return false;
  }

  template <class Fill>
  bool add(JsonDocument::Kind kind, Fill&& fill) {
    std::vector<JsonDocument::Entry>& entries = document.entries_;
    if (entries.size() >= std::numeric_limits<std::uint32_t>::max() - 1) {
      fault = make_error("json-too-large", "the JSON text has too many values");
      return false;
    }
    if (!open_entries.empty()) ++entries[open_entries.back()].size;
    JsonDocument::Entry& entry = entries.emplace_back();
    entry.kind = kind;
    entry.name = std::exchange(name, {});
    entry.end = static_cast<std::uint32_t>(entries.size());
    fill(entry);
    return true;
  }
  bool add(JsonDocument::Kind kind) {
    return add(kind, [](auto&) {});
  }
  bool open(JsonDocument::Kind kind) {
    constexpr std::size_t max_depth = 256;
    if (open_entries.size() == max_depth) {
      fault = make_error("nesting-depth", "the JSON text is nested too deeply");
      return false;
    }
    if (!add(kind)) return false;
    open_entries.push_back(static_cast<std::uint32_t>(document.entries_.size() - 1));
    return true;
  }
  bool close() {
    document.entries_[open_entries.back()].end = static_cast<std::uint32_t>(document.entries_.size());
    open_entries.pop_back();
    return true;
  }

  JsonDocument& document;
  std::vector<std::uint32_t> open_entries;
  std::string_view name;
  std::optional<Error> fault;
};

Result<std::unique_ptr<const JsonDocument>> JsonDocument::parse(std::string_view text) {
  auto document = std::make_unique<JsonDocument>();
  JsonReader reader(*document);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &reader)) {
    if (reader.fault) return *std::move(reader.fault);
    return make_error("json-syntax", "the text is not JSON");
  }
  return std::unique_ptr<const JsonDocument>(std::move(document));
}

bool Json::is_null() const { return exists() && document_->entries_[index_].kind == JsonDocument::Kind::null; }
bool Json::is_object() const { return exists() && document_->entries_[index_].kind == JsonDocument::Kind::object; }
bool Json::is_array() const { return exists() && document_->entries_[index_].kind == JsonDocument::Kind::array; }

std::optional<bool> Json::boolean() const {
  if (!exists() || document_->entries_[index_].kind != JsonDocument::Kind::boolean) return std::nullopt;
  return document_->entries_[index_].integer != 0;
}

std::optional<std::int64_t> Json::integer() const {
  if (!exists() || document_->entries_[index_].kind != JsonDocument::Kind::integer) return std::nullopt;
  return document_->entries_[index_].integer;
}

std::optional<double> Json::real() const {
  if (!exists()) return std::nullopt;
  const JsonDocument::Entry& entry = document_->entries_[index_];
  if (entry.kind == JsonDocument::Kind::integer) return static_cast<double>(entry.integer);
  if (entry.kind == JsonDocument::Kind::real) return entry.real;
  if (entry.kind != JsonDocument::Kind::text) return std::nullopt;
  if (entry.text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (entry.text == "Infinity") return std::numeric_limits<double>::infinity();
  if (entry.text == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::optional<std::string_view> Json::text() const {
  if (!exists() || document_->entries_[index_].kind != JsonDocument::Kind::text) return std::nullopt;
  return document_->entries_[index_].text;
}

Json Json::operator[](std::string_view member) const {
  if (!is_object()) return {};
  for (const Json value : *this)
    if (value.name() == member) return value;
  return {};
}

std::string_view Json::name() const { return exists() ? document_->entries_[index_].name : std::string_view(); }
std::size_t Json::size() const { return exists() ? document_->entries_[index_].size : 0; }

Json::Iterator& Json::Iterator::operator++() {
  at_.index_ = at_.document_->entries_[at_.index_].end;
  return *this;
}

Json::Iterator Json::begin() const {
  return Iterator(is_object() || is_array() ? Json(document_, index_ + 1) : Json());
}

Json::Iterator Json::end() const {
  return Iterator(is_object() || is_array() ? Json(document_, document_->entries_[index_].end) : Json());
}

}  // namespace onnxkit::containers
