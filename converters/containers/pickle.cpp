#include "converters/containers/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>

#include <fmt/format.h>

namespace onnxkit::containers {

namespace {

Error malformed_pickle(std::string message) {
  return make_error("malformed-pickle", "the pickle is damaged: " + std::move(message));
}

bool is_allowed(std::string_view name, const PickleNames& allowed) {
  if (!allowed.prefix.empty() && name.starts_with(allowed.prefix)) return true;
  return std::any_of(allowed.names.begin(), allowed.names.end(), [&](std::string_view pattern) {
    const std::size_t star = pattern.find('*');
    if (star == pattern.npos) return name == pattern;
    const std::string_view begin = pattern.substr(0, star), end = pattern.substr(star + 1);
    return name.size() >= begin.size() + end.size() && name.starts_with(begin) && name.ends_with(end);
  });
}

}  // namespace

/// The machine of the pickle format. Each opcode makes one value at most and takes one byte at least, so that memory is bounded by the
/// size of the file; nothing is ever copied.
class PickleReader {
 public:
  PickleReader(PickleDocument& document, const PickleNames& allowed)
      : document_(document), allowed_(allowed), left_(document.bytes_) {}

  Result<void> run() {
    while (true) {
      const auto code = number<std::uint8_t>();
      if (!code) return malformed_pickle("it ends without its last opcode");
      constexpr char stop = '.';
      if (*code == static_cast<std::uint8_t>(stop)) break;
      if (document_.entries_.size() >= most_values) return make_error("memory-limit", "the pickle has too many values");
      if (auto done = step(static_cast<char>(*code)); !done) return done;
    }
    const auto root = pop();
    if (!root) return malformed_pickle("it has no value");
    document_.root_ = *root;
    return {};
  }

 private:
  using Kind = PickleDocument::Kind;
  using Entry = PickleDocument::Entry;
  using Index = std::uint32_t;
  static constexpr std::size_t most_values = std::size_t{1} << 23;

  Result<void> step(char code) {
    if (const auto done = scalar(code)) return *done ? Result<void>() : cut_short();
    if (const auto done = memo(code)) return *done ? Result<void>() : malformed_pickle("a memo entry is missing");
    if (const auto done = container(code)) return *done ? Result<void>() : malformed_pickle("its stack is too short");
    switch (code) {
      case '\x80':  // PROTO
        return protocol();
      case '\x95':  // FRAME
        return number<std::uint64_t>() ? Result<void>() : cut_short();
      case 'c':
        return global();
      case '\x93':
        return stack_global();
      case 'R':
      case '\x81':  // REDUCE, NEWOBJ
        return call();
      case 'b':
        return build();
      default:
        return make_error("not-supported", fmt::format("the pickle uses opcode 0x{:02x}, which is not read",
                                                       static_cast<unsigned char>(code)));
    }
  }

  static Error cut_short() { return malformed_pickle("it ends inside an opcode"); }

  // ---- bytes

  template <class T>
  std::optional<T> number() {
    if (left_.size() < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, left_.data(), sizeof(T));
    left_.remove_prefix(sizeof(T));
    return value;
  }

  template <class Length>
  std::optional<std::string_view> counted_text() {
    const auto length = number<Length>();
    if (!length || *length > left_.size()) return std::nullopt;
    return take(static_cast<std::size_t>(*length));
  }

  std::string_view take(std::size_t length) {
    const std::string_view taken = left_.substr(0, length);
    left_.remove_prefix(length);
    return taken;
  }

  std::optional<std::string_view> line() {
    const std::size_t end = left_.find('\n');
    if (end == left_.npos) return std::nullopt;
    const std::string_view text = take(end);
    left_.remove_prefix(1);
    return text;
  }

  // ---- the stack

  Index add(Entry entry) {
    document_.entries_.push_back(std::move(entry));
    return static_cast<Index>(document_.entries_.size() - 1);
  }
  bool push(Entry entry) {
    stack_.push_back(add(std::move(entry)));
    return true;
  }
  bool push(Kind kind, std::vector<Index> parts = {}) {
    Entry entry;
    entry.kind = kind;
    entry.parts = std::move(parts);
    return push(std::move(entry));
  }

  /// Never takes what lies below the last mark.
  std::optional<Index> pop() {
    if (stack_.size() <= floor()) return std::nullopt;
    const Index top = stack_.back();
    stack_.pop_back();
    return top;
  }
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  std::optional<std::vector<Index>> pop_to_mark() {
    if (marks_.empty()) return std::nullopt;
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Index> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }
  std::optional<std::vector<Index>> pop_some(std::size_t count) {
    if (stack_.size() < floor() + count) return std::nullopt;
    const auto begin = stack_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<Index> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    return items;
  }

  // ---- opcodes. These tell by nothing that the opcode is not theirs, by false that it fails.

  std::optional<bool> scalar(char code) {
    switch (code) {
      case 'N':
        return push(Kind::none);
      case '\x88':
      case '\x89':
        return push_integer(code == '\x88' ? 1 : 0, Kind::boolean);
      case 'J':
        return push_integer(number<std::int32_t>());
      case 'K':
        return push_integer(number<std::uint8_t>());
      case 'M':
        return push_integer(number<std::uint16_t>());
      case '\x8a':
        return push_long(counted_text<std::uint8_t>());
      case '\x8b':
        return push_long(counted_text<std::uint32_t>());
      case 'G':
        return push_real();
      case 'X':
      case 'T':
      case 'B':
        return push_text(counted_text<std::uint32_t>());
      case 'U':
      case 'C':
      case '\x8c':
        return push_text(counted_text<std::uint8_t>());
      case '\x8d':
      case '\x8e':
        return push_text(counted_text<std::uint64_t>());
      default:
        return std::nullopt;
    }
  }

  bool push_integer(std::optional<std::int64_t> value, Kind kind = Kind::integer) {
    if (!value) return false;
    Entry entry;
    entry.kind = kind;
    entry.integer = *value;
    return push(std::move(entry));
  }

  /// Little-endian two's complement of any length; what is longer than 64 bits is no number of a model.
  bool push_long(std::optional<std::string_view> bytes) {
    if (!bytes || bytes->size() > sizeof(std::int64_t)) return false;
    std::uint64_t value = !bytes->empty() && static_cast<signed char>(bytes->back()) < 0 ? ~std::uint64_t{0} : 0;
    std::memcpy(&value, bytes->data(), bytes->size());
    return push_integer(static_cast<std::int64_t>(value));
  }

  /// Of the few opcodes one has the other byte order.
  bool push_real() {
    const auto bits = number<std::uint64_t>();
    if (!bits) return false;
    Entry entry;
    entry.kind = Kind::real;
    entry.real = std::bit_cast<double>(__builtin_bswap64(*bits));
    return push(std::move(entry));
  }

  bool push_text(std::optional<std::string_view> text) {
    if (!text) return false;
    Entry entry;
    entry.kind = Kind::text;
    entry.text = *text;
    return push(std::move(entry));
  }

  std::optional<bool> memo(char code) {
    switch (code) {
      case 'q':
        return remember(number<std::uint8_t>());
      case 'r':
        return remember(number<std::uint32_t>());
      case '\x94':
        return remember(static_cast<std::uint32_t>(memo_.size()));
      case 'h':
        return recall(number<std::uint8_t>());
      case 'j':
        return recall(number<std::uint32_t>());
      default:
        return std::nullopt;
    }
  }

  bool remember(std::optional<std::uint32_t> key) {
    if (!key || stack_.size() <= floor()) return false;
    memo_[*key] = stack_.back();
    return true;
  }
  bool recall(std::optional<std::uint32_t> key) {
    const auto found = key ? memo_.find(*key) : memo_.end();
    if (found == memo_.end()) return false;
    stack_.push_back(found->second);
    return true;
  }

  std::optional<bool> container(char code) {
    switch (code) {
      case '(':
        marks_.push_back(stack_.size());
        return true;
      case '0':
        return pop().has_value();
      case '1':
        return pop_to_mark().has_value();
      case '2':
        if (stack_.size() <= floor()) return false;
        stack_.push_back(stack_.back());
        return true;
      case ')':
        return push(Kind::tuple);
      case '\x85':
      case '\x86':
      case '\x87':
        return push_some(Kind::tuple, pop_some(static_cast<std::size_t>(static_cast<unsigned char>(code) - 0x84)));
      case 't':
        return push_some(Kind::tuple, pop_to_mark());
      case ']':
        return push(Kind::list);
      case 'l':
        return push_some(Kind::list, pop_to_mark());
      case '}':
        return push(Kind::dict);
      case 'd':
        return push_some(Kind::dict, pop_to_mark());
      case 'a':
        return extend(Kind::list, pop_some(1));
      case 'e':
        return extend(Kind::list, pop_to_mark());
      case 's':
        return extend(Kind::dict, pop_some(2));
      case 'u':
        return extend(Kind::dict, pop_to_mark());
      case 'Q':
        return push_some(Kind::persistent, pop_some(1));
      default:
        return std::nullopt;
    }
  }

  bool push_some(Kind kind, std::optional<std::vector<Index>> parts) {
    if (!parts || (kind == Kind::dict && parts->size() % 2 != 0)) return false;
    return push(kind, *std::move(parts));
  }

  /// Items for the list, or pairs for the dict, on top.
  bool extend(Kind kind, std::optional<std::vector<Index>> parts) {
    if (!parts || stack_.size() <= floor() || (kind == Kind::dict && parts->size() % 2 != 0)) return false;
    Entry& target = document_.entries_[stack_.back()];
    if (target.kind != kind) return false;
    target.parts.insert(target.parts.end(), parts->begin(), parts->end());
    return true;
  }

  Result<void> protocol() {
    const auto version = number<std::uint8_t>();
    if (!version) return cut_short();
    if (*version >= 2 && *version <= 4) return {};
    Error error = make_error("not-supported", "the pickle has a protocol that is not read");
    error.diagnostic.expected = "2 to 4";
    error.diagnostic.found = std::to_string(*version);
    return error;
  }

  Result<void> global() {
    const auto module = line();
    const auto name = module ? line() : std::nullopt;
    return name ? push_global(*module, *name) : cut_short();
  }

  Result<void> stack_global() {
    const auto parts = pop_some(2);
    if (!parts) return malformed_pickle("its stack is too short");
    const Entry &module = document_.entries_[(*parts)[0]], &name = document_.entries_[(*parts)[1]];
    if (module.kind != Kind::text || name.kind != Kind::text)
      return malformed_pickle("the name of a class is not a text");
    return push_global(module.text, name.text);
  }

  Result<void> push_global(std::string_view module, std::string_view name) {
    std::string full = fmt::format("{}.{}", module, name);
    if (!is_allowed(full, allowed_)) {
      Error error =
          make_error("not-supported", fmt::format("the pickle names {}, which is not a part of weights", quote(full)));
      error.diagnostic.help = "the classes and functions of a pickle are never looked up or called; save a state_dict";
      return error;
    }
    Entry entry;
    entry.kind = Kind::global;
    entry.text = *document_.names_.emplace_back(std::make_unique<std::string>(std::move(full)));
    push(std::move(entry));
    return {};
  }

  Result<void> call() {
    auto parts = pop_some(2);
    if (!parts) return malformed_pickle("its stack is too short");
    const Entry& callee = document_.entries_[(*parts)[0]];
    if (callee.kind != Kind::global) return malformed_pickle("what is called is not a function");
    // An item of an enumeration of TorchScript is called with its value alone.
    const bool is_of_script = callee.text.starts_with("__torch__.");
    if (document_.entries_[(*parts)[1]].kind != Kind::tuple && !is_of_script)
      return malformed_pickle("arguments are no tuple");
    // An ordered dict is a dict; its pairs follow.
    if (callee.text == "collections.OrderedDict") {
      push(Kind::dict);
    } else {
      push(Kind::object, *std::move(parts));
    }
    return {};
  }

  Result<void> build() {
    const auto state = pop();
    if (!state || stack_.size() <= floor()) return malformed_pickle("its stack is too short");
    Entry& target = document_.entries_[stack_.back()];
    if (target.kind == Kind::dict) return {};  // attributes of an ordered dict: "_metadata"
    if (target.kind != Kind::object || target.parts.size() != 2)
      return malformed_pickle("what a state is given to is not a new object");
    target.parts.push_back(*state);
    return {};
  }

  PickleDocument& document_;
  const PickleNames& allowed_;
  std::string_view left_;
  std::vector<Index> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint32_t, Index> memo_;
};

Result<std::unique_ptr<const PickleDocument>> PickleDocument::parse(std::string bytes, const PickleNames& allowed) {
  auto document = std::make_unique<PickleDocument>();
  document->bytes_ = std::move(bytes);
  if (auto read = PickleReader(*document, allowed).run(); !read) return std::move(read).error();
  return Result<std::unique_ptr<const PickleDocument>>(std::move(document));
}

// ---- values

bool Pickle::is_none() const { return exists() && document_->entry(index_)->kind == PickleDocument::Kind::none; }
bool Pickle::is_list() const { return exists() && document_->entry(index_)->kind == PickleDocument::Kind::list; }
bool Pickle::is_tuple() const { return exists() && document_->entry(index_)->kind == PickleDocument::Kind::tuple; }
bool Pickle::is_dict() const { return exists() && document_->entry(index_)->kind == PickleDocument::Kind::dict; }
bool Pickle::is_object() const { return exists() && document_->entry(index_)->kind == PickleDocument::Kind::object; }

std::optional<bool> Pickle::boolean() const {
  if (!exists() || document_->entry(index_)->kind != PickleDocument::Kind::boolean) return std::nullopt;
  return document_->entry(index_)->integer != 0;
}
std::optional<std::int64_t> Pickle::integer() const {
  if (!exists() || document_->entry(index_)->kind != PickleDocument::Kind::integer) return std::nullopt;
  return document_->entry(index_)->integer;
}
std::optional<double> Pickle::real() const {
  if (!exists() || document_->entry(index_)->kind != PickleDocument::Kind::real) return std::nullopt;
  return document_->entry(index_)->real;
}
std::optional<std::string_view> Pickle::text() const {
  if (!exists() || document_->entry(index_)->kind != PickleDocument::Kind::text) return std::nullopt;
  return document_->entry(index_)->text;
}
std::optional<std::string_view> Pickle::global() const {
  if (!exists() || document_->entry(index_)->kind != PickleDocument::Kind::global) return std::nullopt;
  return document_->entry(index_)->text;
}

std::size_t Pickle::size() const {
  if (is_dict()) return document_->entry(index_)->parts.size() / 2;
  return is_list() || is_tuple() ? document_->entry(index_)->parts.size() : 0;
}

Pickle Pickle::part(std::size_t index) const {
  const std::vector<std::uint32_t>& parts = document_->entry(index_)->parts;
  return index < parts.size() ? Pickle(document_, parts[index]) : Pickle();
}

Pickle Pickle::operator[](std::size_t index) const { return is_list() || is_tuple() ? part(index) : Pickle(); }
Pickle Pickle::key(std::size_t index) const { return is_dict() ? part(2 * index) : Pickle(); }
Pickle Pickle::value(std::size_t index) const { return is_dict() ? part(2 * index + 1) : Pickle(); }

Pickle Pickle::operator[](std::string_view wanted) const {
  for (std::size_t i = size(); is_dict() && i-- > 0;)
    if (key(i).text() == wanted) return value(i);
  return {};
}

Pickle Pickle::callee() const { return is_object() ? part(0) : Pickle(); }
Pickle Pickle::arguments() const { return is_object() ? part(1) : Pickle(); }
Pickle Pickle::state() const { return is_object() ? part(2) : Pickle(); }
Pickle Pickle::persistent_id() const {
  return exists() && document_->entry(index_)->kind == PickleDocument::Kind::persistent ? part(0) : Pickle();
}

}  // namespace onnxkit::containers
