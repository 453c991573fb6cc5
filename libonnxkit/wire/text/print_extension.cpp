#include "libonnxkit/wire/text/print_extension.h"

namespace onnxkit::wire::text {

void Printer::emit(const Extras& extras) {
  if (!extras.empty()) emit_block(extras);
}

void Printer::emit_block(const Extras& extras) {
  const bool comment = is_comment(extras);
  const bool line_start = out_.empty() || out_.back() == '\n';
  if (!line_start) put(comment ? "  " : " ");
  put(comment ? "#@{" : "@{");
  std::string fields = extras.skippable;
  if (!extras.required.empty()) add(fields, extras.required);
  out_ += fields;
  out_ += '}';
  comment_open_ = comment;
}

void Printer::emit_inner(const Extras& inner, const Extras& outer) {
  if (!inner.empty() || outer.empty()) return emit(inner);
  emit_block({});
}

void Printer::integer(std::int64_t number) {
  leave_comment();
  append_integer(out_, number);
}

void Printer::value(const Text& text) {
  leave_comment();
  append_string(out_, text, one_line_);
}

void Printer::value(const std::vector<std::int64_t>& numbers) {
  put("[");
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) put(", ");
    integer(numbers[i]);
  }
  put("]");
}

void Printer::value(const std::vector<Text>& texts) {
  put("[");
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) put(", ");
    value(texts[i]);
  }
  put("]");
}

void Printer::value(const std::vector<ir::StringEntry>& entries) {
  put("[");
  list(entries.size(), false, [&](std::size_t i) {
    const ir::StringEntry& entry = entries[i];
    value(entry.key);
    put(": ");
    value(entry.value);
    Extras extras = this->extras(entry, bits(1, 2));
    if (!entry.key.present()) add(extras.skippable, "key: none");
    if (!entry.value.present()) add(extras.skippable, "value: none");
    return extras;
  });
  put("]");
}

}  // namespace onnxkit::wire::text
