// What locations are called: location -> frames, bound late and bound again when better symbols arrive.
//
// Names live in tables of the catalogue, so that a query never opens a symbol file. A binding has the generation that
// it was made in; a location without one has not been looked up yet, one with no frames was looked up in vain.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "store/sqlite/database.h"

namespace plimsoll::store {

// How much a source of symbols tells; a better one replaces a worse one.
enum class SymbolQuality { kNone = 0, kDynsym = 1, kSymtab = 2, kLines = 3, kFull = 4 };

// "none", "dynsym", "symtab", "line tables", "full DWARF".
std::string_view name_of(SymbolQuality quality);

struct Frame {
  std::string function;
  std::string file;   // empty: unknown
  uint32_t line = 0;  // 0: unknown
};

struct Binding {
  uint32_t location;          // dictionary ID
  std::vector<Frame> frames;  // innermost first; none: no name was found
};

// Writes bindings. Used within the caller's transaction.
class BindingWriter {
 public:
  explicit BindingWriter(sqlite::Database& database) : database_(database) {}

  // Replaces what the locations were bound to before.
  Status bind(std::span<const Binding> bindings, int64_t generation);

 private:
  Result<int64_t> intern(std::string_view table, std::string_view column, std::string_view text,
                         std::unordered_map<std::string, int64_t>& known);

  sqlite::Database& database_;
  std::unordered_map<std::string, int64_t> functions_;
  std::unordered_map<std::string, int64_t> files_;
};

// All bindings, for a query: dense arrays by dictionary ID. Immutable once loaded.
struct Bindings {
  struct BoundFrame {
    uint32_t function;  // index into functions
    uint32_t file;      // index into files; 0 is ""
    uint32_t line;
  };
  std::vector<std::string> functions;  // 0 is ""
  std::vector<std::string> files;
  std::vector<BoundFrame> frames;
  std::vector<std::string> reasons;  // by binary: why it has no better symbols; empty: it has the best

  // Of a binary's dictionary ID.
  std::string_view reasons_of(uint32_t binary) const {
    return binary < reasons.size() ? std::string_view(reasons[binary]) : std::string_view();
  }

  // The frames of a location, innermost first; empty where it has no name.
  std::span<const BoundFrame> of(uint32_t location) const {
    if (location + 1 >= first_frame.size()) {
      return {};
    }
    return std::span(frames).subspan(first_frame[location],
                                     first_frame[location + 1] - first_frame[location]);
  }

  std::vector<uint32_t> first_frame;  // by location; one more than there are locations

  static Result<Bindings> load(sqlite::Database& database);
};

}  // namespace plimsoll::store
