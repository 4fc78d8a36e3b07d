#include "capture/unwind/call_frame_entries.h"

#include <algorithm>

#include "capture/unwind/encoded_pointer.h"

namespace plimsoll::unwind {
namespace {

// Offsets are kept in 32 bits.
constexpr uint64_t kMaxSectionBytes = uint64_t{256} << 20;
constexpr uint64_t kWindowBytes = uint64_t{256} << 10;
constexpr uint64_t kSmallWindowBytes = 4096;
// Linkers merge common entries in .eh_frame; .debug_frame has one for each source file, of few kinds.
constexpr size_t kMaxCommonEntries = 200'000;
constexpr size_t kMaxCommonKinds = 4096;

struct Augmentation {
  uint8_t pointer_encoding = 0;
  bool has_data = false;
  bool is_signal_frame = false;
};

// What an augmentation string says of its data; nothing for letters that are not known, whose meaning could be anything.
std::optional<Augmentation> read_augmentation(ByteReader& reader, std::string_view letters) {
  Augmentation augmentation;
  for (const char letter : letters) {
    switch (letter) {
      case 'z':
        reader.uleb128();  // the length of what follows: the letters say the same
        augmentation.has_data = true;
        break;
      case 'R':
        augmentation.pointer_encoding = reader.read<uint8_t>();
        break;
      case 'P': {
        // Only its length matters: a relative address is read like an absolute one.
        const auto encoding = reader.read<uint8_t>();
        read_encoded(reader, encoding & 0x0fU, 0);
        break;
      }
      case 'L':
        reader.skip(1);
        break;
      case 'S':
        augmentation.is_signal_frame = true;
        break;
      default:
        return std::nullopt;
    }
  }
  return reader.ok() ? std::optional(augmentation) : std::nullopt;
}

}  // namespace

CallFrameEntries::CallFrameEntries(elf::CallFrames section, uint8_t number, ExpressionPool& expressions)
    : section_(std::move(section)), number_(number), expressions_(expressions) {
  section_.size_bytes = std::min(section_.size_bytes, kMaxSectionBytes);
}

Result<Bytes> CallFrameEntries::bytes_at(uint64_t offset, uint64_t size_bytes) {
  const bool is_held = offset >= window_offset_ && offset - window_offset_ <= window_.size() &&
                       size_bytes <= window_.size() - (offset - window_offset_);
  if (!is_held) {
    // The section's size may be a mere bound: what lies behind its terminator need not be there.
    const uint64_t rest = section_.size_bytes - std::min(offset, section_.size_bytes);
    const bool goes_forward =
        offset >= window_offset_ && offset - window_offset_ <= window_.size() + kWindowBytes;
    const uint64_t ahead = goes_forward ? kWindowBytes : kSmallWindowBytes;
    auto window = section_.read(offset, std::min(rest, std::max(ahead, size_bytes)));
    if (!window) {
      return propagate(window, "reading call frame information");
    }
    window_ = std::move(*window);
    window_offset_ = offset;
  }
  return slice(as_bytes(window_), offset - window_offset_, size_bytes, "call frame information");
}

Result<CallFrameEntries::Header> CallFrameEntries::header_at(uint64_t offset) {
  constexpr uint64_t kLongestHeader = 20;
  const uint64_t rest = section_.size_bytes - std::min(offset, section_.size_bytes);
  const auto bytes = bytes_at(offset, std::min(rest, kLongestHeader));
  if (!bytes) {
    return propagate(bytes);
  }
  ByteReader reader(*bytes);
  uint64_t length = reader.read<uint32_t>();
  const bool is_64_bit = length == UINT32_MAX;
  if (is_64_bit) {
    length = reader.read<uint64_t>();
  }
  Header header{.id_offset = offset + reader.offset(),
                .id_bytes = is_64_bit && !is_eh_frame() ? sizeof(uint64_t) : sizeof(uint32_t),
                .end = offset + reader.offset() + length};
  header.is_entry = reader.ok() && length >= header.id_bytes && length <= rest && header.end <= offset + rest;
  return header;
}

Status CallFrameEntries::read(size_t max_functions, std::vector<FunctionEntry>& functions) {
  uint64_t offset = 0;
  const size_t first = functions.size();
  while (functions.size() - first <= max_functions) {
    const auto header = header_at(offset);
    if (!header) {
      return propagate(header);
    }
    if (!header->is_entry) {
      return {};
    }
    if (header->end - offset <= kMaxEntryBytes) {
      const auto body = bytes_at(header->id_offset, header->end - header->id_offset);
      if (!body) {
        return propagate(body);
      }
      read_entry(offset, *header, *body, functions);
    }
    offset = header->end;
  }
  return fail(ErrorCode::kTooLarge, "call frame information of more than {} functions", max_functions);
}

void CallFrameEntries::read_entry(uint64_t start, const Header& header, Bytes body,
                                  std::vector<FunctionEntry>& functions) {
  ByteReader reader(body);
  const bool is_wide = header.id_bytes == sizeof(uint64_t);
  const uint64_t id = is_wide ? reader.read<uint64_t>() : reader.read<uint32_t>();
  const uint64_t common_id = is_eh_frame() ? 0 : is_wide ? UINT64_MAX : UINT32_MAX;
  const Bytes rest = body.subspan(reader.offset());
  const uint64_t rest_offset = header.id_offset + reader.offset();
  if (id == common_id) {
    read_common(start, rest, rest_offset);
    return;
  }
  // The one counts back from the field itself, the other from the section's start.
  const auto common = common_at_.find(is_eh_frame() ? header.id_offset - id : id);
  if (common != common_at_.end()) {
    read_function(common->second, rest, rest_offset, functions);
  }
}

void CallFrameEntries::read_common(uint64_t start, Bytes body, uint64_t body_offset) {
  ByteReader reader(body);
  if (common_at_.size() >= kMaxCommonEntries) {
    return;
  }
  if (const auto same = common_numbers_.find(std::string(as_text(body))); same != common_numbers_.end()) {
    common_at_[start] = same->second;
    return;
  }
  CommonEntry common;
  const auto version = reader.read<uint8_t>();
  const std::string_view letters = reader.c_string();
  if (version == 4) {
    reader.skip(2);  // sizes of addresses and segment selectors
  } else if (version != 1 && version != 3) {
    return;
  }
  common.code_alignment = reader.uleb128();
  common.data_alignment = reader.sleb128();
  const uint64_t return_address_register = version == 1 ? reader.read<uint8_t>() : reader.uleb128();
  const auto augmentation = read_augmentation(reader, letters);
  if (!augmentation || return_address_register != kRip || commons_.size() >= kMaxCommonKinds) {
    return;
  }
  common.pointer_encoding = augmentation->pointer_encoding;
  common.has_augmentation_data = augmentation->has_data;
  UnwindRow first;
  const CfiProgram program{.common = common,
                           .instructions = body.subspan(reader.offset()),
                           .address = section_.address + body_offset + reader.offset()};
  uint64_t damaged_from = 0;
  if (!run(program, expressions_, [&](uint64_t, const UnwindRow& row) { first = row; }, damaged_from)) {
    return;
  }
  common.first_row = first;
  common.first_row.is_signal_frame = augmentation->is_signal_frame;
  const auto number = static_cast<uint32_t>(commons_.size());
  common_at_[start] = number;
  common_numbers_.emplace(as_text(body), number);
  commons_.push_back(common);
}

void CallFrameEntries::read_function(uint32_t common, Bytes body, uint64_t body_offset,
                                     std::vector<FunctionEntry>& functions) const {
  ByteReader reader(body);
  const CommonEntry& shared = commons_[common];
  const auto begin = read_encoded(reader, shared.pointer_encoding, section_.address + body_offset);
  const auto size_bytes = read_encoded(reader, shared.pointer_encoding & 0x0fU, 0);
  if (shared.has_augmentation_data) {
    reader.skip(reader.uleb128());
  }
  // Linkers leave the entries of functions that they dropped in .debug_frame, from address 0 on.
  const bool is_dropped = !is_eh_frame() && begin == 0;
  const bool is_sound = reader.ok() && begin && !is_dropped && size_bytes && *size_bytes != 0 &&
                        *size_bytes <= UINT32_MAX && *begin <= UINT64_MAX - *size_bytes;
  if (is_sound) {
    functions.push_back({.begin = *begin,
                         .size_bytes = static_cast<uint32_t>(*size_bytes),
                         .common = common,
                         .program_offset = static_cast<uint32_t>(body_offset + reader.offset()),
                         .program_bytes = static_cast<uint32_t>(reader.remaining()) & 0xffffffU,
                         .section = number_});
  }
}

Result<CfiProgram> CallFrameEntries::program(const FunctionEntry& function) {
  const auto instructions = bytes_at(function.program_offset, function.program_bytes);
  if (!instructions) {
    return propagate(instructions);
  }
  return CfiProgram{.common = commons_[function.common],
                    .instructions = *instructions,
                    .address = section_.address + function.program_offset,
                    .begin = function.begin};
}

}  // namespace plimsoll::unwind
