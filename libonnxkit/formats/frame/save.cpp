#include "libonnxkit/formats/frame/save.h"

#include <algorithm>
#include <map>
#include <vector>

#include "libonnxkit/base/system/atomic_file.h"
#include "libonnxkit/base/system/forget_pages.h"
#include "libonnxkit/formats/frame/data_users.h"
#include "libonnxkit/ir/tensor/tensors.h"
#include "libonnxkit/wire/external/sidecar.h"

namespace onnxkit::formats {
namespace {

namespace fs = std::filesystem;
using Encode = decltype(Format::encode);

using wire::Placements;
using wire::Sidecar;

Error unknown_output(const fs::path& path) {
  const std::string extension = path.extension().string();
  Error error =
      make_error("unsupported-format", extension.empty() ? "no format that can be written has such a name"
                                                         : "no format that can be written is named *" + extension);
  error.diagnostic.location.file = path.string();
  error.diagnostic.expected = registry().writable();
  if (const Format* foreign = registry().of_path(path))
    error.diagnostic.notes.push_back(quote(path.filename().string()) + " is the name of " + foreign->title);
  error.diagnostic.help = "onnxkit convert --to binary writes ONNX into a file of any name";
  return error;
}

/// What adds up the bytes that go through `sink`.
ByteSink counted(ByteSink sink, std::uint64_t& size) {
  return [sink = std::move(sink), &size](std::string_view bytes) {
    size += bytes.size();
    return sink(bytes);
  };
}

constexpr std::size_t most_in_memory = std::size_t{1} << 25;

/// One saving: data files first under hidden names, then everything is given its name in an order that leaves no gap.
class Saving {
 public:
  Saving(const ir::Model& model, const fs::path& path, SaveOptions options, Encode encode, std::uint64_t file_limit)
      : model_(model),
        options_(std::move(options)),
        path_(follow_links(path)),
        encode_(encode),
        file_limit_(file_limit),
        users_(path_) {
    folder_ = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
  }

  Result<SaveReport> run() {
    if (Result<void> saved = save(); !saved) return std::move(saved).error();
    return std::move(report_);
  }

 private:
  Result<void> save() {
    std::error_code status;
    const bool is_stream = fs::is_other(path_, status);
    const bool moves = !is_stream && options_.weights == Weights::keep && wire::encoded_size(model_) > file_limit_;
    if (moves) options_.weights = Weights::extract;
    auto plan = wire::plan_save(model_, folder_, path_.filename().string(), options_);
    if (!plan) return std::move(plan).error();
    plan_ = *std::move(plan);
    if (moves && !plan_.sidecars.empty()) report_.moved_weights = folder_ / plan_.sidecars.front().location;
    if (is_stream) return write_directly();
    if (!fs::is_directory(folder_, status)) return fault("cannot-write", "the folder does not exist");
    replaces_ = fs::exists(path_, status);
    used_before_ = data_locations(path_);
    used_by_input_ = data_locations(model_);
    for (const Sidecar& sidecar : plan_.sidecars) {
      if (Result<void> written = prepare(sidecar); !written) return written;
    }
    Result<void> published = swaps_.empty() ? publish() : publish_with_swap();
    if (published) remove_stale();
    return published;
  }

  struct DataFile {
    const Sidecar* sidecar;
    AtomicFile file;
  };

  Result<void> write_directly() {
    if (!plan_.sidecars.empty())
      return fault("cannot-write", "data files cannot be written beside " + quote(path_.string()));
    auto file = write_model(plan_.placements);
    return file ? file->publish() : std::move(file).error();
  }

  /// Weights pass through memory in steps, so that a large model does not fill it.
  ByteSink in_steps(ByteSink sink) const {
    return [this, sink = std::move(sink)](std::string_view bytes) {
      Result<void> status;
      for (; status && !bytes.empty(); bytes.remove_prefix(std::min(most_in_memory, bytes.size()))) {
        const std::string_view piece = bytes.substr(0, most_in_memory);
        status = sink(piece);
        if (piece.size() == most_in_memory) forget(piece);
      }
      return status;
    };
  }

  ByteSink sink_into(AtomicFile& file) const {
    return in_steps([&file](std::string_view piece) { return file.write(piece); });
  }

  bool has_content(const fs::path& path, const Sidecar& sidecar) const {
    const auto file = MappedFile::open(path);
    if (!file || (*file)->bytes().size() != sidecar.size()) return false;
    std::string_view left = (*file)->view();
    const auto compare = [&](std::string_view piece) -> Result<void> {
      if (!left.starts_with(piece)) return make_error(ErrorKind::internal, "differs", {});
      if (piece.size() == most_in_memory) forget_pages(**file, left.substr(0, most_in_memory));
      left.remove_prefix(piece.size());
      return {};
    };
    return wire::write_sidecar(sidecar, in_steps(compare)).ok();
  }

  void forget(std::string_view bytes) const {
    for (const auto& mapped : model_.files) forget_pages(*mapped, bytes);
    for (const auto& mapped : plan_.data->files()) forget_pages(*mapped, bytes);
  }

  Result<AtomicFile> write_model(const Placements& placements) {
    auto file = AtomicFile::create(path_);
    if (!file) return file;
    std::uint64_t size = 0;
    Result<void> written = encode_(model_, placements, counted(sink_into(*file), size), report_);
    report_.exceeds_protobuf = size > file_limit_;
    if (written && replaces_) written = file->sync();
    if (!written) return std::move(written).error();
    return file;
  }

  Result<void> prepare(const Sidecar& sidecar) {
    const fs::path location(normal_location(sidecar.location));
    if (location.is_absolute() || !location.has_filename() || *location.begin() == ".." || location == ".") {
      return fault("external-location", "the name of a data file must be a path below the output's folder",
                   sidecar.location);
    }
    const fs::path target = folder_ / location;
    std::error_code status;
    const bool exists = fs::exists(fs::symlink_status(target, status));
    if (is_model_itself(target)) {
      return fault("data-file-exists", "the data file would replace the model itself", sidecar.location);
    }
    if (exists && has_content(target, sidecar)) return {};
    const bool used = used_before_.contains(location.string());
    if (exists) {
      if (Result<void> may = may_replace(target, used, sidecar.location); !may) return may;
    }
    fs::create_directories(target.parent_path(), status);
    if (!wire::is_below(fs::canonical(folder_, status), fs::canonical(target.parent_path(), status))) {
      return fault("external-location", "a symbolic link leads the data file out of the output's folder",
                   sidecar.location);
    }
    auto file = AtomicFile::create_here(target);
    if (!file) return std::move(file).error();
    Result<void> written = wire::write_sidecar(sidecar, sink_into(*file));
    if (written && replaces_) written = file->sync();
    if (!written) return written;
    (exists && used ? swaps_ : fresh_).push_back({&sidecar, *std::move(file)});
    return {};
  }

  /// The output, or the file that the model was read from.
  bool is_model_itself(const fs::path& target) const {
    std::error_code status;
    return target.lexically_normal() == path_.lexically_normal() || fs::equivalent(target, path_, status) ||
           (!model_.path.empty() && fs::equivalent(target, model_.path, status));
  }

  Result<void> may_replace(const fs::path& target, bool used, const std::string& location) {
    if (is_data_of_input(target)) {
      return fault("data-file-exists", "the data file would replace a file that the input uses", location);
    }
    if (options_.force) return {};
    const fs::path user = users_.other_user(target);
    const bool ours = used || wire::is_default_sidecar(path_.filename().string(), location);
    if (ours && user.empty()) return {};
    Error error = fault("data-file-exists", "a data file with this name exists and other models may use it", location);
    if (!user.empty()) error.diagnostic.notes.push_back(quote(user.string()) + " is one");
    error.diagnostic.help = "--external=FILE chooses another name, --force replaces the file";
    return error;
  }

  /// Of an input that stays, that is: one which the output does not replace.
  bool is_data_of_input(const fs::path& file) const {
    std::error_code status;
    if (model_.path.empty() || fs::equivalent(model_.path, path_, status)) return false;
    return std::any_of(used_by_input_.begin(), used_by_input_.end(), [&](const std::string& location) {
      return fs::equivalent(model_.path.parent_path() / location, file, status);
    });
  }

  Result<void> publish() {
    auto model_file = write_model(plan_.placements);
    if (!model_file) return std::move(model_file).error();
    for (DataFile& data : fresh_) {
      if (Result<void> done = data.file.publish(); !done) return done;
    }
    return model_file->publish();
  }

  /// Data files take the names of those that the old model uses. First comes a model that refers to them under their hidden names,
  /// so that neither the old nor the new one ever meets the other's bytes.
  Result<void> publish_with_swap() {
    for (DataFile& data : swaps_) {
      if (Result<void> done = data.file.appear(); !done) return done;
    }
    auto interim = write_model(placements_under_hidden_names());
    if (!interim) return std::move(interim).error();
    auto last = write_model(plan_.placements);
    if (!last) return std::move(last).error();
    for (DataFile& data : fresh_) {
      if (Result<void> done = data.file.publish(); !done) return done;
    }
    if (Result<void> done = interim->publish(); !done) return done;
    Result<void> done = publish_swaps();
    if (done) done = last->publish();
    if (!done) {
      for (DataFile& data : swaps_) data.file.leave_hidden();  // the interim model needs them
    }
    return done;
  }

  Result<void> publish_swaps() {
    for (DataFile& data : swaps_) {
      // Without hard links there is a moment in which the interim model lacks its file; it says so when read then.
      Result<void> done = data.file.publish_twin();
      if (!done) done = data.file.publish();
      if (!done) return done;
    }
    return {};
  }

  Placements placements_under_hidden_names() {
    for (const DataFile& data : swaps_) {
      const fs::path name = fs::path(data.sidecar->location).parent_path() / data.file.hidden_path().filename();
      hidden_names_.emplace(data.sidecar->location, name.string());
    }
    Placements placements = plan_.placements;
    ir::each_tensor(model_, [&](const ir::Tensor& tensor, ir::TensorRole) {
      if (!tensor.is_external() || placements.contains(&tensor)) return;
      const auto reference = wire::parse_external_data(tensor);
      const auto bytes = plan_.data->bytes(tensor);
      if (!reference || !bytes) return;
      placements[&tensor] = {
          .raw = {}, .location = reference->location, .offset = reference->offset, .length = bytes->size()};
    });
    for (auto& [tensor, placement] : placements) {
      if (const auto moved = hidden_names_.find(placement.location); moved != hidden_names_.end())
        placement.location = moved->second;
    }
    return placements;
  }

  void remove_stale() {
    std::set<std::string> needed;
    for (const std::string& location : plan_.kept_locations) needed.insert(normal_location(location));
    for (const Sidecar& sidecar : plan_.sidecars) needed.insert(normal_location(sidecar.location));
    for (const std::string& location : used_before_) {
      std::error_code ignored;
      const bool ours = wire::is_default_sidecar(path_.filename().string(), location);
      const fs::path data = path_.parent_path() / location;
      if (!ours || needed.contains(location) || is_data_of_input(data) || !users_.other_user(data).empty()) continue;
      if (fs::remove(data, ignored)) report_.removed.push_back(data);
    }
  }

  Error fault(ErrorCode code, std::string message, std::string_view location = {}) const {
    Error error = make_error(code, std::move(message));
    error.diagnostic.location.file = path_.string();
    if (!location.empty()) error.diagnostic.found = quote(location);
    return error;
  }

  const ir::Model& model_;
  SaveOptions options_;
  fs::path path_;
  fs::path folder_;
  Encode encode_;
  std::uint64_t file_limit_;
  DataUsers users_;
  wire::SavePlan plan_;
  SaveReport report_;
  bool replaces_ = false;                ///< a model: all of the new one is on disk before anything of the old one goes
  std::set<std::string> used_before_;    ///< by the model that is replaced
  std::set<std::string> used_by_input_;  ///< by the model that is saved, where it was read from
  std::map<std::string_view, std::string> hidden_names_;
  std::vector<DataFile> fresh_;  ///< data files whose names are free, or not used by the model that is replaced
  std::vector<DataFile> swaps_;
};

}  // namespace

Result<const Format*> output_format(const fs::path& path, const std::string& name) {
  if (!name.empty()) {
    const Format* named = registry().find(name);
    if (named && named->can_write()) return named;
    Error error = make_error("unsupported-format", quote(name) + " is not a format that can be written");
    error.diagnostic.expected = registry().writable();
    return error;
  }
  const Format* format = registry().to_write(path);
  return format ? Result<const Format*>(format) : unknown_output(path);
}

Result<SaveReport> save_model(const ir::Model& model, const fs::path& path, const SaveOptions& options,
                              std::uint64_t protobuf_limit) {
  // A file that was read stays what it is whatever its name.
  std::error_code status;
  const bool is_input = !model.path.empty() && fs::equivalent(path, model.path, status);
  auto format = output_format(path, options.format);
  if (!format && is_input && options.format.empty()) format = output_format({}, {});
  if (!format) return std::move(format).error();
  const std::uint64_t file_limit = (*format)->is_protobuf ? protobuf_limit : UINT64_MAX;
  if ((*format)->encode) return Saving(model, path, options, (*format)->encode, file_limit).run();
  SaveReport report;
  if (Result<void> done = (*format)->write(model, path, options, report); !done) return std::move(done).error();
  return report;
}

Result<SaveReport> save_model(const ir::Model& model, const ByteSink& sink, const SaveOptions& options,
                              std::uint64_t protobuf_limit) {
  if (options.weights == Weights::extract)
    return make_error("unsupported-format", "a stream has no folder for data files");
  const auto format = output_format({}, options.format);
  if (!format) return format.error();
  const Encode encode = (*format)->encode;
  if (!encode) return make_error("unsupported-format", (*format)->title + " cannot be written to a stream");
  wire::SavePlan plan;
  if (options.weights == Weights::embed) {
    auto planned = wire::plan_save(model, {}, {}, options);
    if (!planned) return std::move(planned).error();
    plan = *std::move(planned);
  }
  SaveReport report;
  std::uint64_t size = 0;
  if (Result<void> done = encode(model, plan.placements, counted(sink, size), report); !done)
    return std::move(done).error();
  report.exceeds_protobuf = (*format)->is_protobuf && size > protobuf_limit;
  return report;
}

}  // namespace onnxkit::formats
