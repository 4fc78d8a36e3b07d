// How a symbol table lies on disk; docs/symbol-table.md explains it. Little-endian. For the reader and the writer.
#pragma once

#include <array>
#include <cstdint>

namespace plimsoll::symbolizer {

inline constexpr std::array<char, 8> kSymtabMagic{'P', 'L', 'S', 'Y', 'M', 'T', 'A', 'B'};
inline constexpr uint32_t kSymtabVersion = 1;
// A row says where something begins, and holds up to the next row. They are coded one after the other, in blocks whose first
// rows can be searched.
inline constexpr uint32_t kRowsPerBlock = 16;

// How much the sources of a table told; the numbers are those of store::SymbolQuality.
enum class SymtabQuality : uint32_t { kNone = 0, kDynsym = 1, kSymtab = 2, kLines = 3, kFull = 4 };

// Columns of packed tables, in the file's order.
enum class Column : uint8_t {
  kBlockAddress,  // of a block's first row, less the header's base
  kBlockRows,     // where the block's rows begin in Blob::kRows
  kScopeParent,   // how many scopes before; 0: none
  kScopeFunction,
  kScopeLocation,  // where the call stands that was inlined; 0: it was not
  kLocationPath,   // location 0 is none
  kLocationLine,
  kLocationColumn,
  kLocationDiscriminator,
  kFunctionName,     // strings
  kFunctionKnownAs,  // string; 0: by its name
  kFunctionLine,     // where it starts; 0: unknown
  kFunctionUnit,
  kUnitProducer,
  kUnitLanguage,  // DW_LANG_*
  kStringBegin,   // in Blob::kStrings; one more than there are strings
  kCount,
};

// The first and the last column of each table: their rows lie side by side.
struct PackedTable {
  Column first;
  Column last;
};
inline constexpr std::array<PackedTable, 6> kPackedTables{{
    {Column::kBlockAddress, Column::kBlockRows},
    {Column::kScopeParent, Column::kScopeLocation},
    {Column::kLocationPath, Column::kLocationDiscriminator},
    {Column::kFunctionName, Column::kFunctionUnit},
    {Column::kUnitProducer, Column::kUnitLanguage},
    {Column::kStringBegin, Column::kStringBegin},
}};

enum class Blob : uint8_t {
  kRows,      // for each row: address delta, scope delta, location delta, as LEB128 numbers (docs)
  kStrings,   // one behind the other
  kSegments,  // of SymtabSegment
  kCount,
};

// Bytes of the binary's file that are code: where they are loaded.
struct SymtabSegment {
  uint64_t file_offset = 0;
  uint64_t address = 0;
  uint64_t bytes = 0;
};

// How many units another reader than ours has read, and why (docs/symbolizing.md). Behind the last part of a table, and only
// where there are any: what reads tables without it stops before it.
struct SymtabReaders {
  uint64_t damaged = 0;      // ours found damage in the unit
  uint64_t relocatable = 0;  // the file is not linked
  uint64_t asked = 0;        // it was asked to read all
  bool operator==(const SymtabReaders&) const = default;
};
inline constexpr std::array<char, 8> kReadersMagic{'P', 'L', 'R', 'E', 'A', 'D', 'E', 'R'};

// Behind these, or in their place, and only in tables of kernels: the address of the symbol _text, from which
// profiles count the kernel's addresses.
inline constexpr std::array<char, 8> kKernelMagic{'P', 'L', 'K', 'E', 'R', 'N', 'E', 'L'};

struct ColumnHeader {
  uint64_t offset;  // of its table
  uint64_t rows;
  uint32_t row_bits;  // of its table
  uint16_t first_bit;
  uint16_t bits;
};

struct BlobHeader {
  uint64_t offset;
  uint64_t bytes;
};

struct SymtabHeader {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t quality;  // SymtabQuality
  uint64_t file_bytes;
  uint64_t checksum;         // checksum64 of all behind this header
  uint64_t header_checksum;  // checksum64 of this header with this field zero
  uint64_t base_address;
  uint64_t end_address;  // behind the last row's
  uint64_t rows;
  uint32_t identity_kind;   // wire::IdentityKind
  uint32_t identity_bytes;  // up to 64
  std::array<char, 64> identity;
  std::array<ColumnHeader, static_cast<size_t>(Column::kCount)> columns;
  std::array<BlobHeader, static_cast<size_t>(Blob::kCount)> blobs;
};
static_assert(sizeof(SymtabHeader) % 8 == 0);

}  // namespace plimsoll::symbolizer
