// The dimensions that a view can group and filter by, and where each of them comes from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "query/snapshot/frame_place.h"
#include "query/snapshot/snapshot.h"

namespace plimsoll::query {

// Which dictionary decides a dimension's value.
enum class DimensionSource {
  kOrigin,    // machine and its attributes
  kWorkload,  // job, app, ...
  kThread,
  kFrame,  // function, file, line, binary: of each frame of the stack
  kStack,  // the whole stack
};

struct Dimension {
  std::string_view name;
  DimensionSource source;
  std::string_view meaning;  // for --help
};

std::span<const Dimension> dimensions();

// kInvalid with the nearest name where there is none such.
Result<Dimension> find_dimension(std::string_view name);

// The text of a dimension for a dictionary entry of its source.
std::string origin_value(const Snapshot& snapshot, std::string_view dimension, uint32_t origin);
std::string workload_value(const Snapshot& snapshot, std::string_view dimension, uint32_t workload);

// The dictionary entry of the binary that a location is in; nothing for code of no file.
std::optional<uint32_t> binary_id_of(const Snapshot& snapshot, uint32_t location);

// A binary as the dimension "binary" calls it.
std::string_view file_name_of(const store::BinaryEntry& binary);

std::string frame_value(const Snapshot& snapshot, std::string_view dimension, FramePlace place);
size_t frames_of(const Snapshot& snapshot, uint32_t location);  // at least 1

// "main;parse;lex", outermost first; without the frames that are hidden.
std::string stack_value(const Snapshot& snapshot, uint32_t stack, const HiddenFrames* hidden = nullptr);

}  // namespace plimsoll::query
