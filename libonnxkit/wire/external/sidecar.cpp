#include "libonnxkit/wire/external/sidecar.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>

#include "libonnxkit/ir/tensor/tensor_data.h"
#include "libonnxkit/ir/tensor/tensors.h"

namespace onnxkit::wire {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t cache_line = 64;

/// A tensor on its way into a data file.
struct Item {
  const ir::Tensor* tensor = nullptr;
  std::span<const std::byte> bytes;  ///< empty for one with typed data
  std::uint64_t size = 0;
  std::size_t segment = 0;
  std::uint64_t within = 0;  ///< offset in the segment
};

Error about(Error error, const ir::Tensor& tensor) {
  error.diagnostic.location.item = "tensor";
  error.diagnostic.location.item_name = std::string(tensor.name.view());
  return error;
}

/// Bytes that the tensor would take in a data file; 0 when it has to stay as it is.
std::uint64_t extractable_size(const ir::Tensor& tensor) {
  const auto size = ir::expected_bytes(tensor);
  if (!size || tensor.is_external()) return 0;
  if (tensor.raw_data.present()) return tensor.raw_data.size() == *size ? *size : 0;
  const ir::TypedField field = ir::typed_field_of(ir::element_type_of(tensor));
  const auto entries = ir::entry_count(tensor, field);
  const auto wanted = ir::expected_entries(ir::element_type_of(tensor), *ir::element_count(tensor));
  return entries && entries == wanted ? *size : 0;
}

/// Tensors whose bytes overlap share a segment, so that no byte is written twice. Segments come in the order of the model.
std::vector<Segment> make_segments(std::vector<Item>& items) {
  std::vector<std::size_t> by_address(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) by_address[i] = i;
  const auto start = [&](std::size_t i) { return items[i].bytes.data(); };
  std::sort(by_address.begin(), by_address.end(),
            [&](std::size_t a, std::size_t b) { return std::less<>()(start(a), start(b)); });

  std::vector<Segment> segments;
  const std::byte* end = nullptr;  // of the last segment
  for (const std::size_t i : by_address) {
    Item& item = items[i];
    if (item.bytes.empty()) {
      segments.push_back({.offset = 0, .size = item.size, .bytes = {}, .typed = item.tensor});
      item.segment = segments.size() - 1;
      continue;
    }
    const std::byte* const first = item.bytes.data();
    const std::byte* const last = first + item.bytes.size();
    if (segments.empty() || segments.back().typed || !std::less<>()(first, end)) {
      segments.push_back({.offset = 0, .size = item.bytes.size(), .bytes = item.bytes, .typed = nullptr});
      end = last;
    }
    Segment& segment = segments.back();
    if (std::less<>()(end, last)) {
      segment.bytes = {segment.bytes.data(), last};
      segment.size = segment.bytes.size();
      end = last;
    }
    item.segment = segments.size() - 1;
    item.within = static_cast<std::uint64_t>(first - segment.bytes.data());
  }

  std::vector<Segment> ordered;
  std::vector<std::size_t> new_index(segments.size(), SIZE_MAX);
  for (Item& item : items) {
    std::size_t& index = new_index[item.segment];
    if (index == SIZE_MAX) {
      index = ordered.size();
      ordered.push_back(segments[item.segment]);
    }
    item.segment = index;
  }
  return ordered;
}

/// Names that work on every file system and cannot leave the folder.
std::string file_name_of(std::string_view tensor_name) {
  constexpr std::size_t longest = 100;
  std::string name;
  for (const char c : tensor_name.substr(0, longest)) {
    const bool plain =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.';
    name += plain ? c : '_';
  }
  return name.empty() ? "tensor" : name;
}

/// A model that nobody has looked at yet chooses the names of its data files: they must not leave the output's folder, nor become
/// somebody's .bashrc.
Result<void> may_be_copied(const std::string& location) {
  const fs::path normal = fs::path(location).lexically_normal();
  const bool is_plain =
      std::none_of(normal.begin(), normal.end(), [](const fs::path& step) { return step.native().starts_with("."); });
  if (is_plain) return {};
  Error error =
      make_error("external-location", "a data file above the model's folder or with a hidden name is not copied");
  error.diagnostic.found = quote(location);
  error.diagnostic.help = "--embed or --external copies the weights";
  return error;
}

class Planner {
 public:
  Planner(const ir::Model& model, const fs::path& folder, const std::string& name, const SaveOptions& options)
      : model_(model), folder_(folder), name_(name), options_(options) {
    plan_.data = std::make_unique<ExternalData>(
        model.path,
        ExternalDataOptions{.allow_outside = options.allow_outside_data, .verify_checksums = options.verify_checksums});
  }

  Result<SavePlan> run() {
    Result<void> status;
    ir::each_tensor(model_, [&](const ir::Tensor& tensor, ir::TensorRole role) {
      if (status) status = place(tensor, role);
    });
    if (!status) return std::move(status).error();
    if (auto error = amplification()) return *std::move(error);
    lay_out();
    return std::move(plan_);
  }

 private:
  Result<void> place(const ir::Tensor& tensor, ir::TensorRole role) {
    if (tensor.is_external() && options_.weights == Weights::keep) return keep(tensor);
    if (tensor.is_external()) {
      const auto bytes = plan_.data->bytes(tensor);
      if (!bytes) return about(bytes.error(), tensor);
      const bool moves = options_.weights == Weights::extract && bytes->size() >= options_.threshold && !bytes->empty();
      if (moves) {
        items_.push_back({.tensor = &tensor, .bytes = *bytes, .size = bytes->size()});
      } else {
        embedded_ += bytes->size();
        plan_.placements[&tensor] = {.raw = *bytes, .location = {}};
      }
      return {};
    }
    if (options_.weights != Weights::extract || role != ir::TensorRole::initializer) return {};
    const std::uint64_t size = extractable_size(tensor);
    if (size < options_.threshold || size == 0) return {};
    const std::string_view raw = tensor.raw_data;
    items_.push_back({.tensor = &tensor, .bytes = std::as_bytes(std::span(raw.data(), raw.size())), .size = size});
    return {};
  }

  /// Tensors that share bytes of a file do not share them in a model file: a few lines of a model could ask for any size.
  std::optional<Error> amplification() const {
    constexpr std::uint64_t usual_sharing = 4, always_allowed = std::uint64_t{64} << 20;
    std::uint64_t held = 0;
    for (const auto& file : plan_.data->files()) held += file->bytes().size();
    const std::uint64_t most = always_allowed + usual_sharing * held;
    if (embedded_ <= most) return std::nullopt;
    Error error = make_error("external-overlap",
                             "the tensors share so much of their files that the model would be many times as large");
    error.diagnostic.expected =
        "at most " + std::to_string(most) + " bytes from files of " + std::to_string(held) + " bytes";
    error.diagnostic.found = std::to_string(embedded_) + " bytes";
    error.diagnostic.help = "--external keeps the bytes shared";
    return error;
  }

  /// The tensor goes on referring to its file, which is copied unless the output's folder has it already.
  Result<void> keep(const ir::Tensor& tensor) {
    const auto reference = parse_external_data(tensor);
    if (!reference) return {};  // nothing to copy; the fault is the checker's to report
    const std::string location(reference->location);
    if (fs::path(location).is_absolute() || !seen_locations_.insert(location).second) return {};
    plan_.kept_locations.insert(location);
    std::error_code status;
    const fs::path source_folder = model_.path.has_parent_path() ? model_.path.parent_path() : fs::path(".");
    if (model_.path.empty() || fs::equivalent(source_folder, folder_, status)) return {};
    const auto source = resolve_location(model_.path, location, options_.allow_outside_data);
    if (!source) return about(source.error(), tensor);
    if (fs::equivalent(source->path(), folder_ / location, status)) return {};
    if (Result<void> may = may_be_copied(location); !may) return about(may.error(), tensor);
    const auto file = plan_.data->file(location);
    if (!file) return about(file.error(), tensor);
    const auto bytes = (*file)->bytes();
    plan_.kept_locations.erase(location);
    plan_.sidecars.push_back({.location = location, .segments = {{.offset = 0, .size = bytes.size(), .bytes = bytes}}});
    return {};
  }

  void lay_out() {
    std::vector<Segment> segments = make_segments(items_);
    std::vector<std::size_t> file_of(segments.size(), 0);
    const std::size_t first_file = plan_.sidecars.size();
    if (!options_.file_per_tensor && !segments.empty()) {
      plan_.sidecars.push_back(
          {.location = options_.sidecar.empty() ? default_sidecar(name_) : options_.sidecar, .segments = {}});
    }
    std::uint64_t end = 0;
    for (std::size_t s = 0; s < segments.size(); ++s) {
      if (options_.file_per_tensor) {
        file_of[s] = s;
        plan_.sidecars.push_back({.location = {}, .segments = {segments[s]}});
        continue;
      }
      const std::uint64_t alignment = segments[s].size >= page ? page : cache_line;
      segments[s].offset = (end + alignment - 1) / alignment * alignment;
      end = segments[s].offset + segments[s].size;
      plan_.sidecars[first_file].segments.push_back(segments[s]);
    }
    for (const Item& item : items_) {
      Sidecar& sidecar = plan_.sidecars[first_file + file_of[item.segment]];
      if (sidecar.location.empty()) sidecar.location = unused_name(*item.tensor);
      plan_.placements[item.tensor] = {.raw = {},
                                       .location = sidecar.location,
                                       .offset = segments[item.segment].offset + item.within,
                                       .length = item.size};
    }
  }

  std::string unused_name(const ir::Tensor& tensor) {
    const std::string stem = name_ + "." + file_name_of(tensor.name);
    std::string location = stem + ".data";
    for (int n = 2; !used_names_.insert(location).second; ++n) location = stem + "." + std::to_string(n) + ".data";
    return location;
  }

  const ir::Model& model_;
  const fs::path& folder_;
  const std::string& name_;
  const SaveOptions& options_;
  SavePlan plan_;
  std::uint64_t embedded_ = 0;  ///< bytes that move from files into the model
  std::vector<Item> items_;
  std::set<std::string> seen_locations_;
  std::set<std::string> used_names_;
};

}  // namespace

Result<SavePlan> plan_save(const ir::Model& model, const fs::path& folder, const std::string& name,
                           const SaveOptions& options) {
  return Planner(model, folder, name, options).run();
}

std::string default_sidecar(const std::string& model_name) { return model_name + ".data"; }

bool is_default_sidecar(const std::string& model_name, std::string_view location) {
  return location.starts_with(model_name + ".") && location.ends_with(".data") && location.find('/') == location.npos;
}

Result<void> write_sidecar(const Sidecar& sidecar, const ByteSink& sink) {
  static constexpr char zeros[page] = {};
  std::uint64_t at = 0;
  Result<void> status;
  for (const Segment& segment : sidecar.segments) {
    status = sink({zeros, static_cast<std::size_t>(segment.offset - at)});
    at = segment.offset + segment.size;
    if (status && !segment.typed) {
      status = sink({reinterpret_cast<const char*>(segment.bytes.data()), segment.bytes.size()});
    } else if (status) {
      const bool complete = ir::each_raw_piece(*segment.typed, [&](std::span<const std::byte> piece) {
        status = sink({reinterpret_cast<const char*>(piece.data()), piece.size()});
        return status.ok();
      });
      if (!complete && status)
        status = about(make_error("tensor-size", "the data of the tensor does not match its shape"), *segment.typed);
    }
    if (!status) return status;
  }
  return status;
}

}  // namespace onnxkit::wire
