// What locations are called: location -> frames, bound late and bound again when better symbols arrive.
//
// A query never opens a symbol file. A binding has the generation that it was made in; a location without one has not been looked up
// yet, one with no frames was looked up in vain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/append_only_list.h"

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

// What the last search for a binary's symbols came to.
struct BinaryAccount {
  SymbolQuality quality = SymbolQuality::kNone;  // of what its locations are bound to
  int64_t generation = 0;                        // of the bindings
  std::string reasons = {};                      // why there are no better symbols
  std::string looked_at = {};                    // what the search depended on
};

class BindingReader;
class BindingUnion;
class BindingsBuilder;

// All bindings of a block or of several, for a query: dense arrays by dictionary ID. Copies share what they hold: a reader's stays as it is while another is
// extended.
struct Bindings {
  struct BoundFrame {
    uint32_t function;  // index into functions
    uint32_t file;      // index into files; 0 is ""
    uint32_t line;

    bool operator==(const BoundFrame&) const = default;
  };
  AppendOnlyList<std::string> functions{1};  // names as people read them, which several may share; 0 is ""
  AppendOnlyList<std::string> linkage_names{1};  // of the same functions; "": unknown
  AppendOnlyList<std::string> files{1};

  // The locations that were bound since load(), in that order: some again and again. What was made of the names of the others still holds.
  AppendOnlyList<uint32_t> rebound;

  // Why a binary has no better symbols, by its dictionary ID; empty: it has the best.
  std::string_view reasons_of(uint32_t binary) const {
    return reasons_ != nullptr && binary < reasons_->size() ? std::string_view((*reasons_)[binary])
                                                            : std::string_view();
  }

  // The frames of a location, innermost first; empty where it has no name.
  std::span<const BoundFrame> of(uint32_t location) const {
    if (places_ == nullptr || location >= places_->size()) {
      return {};
    }
    const Place place = (*places_)[location];
    return frames_.span().subspan(place.first, place.count);
  }

  // 1 more than the last location that has frames.
  size_t locations() const { return places_ == nullptr ? 0 : places_->size(); }

  // Up to where changes of bindings are known, in the catalogue's list of them.
  int64_t last_change() const { return last_change_; }

 private:
  friend class BindingReader;
  friend class BindingUnion;
  friend class BindingsBuilder;

  // Of a location's frames.
  struct Place {
    uint32_t first = 0;
    uint32_t count = 0;
  };

  void drop_unused_frames(std::vector<Place>& places);

  AppendOnlyList<BoundFrame> frames_;  // those of locations that were bound again stay behind
  std::shared_ptr<const std::vector<Place>> places_;
  std::shared_ptr<const std::vector<std::string>> reasons_;
  size_t frames_in_use_ = 0;
  int64_t last_change_ = 0;  // in the catalogue's list of changes
};

// Makes Bindings of what locations are bound to, for sources without a catalogue of the local kind. One thread.
class BindingsBuilder {
 public:
  // In the place of what the location was bound to before.
  void bind(uint32_t location, std::span<const Frame> frames);
  // Why the binary has no better symbols.
  void describe(uint32_t binary, std::string reasons);

  // As of now: shares all but 8 bytes a location and the reasons with what comes later.
  Bindings bindings() const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Numbers = std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>>;

  uint32_t function_of(const Frame& frame);

  Bindings bindings_;
  std::vector<Bindings::Place> places_;
  std::vector<std::string> reasons_;
  Numbers functions_{{std::string(1, '\0'), 0}};  // by linkage name, zero byte, name
  Numbers files_{{"", 0}};
};

// Frames by location, then depth.
struct PackedFrames {
  int64_t last_change = 0;  // of bindings, that is in them
  std::vector<uint32_t> locations;
  std::vector<Bindings::BoundFrame> frames;
};

}  // namespace plimsoll::store
