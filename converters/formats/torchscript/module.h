#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "converters/containers/torch_archive.h"
#include "converters/formats/torchscript/item.h"
#include "converters/formats/torchscript/syntax.h"
#include "onnxkit/result.h"

namespace onnxkit::torchscript {

/// An example input that a traced module was recorded with.
struct TracedInput {
  Item::Kind kind = Item::Kind::unknown;  ///< a tensor, tuple, list or dict
  ElementType elem = ElementType::undefined;
  std::vector<std::int64_t> dims;
  std::vector<TracedInput> parts;
  std::vector<std::string> keys;  ///< of a dict, for its parts
};

/// An archive of TorchScript: its code, read, and its objects.
struct Module {
  containers::TorchArchive archive;
  std::unique_ptr<const containers::PickleDocument> objects, constants;
  std::vector<std::unique_ptr<const std::string>> sources;
  std::vector<std::unique_ptr<const SourceFile>> files;
  std::unordered_map<std::string, const Class*> classes;  ///< by full name: "__torch__.torch.nn.modules.conv.Conv2d"
  std::unordered_map<std::string, const Function*> functions;  ///< likewise
  std::vector<TracedInput> traced_inputs;                      ///< empty when the archive does not have them

  containers::Pickle root() const { return objects->root(); }
};

/// Whether the content is an archive of torch.jit.save.
bool is_torchscript(const std::shared_ptr<const MappedFile>& file);

/// Error codes: malformed-archive, malformed-pickle, malformed-model, not-supported.
Result<Module> read_module(std::shared_ptr<const MappedFile> file);

}  // namespace onnxkit::torchscript
