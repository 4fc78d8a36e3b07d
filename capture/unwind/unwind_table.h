// Call frame information of one binary, compiled: from an ELF address to how the caller is found, in tens of nanoseconds.
//
//   auto table = UnwindTable::compile(image.call_frames());
//   const FrameRule& rule = table->find(elf_address);
//
// Made once for each binary and shared by all its processes. Addresses are kept in order, four bytes each: 16 bits of the
// address within its page of 64 KiB, and the number of its rule. Functions are made to few patterns, so that the rules, each
// kept once, are thousands where addresses are millions. The same sections give the same table. docs/unwinding.md has the
// sizes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "capture/unwind/registers.h"
#include "capture/unwind/unwind_row.h"
#include "elf/loaded_image.h"

namespace plimsoll::unwind {

// The registers that a callee has to keep, apart from the stack pointer (System V psABI for x86-64, figure 3.4).
inline constexpr std::array<uint8_t, 6> kCalleeSaved{3, kRbp, 12, 13, 14, 15};

// How the caller is found, as nearly all code needs it: the return address lies right below the CFA, and callee-saved
// registers lie at offsets from it or have not changed.
struct FrameRule {
  enum class Kind : uint8_t {
    kNotCovered,  // nothing is known of this code
    kDamaged,     // its entry could not be read
    kCommon,
    kGo,  // the caller's rbp lies right below the return address once rbp points there, and has not changed before
    kGeneric,  // anything else: a row in full
  };
  Kind kind = Kind::kNotCovered;
  uint8_t cfa_register = 0;
  uint8_t saved = 0;       // bit i: kCalleeSaved[i] lies at CFA + saved_offset[i]
  uint8_t unused = 0;      // no byte is left undefined
  int32_t cfa_offset = 0;  // kGeneric: number of the row
  std::array<int16_t, kCalleeSaved.size()> saved_offset{};

  bool operator==(const FrameRule&) const = default;
};

// Immutable; any thread.
class UnwindTable {
 public:
  struct Limits {
    size_t max_functions = 1'000'000;     // of each section
    size_t max_bytes = size_t{24} << 20;  // of pages and rows
    size_t max_rules = 100'000;
    size_t max_generic_rows = 20'000;
  };

  // From the sections of one binary; where several speak of an address, the first does. Costs some 600 ns a function, and while it runs
  // 36 bytes a function besides the table.
  // The code from `entry_point` on (0: none) has no callers, whether an entry says so or, as of the dynamic linker's, none
  // speaks of it.
  // Of a binary without such sections nothing else is known. kCorrupt where there are some and not one entry can be read, kTooLarge beyond the limits. A section that is unsound or
  // too large costs only itself where one before it is sound.
  static Result<UnwindTable> compile(const std::vector<elf::CallFrames>& sections, uint64_t entry_point = 0) {
    return compile(sections, entry_point, Limits{});
  }
  static Result<UnwindTable> compile(const std::vector<elf::CallFrames>& sections, uint64_t entry_point,
                                     const Limits& limits);

  const FrameRule& find(uint64_t address) const;

  // Of a rule of this table that is kGeneric.
  const UnwindRow& generic_row(const FrameRule& rule) const {
    return generic_rows_[static_cast<uint32_t>(rule.cfa_offset)];
  }
  // Of a rule in an generic row of this table.
  Bytes expression(const Rule& rule) const {
    return as_bytes(expressions_).subspan(rule.expression_offset, rule.expression_bytes);
  }
  // A rule that is kCommon, kGo or kGeneric as call frame information has it.
  UnwindRow in_full(const FrameRule& rule) const;

  size_t functions() const { return functions_; }
  size_t rows() const { return offsets_.size(); }
  size_t rules() const { return rules_.size(); }
  size_t generic_rows() const { return generic_rows_.size(); }
  size_t memory_bytes() const;

  bool operator==(const UnwindTable&) const = default;

 private:
  friend class TableCompiler;

  // Rows whose addresses have these upper 48 bits, up to the next page's.
  struct Page {
    uint64_t number = 0;
    uint32_t first_row = 0;
    bool operator==(const Page&) const = default;
  };
  size_t rule_number(size_t row) const;

  std::vector<Page> pages_;        // by number; only those in which a row begins
  std::vector<uint16_t> offsets_;  // of each row's first address in its page; a row holds up to the next one
  std::vector<uint16_t> rule_numbers_;   // the lower 16 bits
  std::vector<uint8_t> more_of_number_;  // the upper 8; empty where none is needed
  std::vector<FrameRule> rules_;         // rule 0 is that of code that is not covered
  std::vector<UnwindRow> generic_rows_;
  std::string expressions_;
  size_t functions_ = 0;
};

}  // namespace plimsoll::unwind
