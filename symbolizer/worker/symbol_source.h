// The symbols of one binary, from whichever files have the best.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "proto/profile.pb.h"
#include "store/frames/bindings.h"
#include "symbolizer/dwarf/dwarf_file.h"
#include "symbolizer/symtab/symbol_table.h"
#include "symbolizer/worker/file_search.h"

namespace plimsoll::symbolizer {

// One thread at a time. Keeps the files mapped that its DWARF is in.
class BinarySymbols {
 public:
  store::SymbolQuality quality() const { return quality_; }
  // Why there are no better ones, in words; empty where nothing is missing.
  const std::string& reasons() const { return reasons_; }
  // Changes when what was found, or not found, has changed (FileSearch::looked_at, or the like).
  const std::string& looked_at() const { return looked_at_; }

  // The ELF address of a byte of the binary itself; nothing where the binary was not found: its debug files do not know.
  std::optional<uint64_t> address_of(uint64_t file_offset) const;

  // The frames at each ELF address, innermost first, as linked; none where there is no name.
  std::vector<std::vector<store::Frame>> frames_at(std::span<const uint64_t> addresses);

  uint64_t memory_bytes() const;

 private:
  friend class SymbolLoader;
  friend BinarySymbols read_kernel_symbols(const std::string& image, std::string looked_at);
  friend BinarySymbols read_vdso_symbols(std::string_view build_id);

  std::vector<store::Frame> frames_of(std::vector<SourceFrame> found, uint64_t address) const;

  std::vector<MappedFile> files_;  // what dwarf_ borrows
  std::optional<DwarfFile> dwarf_;
  SymbolTable table_;
  std::vector<elf::Segment> segments_;
  store::SymbolQuality quality_ = store::SymbolQuality::kNone;
  std::string reasons_;
  std::string looked_at_;
};

// Of an ELF binary that may lie at any of `paths`, hints which come from outside. Tries, by quality: DWARF of the binary,
// DWARF of a separate debug file (by build ID; by .gnu_debuglink), .symtab of either, .gnu_debugdata and .dynsym. A file
// counts only if its build ID is the binary's, or its CRC that of the link. Never fails: there may be no symbols.
BinarySymbols find_symbols(wire::IdentityKind kind, std::string_view identity,
                           std::span<const std::string> paths, const SymbolRoots& roots);

// From a serialized wire::KernelImage, as a profile brought it; empty: none did.
BinarySymbols read_kernel_symbols(const std::string& image, std::string looked_at);

// This process's own vdso, if it has that build ID.
BinarySymbols read_vdso_symbols(std::string_view build_id);

}  // namespace plimsoll::symbolizer
