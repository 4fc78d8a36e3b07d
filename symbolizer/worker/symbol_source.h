// The symbols of one binary: its table, and the names that profiles bring of a kernel, or the symbols of the
// vdso.
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

  // Whether a kernel's offsets have addresses in its files.
  bool has_kernel_text() const { return table_ && table_->table.kernel_text(); }

  // The frames at each ELF address, innermost first, by their linkage names; `function` is set only where people know it by
  // another (SymtabFrame::known_as). None where there is no name.
  std::vector<std::vector<store::Frame>> frames_at(std::span<const uint64_t> addresses) const;

  // The same for a location's address, of the kinds that binaries own. In a kernel or module, a function that
  // its files do not name has the name of the profiles.
  std::vector<store::Frame> frames_of(wire::LocationKind kind, uint64_t address) const;

  // Mapped or allocated.
  uint64_t memory_bytes() const;

 private:
  friend BinarySymbols with_kernel_names(BinarySymbols of_files, const std::string& image,
                                         std::string_view state);
  friend BinarySymbols read_vdso_symbols(std::string_view build_id);

  std::vector<store::Frame> frames_at(uint64_t address, std::vector<SymtabFrame>& found) const;
  std::optional<uint64_t> elf_address_of(wire::LocationKind kind, uint64_t address) const;

  std::optional<MappedTable> table_;
  SymbolTable symbols_;
  SymbolTable kernel_names_;  // by offset from where the kernel or the module begins
  store::SymbolQuality quality_ = store::SymbolQuality::kNone;
  std::string reasons_;
  std::string looked_at_;
};

// Adds the names of a serialized wire::KernelImage, as a profile brought it, to what the files of a kernel or
// module tell; empty: no profile did. `state` stands for what profiles brought, and becomes the first line of
// looked_at().
BinarySymbols with_kernel_names(BinarySymbols of_files, const std::string& image, std::string_view state);

// This process's own vdso, if it has that build ID.
BinarySymbols read_vdso_symbols(std::string_view build_id);

}  // namespace plimsoll::symbolizer
