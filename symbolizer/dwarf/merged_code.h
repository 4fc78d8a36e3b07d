// The code of all units of a binary, one after the other, as it will be written: paths, lines and units have the writer's
// numbers already; functions and scopes get theirs when their symbols are known (row_writer.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "symbolizer/dwarf/function_names.h"
#include "symbolizer/dwarf/unit_rows.h"
#include "symbolizer/symtab/symtab_writer.h"

namespace plimsoll::symbolizer {

inline constexpr uint32_t kNoNumber = UINT32_MAX;
// Numbers of files: dwz's supplementary file, the linked file; those of split DWARF are above.
inline constexpr uint32_t kSupplementFile = 0;
inline constexpr uint32_t kLinkedFile = 1;

struct MergedScope {
  uint32_t parent;    // that it was inlined into; kNoNumber: it was not
  uint32_t function;  // of functions()
  uint32_t location;  // of the call
};

struct MergedRow {
  uint64_t from;
  uint32_t scope;     // of scopes(); kNoNumber: none
  uint32_t location;  // 0: none
};

struct MergedFunction {
  std::string_view name;  // as linked where DWARF says, else as in the source
  uint32_t start_line;
  uint32_t unit;
  // What qualified_name() finds its scopes by, where it has no linkage name.
  uint64_t home;
  uint32_t file;
};

// Rows without a gap between them; the last holds up to `to`.
struct Stretch {
  uint64_t from;
  uint64_t to;
  size_t first_row;
  size_t rows;
};

// About 30 bytes for each row, and 12 for each scope. Borrows the names from the sections.
class MergedCode {
 public:
  explicit MergedCode(SymtabWriter& writer) : writer_(writer) {}

  // Where a unit's entries are. Those of one file tell functions apart by their offsets.
  struct Origin {
    uint32_t unit;  // the writer's
    uint32_t file;  // small numbers, each of one file; those of one file come in the order of their entries
    FindUnit find_unit;
  };
  void add(const UnitRows& code, const Origin& origin);

  // Names alone, of units that have no code: others refer to them.
  void add_names(const UnitNames& names, uint32_t file_number);

  // With the namespaces and classes that it stands in, once all units are there; empty for one with a linkage name, or in none.
  std::string qualified_name(const MergedFunction& function) const;

  // Brings the stretches in the order of their addresses; of those that begin at one address the unit that came first is first.
  void sort();

  // Gives the memory back.
  void clear();

  const std::vector<MergedScope>& scopes() const { return scopes_; }
  const std::vector<MergedRow>& rows() const { return rows_; }
  const std::vector<MergedFunction>& functions() const { return functions_; }
  const std::vector<Stretch>& stretches() const { return stretches_; }

 private:
  // `said`: what the unit's reader has said of it; null: to be read.
  uint32_t function_of(const CodeScope& scope, const FunctionName* said, const Origin& origin);
  void add_scopes(const UnitRows& code, const std::vector<uint32_t>& paths, const Origin& origin);
  void add_rows(const UnitRows& code, const std::vector<uint32_t>& paths, uint32_t first_scope);

  SymtabWriter& writer_;
  std::vector<MergedScope> scopes_;
  std::vector<MergedRow> rows_;
  std::vector<MergedFunction> functions_;
  std::vector<Stretch> stretches_;
  struct File {
    std::unordered_map<uint64_t, uint32_t> functions;  // by their entries
    std::vector<ScopedFunction> scoped;
  };
  File& file(uint32_t number);

  std::vector<File> files_;
  std::vector<NameScope> name_scopes_;
};

}  // namespace plimsoll::symbolizer
