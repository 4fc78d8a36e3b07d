// Call frame information of one binary: how to find the caller's registers at each of its addresses (DWARF 5, section
// 6.4, as .eh_frame holds it: LSB Core, "Exception Frames").
//
//   auto table = CfiTable::parse(std::move(eh_frame), address_of_eh_frame);
//   UnwindRow row;
//   if (table->find(elf_address, row) == CfiTable::Lookup::kFound) ...
//
// The bytes are untrusted: damage costs the entries it hits, and lookups stay bounded.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "daemon/unwind/registers.h"

namespace plimsoll::unwind {

// How the caller's value of a register is found.
struct Rule {
  enum class Kind : uint8_t {
    kSame,          // not changed by this frame
    kUndefined,     // lost; for the return address: there is no caller
    kAtOffset,      // in memory at CFA + offset
    kOffset,        // CFA + offset itself; for the CFA: `reg` + offset
    kRegister,      // in register `reg`
    kAtExpression,  // in memory where the expression says
    kExpression,    // what the expression says
  };
  Kind kind = Kind::kSame;
  uint8_t reg = 0;
  int64_t offset = 0;
  // Of the expression, in the table's bytes.
  uint32_t expression_offset = 0;
  uint32_t expression_bytes = 0;

  bool operator==(const Rule&) const = default;
};

// The rules at one address.
struct UnwindRow {
  Rule cfa{.kind = Rule::Kind::kUndefined};  // canonical frame address: the caller's stack pointer
  std::array<Rule, kRegisters> registers{};
  // A signal handler's caller was interrupted, rather than having made a call: its address is exact.
  bool is_signal_frame = false;
};

// Immutable; any thread.
class CfiTable {
 public:
  enum class Lookup { kFound, kNotCovered, kDamaged };

  // `eh_frame` are the bytes of the section up to its terminator or beyond; `address` is the ELF address of the first.
  // Costs one pass over them (20 ns an entry). Fails where not one entry can be read.
  static Result<CfiTable> parse(std::string eh_frame, uint64_t address);

  // The row at an ELF address. Runs the entry's program: some 100 ns.
  Lookup find(uint64_t address, UnwindRow& row) const;

  Bytes expression(const Rule& rule) const {
    return as_bytes(bytes_).subspan(rule.expression_offset, rule.expression_bytes);
  }

  size_t entries() const { return entries_.size(); }
  size_t memory_bytes() const {
    return bytes_.size() + entries_.size() * sizeof(Entry) + cies_.size() * sizeof(Cie);
  }

  // What the entries have in common (a CIE).
  struct Cie {
    uint64_t code_alignment = 1;
    int64_t data_alignment = 1;
    uint8_t pointer_encoding = 0;  // DW_EH_PE_*
    bool has_augmentation_data = false;
    bool is_signal_frame = false;
    uint32_t program_offset = 0;
    uint32_t program_bytes = 0;
  };

 private:
  // The code that one FDE speaks for.
  struct Entry {
    uint64_t begin;
    uint64_t size_bytes;
    uint32_t cie;  // index
    uint32_t program_offset;
    uint32_t program_bytes;
  };

  CfiTable(std::string bytes, uint64_t address) : bytes_(std::move(bytes)), address_(address) {}
  void read_entries();
  void read_fde(Bytes body, size_t body_offset, uint32_t cie);

  std::string bytes_;
  uint64_t address_;
  std::vector<Cie> cies_;
  std::vector<Entry> entries_;  // by begin
};

}  // namespace plimsoll::unwind
