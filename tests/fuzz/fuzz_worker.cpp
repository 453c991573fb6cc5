// A line of JSON as the answer of a worker, the bytes behind it as its segment: reading fails cleanly, or the values that are read survive being sent.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "libonnxkit/workers/answers.h"
#include "tests/fuzz/property.h"

using namespace onnxkit;
using namespace onnxkit::workers;

namespace {

constexpr std::int64_t id = 1;

std::shared_ptr<const Segment> segment_of(std::string_view bytes) {
  const Piece piece{0, std::as_bytes(std::span(bytes))};
  const auto file = make_segment(bytes.size(), {&piece, 1});
  if (!file) fuzz::broken("a segment can be made", {{"error", file.error().diagnostic.message}});
  const auto segment = Segment::open(*file);
  if (!segment) fuzz::broken("a segment can be opened", {{"error", segment.error().diagnostic.message}});
  return *segment;
}

/// What a host would send, and the bytes of its segment.
struct Message {
  std::string text;
  std::shared_ptr<const Segment> segment;
};

Message message_of(std::span<const NamedValue> values) {
  ValueWriter writer;
  Json list = Json::array();
  for (const NamedValue& value : values) list.push_back(writer.describe(value));
  const auto file = writer.segment();
  if (!file) fuzz::broken("values can be written", {{"error", file.error().diagnostic.message}});
  const auto segment = Segment::open(*file);
  if (!segment) fuzz::broken("what is written can be opened");
  return {list.dump(), *segment};
}

void check_outputs(const exec::RunAnswer& run, std::span<const std::string> names) {
  const Message sent = message_of(run.outputs);
  const Json answer = {{"outputs", Json::parse(sent.text)}, {"samples", Json::array()}};
  const Segments segments = {sent.segment};
  const auto again = read_run(answer, segments, names, 0);
  if (!again)
    fuzz::broken("what is sent can be read", {{"error", again.error().diagnostic.message}, {"sent", sent.text}});
  const Message resent = message_of(again->outputs);
  if (resent.text != sent.text) fuzz::broken("values stay the same", {{"sent", sent.text}, {"resent", resent.text}});
  if (!std::ranges::equal(*resent.segment->range(0, resent.segment->size()),
                          *sent.segment->range(0, sent.segment->size())))
    fuzz::broken("bytes stay the same", {{"sent", sent.text}});
}

void check_run(const Json& answer, std::string_view bytes) {
  Fields ignored;
  std::vector<std::string> names;
  for (const Json& output : ignored.array(answer, "outputs", "")) names.push_back(ignored.text(output, "name", ""));
  const std::size_t samples = ignored.array(answer, "samples", "").size();
  const Segments segments = {segment_of(bytes)};
  const auto run = read_run(answer, segments, names, static_cast<int>(samples));
  if (run) check_outputs(*run, names);
}

}  // namespace

extern "C" int fuzz_worker(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(input.find('\n'), input.size());
  auto answer = read_answer(input.substr(0, line), id, 1);
  if (!answer) answer = read_answer(input.substr(0, line), id, 0);
  if (!answer) return 0;
  if (read_error(*answer).diagnostic.message.empty() && !Fields::member(*answer, "error").is_object())
    fuzz::broken("an error has a message");
  (void)read_hello(*answer);
  (void)read_load(*answer);
  check_run(*answer, input.substr(std::min(line + 1, input.size())));
  return 0;
}
