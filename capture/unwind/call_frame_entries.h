// The entries of a section with call frame information: .eh_frame (LSB Core, "Exception Frames") or .debug_frame (DWARF 5,
// section 6.4.1). The bytes are untrusted: damage costs the entries it hits.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/unwind/cfi_program.h"
#include "elf/loaded_image.h"

namespace plimsoll::unwind {

// A frame description entry: the code that it speaks for, and where its program lies.
struct FunctionEntry {
  uint64_t begin = 0;  // ELF address
  uint32_t size_bytes = 0;
  uint32_t common = 0;          // index among the section's common entries
  uint32_t program_offset = 0;  // in the section
  uint32_t program_bytes : 24 = 0;
  uint32_t section : 8 = 0;  // for callers that keep those of several
};

// One thread. Holds a part of the section's bytes at a time, so that memory does not grow with it.
class CallFrameEntries {
 public:
  // Of one entry; compilers stay far below. Fits FunctionEntry::program_bytes.
  static constexpr uint64_t kMaxEntryBytes = uint64_t{1} << 20;

  // `number` becomes FunctionEntry::section.
  CallFrameEntries(elf::CallFrames section, uint8_t number, ExpressionPool& expressions);

  // Appends every function's entry that can be read, in the order of the section. One pass over the section; fails where its
  // bytes are out of reach, or it has more than `max_functions`.
  Status read(size_t max_functions, std::vector<FunctionEntry>& functions);

  // The program of one of them; borrowed until the next call. Cheap where calls go forward through the section.
  Result<CfiProgram> program(const FunctionEntry& function);

 private:
  struct Header {
    bool is_entry = false;   // false: the section's end
    uint64_t id_offset = 0;  // in the section
    uint64_t id_bytes = 0;
    uint64_t end = 0;  // of the entry
  };
  // Of the entry at `offset`; one that leaves the section is none.
  Result<Header> header_at(uint64_t offset);
  void read_entry(uint64_t start, const Header& header, Bytes body, std::vector<FunctionEntry>& functions);
  void read_common(uint64_t start, Bytes body, uint64_t body_offset);
  void read_function(uint32_t common, Bytes body, uint64_t body_offset,
                     std::vector<FunctionEntry>& functions) const;
  bool is_eh_frame() const { return section_.format == elf::CallFrames::Format::kEhFrame; }

  // Bytes of the section, borrowed until the next call. Reads ahead where calls go forward.
  Result<Bytes> bytes_at(uint64_t offset, uint64_t size_bytes);

  elf::CallFrames section_;
  uint8_t number_;
  ExpressionPool& expressions_;
  std::vector<CommonEntry> commons_;                                 // each once
  boost::unordered_flat_map<std::string, uint32_t> common_numbers_;  // by their bytes
  boost::unordered_flat_map<uint64_t, uint32_t> common_at_;          // index by offset in the section
  std::string window_;
  uint64_t window_offset_ = 0;
};

}  // namespace plimsoll::unwind
