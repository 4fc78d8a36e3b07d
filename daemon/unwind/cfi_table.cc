#include "daemon/unwind/cfi_table.h"

#include <dwarf.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <optional>

#include "daemon/unwind/cfi_program.h"
#include "daemon/unwind/encoded_pointer.h"

namespace plimsoll::unwind {
namespace {

// Offsets are kept in 32 bits.
constexpr size_t kMaxTableBytes = size_t{1} << 30;

// What an augmentation string says of its data; nothing for letters that are not known, whose meaning could be anything.
bool read_augmentation(ByteReader& reader, std::string_view letters, CfiTable::Cie& cie) {
  for (const char letter : letters) {
    switch (letter) {
      case 'z':
        reader.uleb128();  // the length of what follows: the letters say the same
        cie.has_augmentation_data = true;
        break;
      case 'R':
        cie.pointer_encoding = reader.read<uint8_t>();
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
        cie.is_signal_frame = true;
        break;
      default:
        return false;
    }
  }
  return reader.ok();
}

// `body` is what follows the CIE's ID, at `body_offset` in the table.
std::optional<CfiTable::Cie> read_cie(Bytes body, size_t body_offset) {
  ByteReader reader(body);
  CfiTable::Cie cie;
  const auto version = reader.read<uint8_t>();
  const std::string_view augmentation = reader.c_string();
  if (version != 1 && version != 3) {
    return std::nullopt;
  }
  cie.code_alignment = reader.uleb128();
  cie.data_alignment = reader.sleb128();
  const uint64_t return_address_register = version == 1 ? reader.read<uint8_t>() : reader.uleb128();
  if (!read_augmentation(reader, augmentation, cie) || return_address_register != kRip) {
    return std::nullopt;
  }
  cie.program_offset = static_cast<uint32_t>(body_offset + reader.offset());
  cie.program_bytes = static_cast<uint32_t>(reader.remaining());
  return cie;
}

}  // namespace

Result<CfiTable> CfiTable::parse(std::string eh_frame, uint64_t address) {
  if (eh_frame.size() > kMaxTableBytes) {
    return fail(ErrorCode::kTooLarge, "call frame information of {} bytes", eh_frame.size());
  }
  CfiTable table(std::move(eh_frame), address);
  table.read_entries();
  if (table.entries_.empty()) {
    return fail(ErrorCode::kCorrupt, "the {} bytes of call frame information hold no entry that can be read",
                table.bytes_.size());
  }
  std::ranges::sort(table.entries_, {}, &Entry::begin);
  table.bytes_.shrink_to_fit();
  table.entries_.shrink_to_fit();
  table.cies_.shrink_to_fit();
  return table;
}

void CfiTable::read_entries() {
  const Bytes table = as_bytes(bytes_);
  ByteReader reader(table);
  boost::unordered_flat_map<size_t, uint32_t> cie_at;  // index by offset
  size_t end = 0;
  while (reader.remaining() >= sizeof(uint32_t)) {
    const size_t start = reader.offset();
    uint64_t length = reader.read<uint32_t>();
    if (length == UINT32_MAX) {
      length = reader.read<uint64_t>();
    }
    const size_t id_offset = reader.offset();
    const Bytes entry = reader.bytes(length);
    if (length < sizeof(uint32_t) || !reader.ok()) {
      break;  // the terminator, or the end of what was captured
    }
    end = reader.offset();
    const auto id = ByteReader(entry).read<uint32_t>();
    const Bytes body = entry.subspan(sizeof id);
    const size_t body_offset = id_offset + sizeof id;
    if (id == 0) {
      if (auto cie = read_cie(body, body_offset)) {
        cie_at[start] = static_cast<uint32_t>(cies_.size());
        cies_.push_back(*cie);
      }
    } else if (const auto cie = cie_at.find(id_offset - id); cie != cie_at.end()) {
      read_fde(body, body_offset, cie->second);
    }
  }
  // What follows the last entry is of other sections.
  bytes_.resize(end);
}

void CfiTable::read_fde(Bytes body, size_t body_offset, uint32_t cie) {
  ByteReader reader(body);
  const uint8_t encoding = cies_[cie].pointer_encoding;
  const auto begin = read_encoded(reader, encoding, address_ + body_offset);
  const auto size_bytes = read_encoded(reader, encoding & 0x0fU, 0);
  if (!begin || !size_bytes || *size_bytes == 0) {
    return;
  }
  if (cies_[cie].has_augmentation_data) {
    reader.skip(reader.uleb128());
  }
  if (reader.ok()) {
    entries_.push_back({*begin, *size_bytes, cie, static_cast<uint32_t>(body_offset + reader.offset()),
                        static_cast<uint32_t>(reader.remaining())});
  }
}

CfiTable::Lookup CfiTable::find(uint64_t address, UnwindRow& row) const {
  const auto after = std::ranges::upper_bound(entries_, address, {}, &Entry::begin);
  if (after == entries_.begin()) {
    return Lookup::kNotCovered;
  }
  const Entry& entry = *std::prev(after);
  if (address - entry.begin >= entry.size_bytes) {
    return Lookup::kNotCovered;
  }
  const CfiProgram program{cies_[entry.cie],    as_bytes(bytes_), entry.program_offset,
                           entry.program_bytes, entry.begin,      address_};
  return run(program, address, row) ? Lookup::kFound : Lookup::kDamaged;
}

}  // namespace plimsoll::unwind
