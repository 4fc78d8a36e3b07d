// Makes a symbol table. The same calls in the same order give the same bytes.
//
//   SymtabWriter writer;
//   const auto function = writer.function({.name = "main", .start_line = 3, .unit = unit});
//   const auto scope = writer.scope({.function = function});
//   writer.row({.from = 0x1000, .scope = scope, .location = writer.location({writer.path("/a.c"), 4})});
//   writer.end(0x1020);
//   write_file_durably(path, as_bytes(writer.finish(identity)));
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "symbolizer/symtab/symtab_format.h"

namespace plimsoll::symbolizer {

// Numbers that the writer gave out.
struct SymtabLocation {
  uint32_t path = 0;
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t discriminator = 0;

  auto operator<=>(const SymtabLocation&) const = default;
};

struct SymtabFunction {
  std::string_view name;
  std::string_view known_as = {};  // SymtabFrame::known_as
  uint32_t start_line = 0;
  uint32_t unit = 0;
};

struct SymtabScope {
  uint32_t function = 0;
  uint32_t location = 0;                // of the call that was inlined
  std::optional<uint32_t> parent = {};  // that it was inlined into
};

struct SymtabRow {
  uint64_t from = 0;
  std::optional<uint32_t> scope = {};
  uint32_t location = 0;  // 0: none
};

struct SymtabIdentity {
  uint32_t kind = 0;  // wire::IdentityKind
  std::string_view bytes;
};

class SymtabWriter {
 public:
  SymtabWriter();

  uint32_t unit(std::string_view producer, uint32_t language);
  uint32_t path(std::string_view path) { return string(path); }
  uint32_t location(const SymtabLocation& location);
  uint32_t function(const SymtabFunction& function);
  uint32_t scope(const SymtabScope& scope);
  // By rising address. Holds up to the next row; one that says the same as the one before is left out, and so are those that lie
  // 2^kMaxPackedBits bytes or more behind the first: no program has such code.
  void row(const SymtabRow& row);
  // Nothing is known from there on, up to the next row.
  void end(uint64_t address) { row({.from = address}); }

  void segment(const SymtabSegment& segment) { segments_.push_back(segment); }

  void readers(const SymtabReaders& readers) { readers_ = readers; }

  // Symtab::kernel_text().
  void kernel_text(std::optional<uint64_t> address) { kernel_text_ = address; }

  std::string finish(const SymtabIdentity& identity, SymtabQuality quality) &&;

 private:
  struct Scope {
    uint32_t parent;  // plus one; 0: none
    uint32_t function;
    uint32_t location;
  };
  struct Function {
    uint32_t name;
    uint32_t known_as;
    uint32_t start_line;
    uint32_t unit;
  };
  struct Unit {
    uint32_t producer;
    uint32_t language;
  };
  struct Row {
    uint64_t from;
    uint32_t scope;  // plus one; 0: none
    uint32_t location;
  };
  struct HashOfLocation {
    size_t operator()(const SymtabLocation& location) const;
  };
  struct HashOfText {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Columns = std::vector<std::vector<uint64_t>>;

  uint32_t string(std::string_view text);
  // Locations by path, line, column: neighbours in code then have near numbers.
  void sort_locations();
  std::string code_rows(Columns& columns) const;
  void fill_columns(Columns& columns) const;

  std::unordered_map<std::string, uint32_t, HashOfText, std::equal_to<>> strings_;
  std::string text_;
  std::vector<uint64_t> string_begins_;
  std::unordered_map<SymtabLocation, uint32_t, HashOfLocation> location_numbers_;
  std::vector<SymtabLocation> locations_;
  std::vector<Function> functions_;
  std::vector<Unit> units_;
  std::vector<Scope> scopes_;
  std::vector<Row> rows_;
  std::vector<SymtabSegment> segments_;
  SymtabReaders readers_;
  std::optional<uint64_t> kernel_text_;
};

// Sets size and checksums in the header of a table to what its bytes are. finish() has done that; tests damage tables on purpose.
void seal_symtab(std::string& file);

}  // namespace plimsoll::symbolizer
