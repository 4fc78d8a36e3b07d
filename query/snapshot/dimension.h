// The dimensions that a view can group and filter by, and where each of them comes from.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "query/snapshot/frame_place.h"
#include "query/snapshot/snapshot.h"

namespace plimsoll::query {

using store::Column;

// Which dictionary decides a dimension's value.
enum class DimensionSource {
  kOrigin,    // machine and its attributes
  kWorkload,  // job, app, ...
  kThread,
  kLabels,  // label:KEY
  kFrame,   // function, file, line, binary: of each frame of the stack
  kStack,   // the whole stack
};

// The column of rows that it is decided by.
constexpr Column column_of(DimensionSource source) {
  switch (source) {
    case DimensionSource::kOrigin:
      return Column::kOrigin;
    case DimensionSource::kWorkload:
      return Column::kWorkload;
    case DimensionSource::kThread:
      return Column::kThread;
    case DimensionSource::kLabels:
      return Column::kLabels;
    case DimensionSource::kFrame:
    case DimensionSource::kStack:
      break;
  }
  return Column::kStack;
}

// Columns whose entries have dimensions of their own: those of stacks take more than a look-up.
inline constexpr std::array kEntryColumns{Column::kOrigin, Column::kWorkload, Column::kThread,
                                          Column::kLabels};

inline constexpr std::string_view kLabelPrefix = "label:";

struct Dimension {
  std::string name;
  DimensionSource source = DimensionSource::kOrigin;
  std::string_view meaning = {};  // for --help

  // Of "label:KEY": the key.
  std::string_view label_key() const { return std::string_view(name).substr(kLabelPrefix.size()); }
};

// All but those of labels, which are as many as keys.
std::span<const Dimension> dimensions();

// kInvalid with the nearest name where there is none such.
Result<Dimension> find_dimension(std::string_view name);

// How many entries the dictionary of a column has, the empty entry 0 among them.
size_t entries_of(const Snapshot& snapshot, Column column);

// The text of a dimension of kEntryColumns for an entry of its dictionary, other than the empty one.
std::string entry_value(const Snapshot& snapshot, const Dimension& dimension, uint32_t id);

// The dictionary entry of the binary that a location is in; nothing for code of no file.
std::optional<uint32_t> binary_id_of(const Snapshot& snapshot, uint32_t location);

// A binary as the dimension "binary" calls it.
std::string_view file_name_of(const store::BinaryEntry& binary);

std::string frame_value(const Snapshot& snapshot, std::string_view dimension, FramePlace place);
size_t frames_of(const Snapshot& snapshot, uint32_t location);  // at least 1

// "main;parse;lex", outermost first; without the frames that are hidden.
std::string stack_value(const Snapshot& snapshot, uint32_t stack, const HiddenFrames* hidden = nullptr);

}  // namespace plimsoll::query
