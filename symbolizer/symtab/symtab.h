// Address -> functions, files and lines with inlined calls, from the one compact file that a binary's symbols were made into.
//
//   auto table = Symtab::open(bytes);              // a mapped file; checks its header: microseconds
//   std::vector<SymtabFrame> frames;
//   table->look_up(address, frames);               // innermost first
//
// Immutable: any number of threads. Borrows the bytes, and hands out text in them. Nothing in a damaged file makes it read
// outside of its bytes, or for long; verify() says whether it is as it was written.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "symbolizer/symtab/packed_array.h"
#include "symbolizer/symtab/symtab_format.h"

namespace plimsoll::symbolizer {

struct SymtabFrame {
  std::string_view
      function;  // as linked, or, of inlined functions that are not linked, the bare name; empty: unknown
  // What people know it by, where that is another name: with its namespaces and classes where `function` is bare, or a familiar
  // alias ("malloc" of "__GI___libc_malloc"), or the constructor's name in DWARF (C2 where `function` is C1), which reads the same. To be
  // demangled as `function` is. Empty: by `function`.
  std::string_view known_as;
  std::string_view file;  // as the compiler wrote it down; empty: unknown
  uint32_t line = 0;      // 0: unknown, or code that belongs to no line
  uint32_t column = 0;    // 0: unknown
  uint32_t discriminator = 0;
  uint32_t start_line = 0;  // of the function; 0: unknown
  uint32_t unit = 0;        // for producer() and language()
  bool is_inlined = false;
};

class Symtab {
 public:
  // Costs microseconds: the header is checked, and that all it names lies within the file. kUnsupported for another version.
  static Result<Symtab> open(Bytes file);

  // Appends the frames at an ELF address, innermost first; nothing where none is known.
  void look_up(uint64_t address, std::vector<SymtabFrame>& frames) const;

  // The ELF address at which a byte of the binary's file is loaded; nothing where that is no code, or the table was made without
  // the binary itself (from a separate debug file).
  std::optional<uint64_t> address_of(uint64_t file_offset) const;

  // Calls `consume` with the address of each row, in order; what look_up() says there holds up to the next.
  void for_each_row(const std::function<void(uint64_t from)>& consume) const;

  // Reads all of it: the checksum.
  Status verify() const;

  // Which units another reader has read; zeros: none.
  SymtabReaders readers() const;

  // ELF address of a kernel's symbol _text; nothing where the table is of another binary.
  std::optional<uint64_t> kernel_text() const;

  std::string_view producer(uint32_t unit) const;
  uint32_t language(uint32_t unit) const;
  SymtabQuality quality() const { return static_cast<SymtabQuality>(header_.quality); }
  std::string_view identity() const { return {header_.identity.data(), header_.identity_bytes}; }
  const SymtabHeader& header() const { return header_; }

  // What one row holds for.
  struct Row {
    uint64_t from;
    uint64_t scope;     // plus one; 0: none
    uint64_t location;  // 0: none
  };

 private:
  Symtab() = default;
  // At what follows the last part.
  ByteReader behind_parts() const;
  // Sets columns_ and blobs_ from the header.
  Status map_parts();
  const PackedArray& column(Column which) const { return columns_[static_cast<size_t>(which)]; }
  Bytes blob(Blob which) const { return blobs_[static_cast<size_t>(which)]; }
  std::optional<Row> row_at(uint64_t address) const;
  std::string_view string(uint64_t number) const;
  void set_location(uint64_t location, SymtabFrame& frame) const;
  void set_function(uint64_t function, SymtabFrame& frame) const;

  Bytes file_;
  SymtabHeader header_{};
  std::array<PackedArray, static_cast<size_t>(Column::kCount)> columns_;
  std::array<Bytes, static_cast<size_t>(Blob::kCount)> blobs_;
};

}  // namespace plimsoll::symbolizer
