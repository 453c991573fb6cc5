#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "libonnxkit/wire/binary/writer.h"
#include "libonnxkit/wire/external/external_data.h"

namespace onnxkit::wire {

/// A run of bytes in a data file to be written.
struct Segment {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::span<const std::byte> bytes;   ///< of raw or external data
  const ir::Tensor* typed = nullptr;  ///< else the tensor whose numbers these are, in another form
};

/// A data file that goes with a model.
struct Sidecar {
  std::string location;  ///< relative to the model's folder
  std::vector<Segment> segments;

  std::uint64_t size() const { return segments.empty() ? 0 : segments.back().offset + segments.back().size; }
};

/// Where each tensor of a model to be saved goes. Views into the model and into `data`.
struct SavePlan {
  std::unique_ptr<ExternalData> data;
  Placements placements;
  std::deque<Sidecar> sidecars;          ///< placements view their locations
  std::set<std::string> kept_locations;  ///< that the output refers to beside those of `sidecars`
};

/// Fails when external data of the model cannot be had; with Weights::keep only files that lie elsewhere than in `folder` are needed.
/// `folder` and `name` are those of the output.
Result<SavePlan> plan_save(const ir::Model& model, const std::filesystem::path& folder, const std::string& name,
                           const SaveOptions& options);

/// The data file that an output of this name uses by default.
std::string default_sidecar(const std::string& model_name);
/// Whether onnxkit would call a data file of this output so.
bool is_default_sidecar(const std::string& model_name, std::string_view location);

Result<void> write_sidecar(const Sidecar& sidecar, const ByteSink& sink);

}  // namespace onnxkit::wire
