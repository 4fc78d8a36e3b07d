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
  std::string function = {};  // as people read it; views group by it
  std::string file = {};      // empty: unknown
  uint32_t line = 0;          // 0: unknown
  // What identifies the function: its name as linked, clones told apart. Empty: unknown, as in imported profiles
  // that bring names.
  std::string linkage_name = {};
  uint32_t column = 0;         // 0: unknown
  uint32_t discriminator = 0;  // of several blocks of code on one line
  uint32_t start_line = 0;     // of the function; 0: unknown
  bool is_inlined = false;     // into the next frame
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
  Status bind(const Binding& binding, int64_t generation);
  Result<int64_t> function_id(const Frame& frame);
  Result<int64_t> file_id(const std::string& path);

  sqlite::Database& database_;
  std::unordered_map<std::string, int64_t> functions_;  // by linkage name, zero byte, name
  std::unordered_map<std::string, int64_t> files_;
};

// All bindings, for a query: dense arrays by dictionary ID. Immutable once loaded.
struct Bindings {
  struct BoundFrame {
    uint32_t function;  // index into functions
    uint32_t file;      // index into files; 0 is ""
    uint32_t line;
  };
  std::vector<std::string> functions;      // names as people read them, which several may share; 0 is ""
  std::vector<std::string> linkage_names;  // of the same functions; "": unknown
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
