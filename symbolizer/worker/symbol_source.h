// The symbols of one binary: its table, or the symbols of a kernel or of the vdso.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "proto/profile.pb.h"
#include "store/model/bindings.h"
#include "symbolizer/process/table_process.h"
#include "symbolizer/symtab/symbol_table.h"

namespace plimsoll::symbolizer {

// Immutable. Keeps its table mapped.
class BinarySymbols {
 public:
  BinarySymbols(std::optional<MappedTable> table, std::string reasons, std::string looked_at);

  store::SymbolQuality quality() const { return quality_; }
  // Why there are no better ones, in words; empty where nothing is missing.
  const std::string& reasons() const { return reasons_; }
  // Changes when what was found, or not found, has changed (FileSearch::looked_at, or the like).
  const std::string& looked_at() const { return looked_at_; }

  // The ELF address of a byte of the binary itself; nothing where the binary was not found: its debug files do not know.
  std::optional<uint64_t> address_of(uint64_t file_offset) const;

  // The frames at each ELF address, innermost first, by their linkage names; `function` is set only where people know it by
  // another (SymtabFrame::known_as). None where there is no name.
  std::vector<std::vector<store::Frame>> frames_at(std::span<const uint64_t> addresses) const;

  // Mapped or allocated.
  uint64_t memory_bytes() const;

 private:
  friend BinarySymbols read_kernel_symbols(const std::string& image, std::string looked_at);
  friend BinarySymbols read_vdso_symbols(std::string_view build_id);

  std::vector<store::Frame> frames_at(uint64_t address, std::vector<SymtabFrame>& found) const;

  std::optional<MappedTable> table_;
  SymbolTable symbols_;
  store::SymbolQuality quality_ = store::SymbolQuality::kNone;
  std::string reasons_;
  std::string looked_at_;
};

// From a serialized wire::KernelImage, as a profile brought it; empty: none did.
BinarySymbols read_kernel_symbols(const std::string& image, std::string looked_at);

// This process's own vdso, if it has that build ID.
BinarySymbols read_vdso_symbols(std::string_view build_id);

}  // namespace plimsoll::symbolizer
