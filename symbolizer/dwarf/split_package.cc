#include "symbolizer/dwarf/split_package.h"

#include <algorithm>

namespace plimsoll::symbolizer {
namespace {

// The columns that both versions of the index number alike, and those that they do not.
enum Section : uint32_t { kInfo = 1, kAbbrev = 3, kLine = 4, kStrOffsets = 6, kRnglists = 8 };
constexpr uint32_t kVersionOfDwarf4 = 2;
constexpr uint32_t kVersionOfDwarf5 = 5;
constexpr uint64_t kNumberBytes = 4;

// Which section of a .dwo file a column is of; null: one that nobody here needs. Version 2 has .debug_macro.dwo under 8.
Bytes DwarfSections::* section_of(uint32_t column, uint32_t version) {
  switch (column) {
    case kInfo:
      return &DwarfSections::info;
    case kAbbrev:
      return &DwarfSections::abbrev;
    case kLine:
      return &DwarfSections::line;
    case kStrOffsets:
      return &DwarfSections::str_offsets;
    case kRnglists:
      return version == kVersionOfDwarf5 ? &DwarfSections::rnglists : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace

Result<SplitPackage> SplitPackage::open(Bytes package, uint64_t max_decompressed_bytes) {
  auto image = DwarfImage::open(package, DwarfImage::Kind::kSplit, max_decompressed_bytes);
  if (!image) {
    return propagate(image);
  }
  SplitPackage opened(std::move(*image));
  auto read = opened.read_index();
  return read ? Result<SplitPackage>(std::move(opened)) : propagate(read);
}

Status SplitPackage::read_index() {
  ByteReader reader(image_.sections().cu_index);
  version_ = reader.read<uint32_t>() & 0xffffU;  // version 5 has 16 bits, and as many of padding
  const auto columns = reader.read<uint32_t>();
  rows_ = reader.read<uint32_t>();
  const auto slots = reader.read<uint32_t>();
  if (!reader.ok() || (version_ != kVersionOfDwarf4 && version_ != kVersionOfDwarf5)) {
    return fail(ErrorCode::kUnsupported, "a package of split DWARF without an index of version 2 or 5");
  }
  constexpr uint64_t kSlotBytes = sizeof(uint64_t) + kNumberBytes;
  const uint64_t table_bytes = (1 + 2 * uint64_t{rows_}) * columns * kNumberBytes;
  const bool is_bounded = columns <= reader.remaining() / kNumberBytes && rows_ <= reader.remaining() &&
                          slots <= reader.remaining() / kSlotBytes &&
                          slots * kSlotBytes + table_bytes <= reader.remaining();
  if (!is_bounded) {
    return fail(ErrorCode::kCorrupt, "the index of a package of split DWARF is cut off");
  }
  entries_.resize(slots);
  for (Entry& entry : entries_) {
    entry.id = reader.read<uint64_t>();
  }
  for (Entry& entry : entries_) {
    entry.row = reader.read<uint32_t>();
  }
  for (uint32_t i = 0; i < columns; ++i) {
    columns_.push_back(reader.read<uint32_t>());
  }
  offsets_begin_ = reader.offset();
  std::erase_if(entries_, [this](const Entry& entry) { return entry.row == 0 || entry.row > rows_; });
  std::ranges::sort(entries_, {}, &Entry::id);
  return {};
}

std::optional<DwarfSections> SplitPackage::sections_of(uint64_t dwo_id) const {
  const auto found = std::ranges::lower_bound(entries_, dwo_id, {}, &Entry::id);
  if (found == entries_.end() || found->id != dwo_id) {
    return std::nullopt;
  }
  const Bytes index = image_.sections().cu_index;
  const uint64_t row_bytes = columns_.size() * kNumberBytes;
  ByteReader offsets(index);
  ByteReader sizes(index);
  offsets.seek(offsets_begin_ + (found->row - 1) * row_bytes);
  sizes.seek(offsets_begin_ + (uint64_t{rows_} + found->row - 1) * row_bytes);
  DwarfSections sections = image_.sections();
  for (const uint32_t column : columns_) {
    const auto offset = offsets.read<uint32_t>();
    const auto size = sizes.read<uint32_t>();
    Bytes DwarfSections::* const member = section_of(column, version_);
    if (member != nullptr) {
      sections.*member = slice(sections.*member, offset, size, "a unit's part").value_or(Bytes());
    }
  }
  return sections;
}

}  // namespace plimsoll::symbolizer
