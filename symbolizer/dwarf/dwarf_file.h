// Address -> functions, files and lines, with inlined calls, from the DWARF of one file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"

namespace plimsoll::symbolizer {

struct SourceFrame {
  std::string function;  // as linked, where the DWARF says so, else qualified ("ns::f"); empty: unknown
  std::string file;      // absolute and without "..", where the compiler's folder is known; empty: unknown
  uint32_t line = 0;     // 0: unknown, or code that belongs to no line (clang)
  uint32_t column = 0;   // 0: unknown
};

// gcc's and clang's DWARF 2 to 5, as far as libdw reads it: sections compressed with zlib, dwz's supplementary files; not
// zstd, not split DWARF (of which there are lines only). Opens no file, whatever the DWARF names.
//
// One thread at a time. Keeps an index of the units' ranges, decompressed sections, and what libdw has parsed of a
// bounded number of bytes of units.
class DwarfFile {
 public:
  // Borrows both images, and may change their section headers. `supplement`: the file that .gnu_debugaltlink names, empty where there is none at hand.
  // kNotFound without DWARF, or without the supplement that it refers to; the error says what else is wrong.
  static Result<DwarfFile> open(std::span<std::byte> image, std::span<std::byte> supplement);

  DwarfFile(DwarfFile&& other) noexcept;
  DwarfFile& operator=(DwarfFile&& other) noexcept;
  ~DwarfFile();

  // For each ELF address its frames, innermost first; none where no unit says anything about it. Reads each unit once:
  // cheapest for many addresses at a time.
  Result<std::vector<std::vector<SourceFrame>>> look_up(std::span<const uint64_t> addresses);

  // Whether it knows functions, not lines alone.
  bool has_functions() const;
  uint64_t memory_bytes() const;

 private:
  class Reader;
  explicit DwarfFile(std::unique_ptr<Reader> reader);
  std::unique_ptr<Reader> reader_;
};

}  // namespace plimsoll::symbolizer
