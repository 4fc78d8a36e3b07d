#include "symbolizer/dwarf/row_writer.h"

#include <algorithm>

#include "symbolizer/symtab/member_name.h"

namespace plimsoll::symbolizer {

RowWriter::RowWriter(const MergedCode& code, SymbolCursor symbols, SymtabWriter& writer)
    : code_(code),
      symbols_(std::move(symbols)),
      writer_(writer),
      unknown_unit_(writer.unit({}, 0)),
      functions_(code.functions().size(), kNoNumber),
      scopes_(code.scopes().size()) {}

uint32_t RowWriter::function(uint32_t function) {
  uint32_t& number = functions_[function];
  if (number == kNoNumber) {
    const MergedFunction& found = code_.functions()[function];
    number = writer_.function({.name = found.name,
                               .known_as = code_.qualified_name(found),
                               .start_line = found.start_line,
                               .unit = found.unit});
  }
  return number;
}

// A function that is not inlined has the name that its symbol gives it: code that was split off (".cold"), specialized or
// aliased has the DWARF of the one it came from.
uint32_t RowWriter::root(uint32_t scope, uint32_t name) {
  const uint32_t number = code_.scopes()[scope].function;
  if (name != kNoName && symbols_.name(name).name == code_.functions()[number].name) {
    name = kNoName;
  }
  uint32_t& root = roots_.try_emplace({scope, name}, kNoNumber).first->second;
  if (root == kNoNumber) {
    root = writer_.scope(
        {.function = name == kNoName ? function(number) : function(number, symbols_.name(name))});
  }
  return root;
}

// A symbol without a size may be that of code further up: people then know the function by what DWARF calls it. A constructor's name
// reads the same in either case, and compilers look it up in profiles by the one in DWARF.
uint32_t RowWriter::function(uint32_t function, const CodeName& name) {
  const MergedFunction& found = code_.functions()[function];
  const std::string qualified = code_.qualified_name(found);
  const bool is_known_by_dwarf = !name.is_sized || is_same_member(name.name, found.name);
  const std::string_view otherwise = is_known_by_dwarf ? found.name : name.known_as;
  return writer_.function({.name = name.name,
                           .known_as = qualified.empty() ? otherwise : qualified,
                           .start_line = found.start_line,
                           .unit = found.unit});
}

uint32_t RowWriter::scope(uint32_t scope, uint32_t name) {
  const MergedScope& found = code_.scopes()[scope];
  if (found.parent == kNoNumber) {
    return root(scope, name);
  }
  const uint32_t parent = this->scope(found.parent, name);
  Written& newest = scopes_[scope];
  // The same call within another name of the function around it is another scope.
  if (newest.scope == kNoNumber || newest.parent != parent) {
    newest = {
        parent,
        writer_.scope({.function = function(found.function), .location = found.location, .parent = parent})};
  }
  return newest.scope;
}

uint32_t RowWriter::scope_of_name(uint32_t name) {
  const auto [known, is_new] = name_scopes_.try_emplace(name, kNoNumber);
  if (is_new) {
    const CodeName& symbol = symbols_.name(name);
    known->second =
        writer_.scope({.function = writer_.function(
                           {.name = symbol.name, .known_as = symbol.known_as, .unit = unknown_unit_})});
  }
  return known->second;
}

void RowWriter::write_row(uint64_t from, const MergedRow& row, uint32_t name) {
  SymtabRow written{.from = from, .location = row.location};
  if (row.scope != kNoNumber) {
    written.scope = scope(row.scope, name);
  } else if (name != kNoName) {
    written.scope = scope_of_name(name);
  }
  const bool is_inlined = row.scope != kNoNumber && code_.scopes()[row.scope].parent != kNoNumber;
  if (written.location == 0 && !is_inlined && name != kNoName && !symbols_.name(name).file.empty()) {
    written.location = writer_.location({.path = writer_.path(symbols_.name(name).file)});
  }
  writer_.row(written);
}

void RowWriter::write_stretch(uint64_t from, uint64_t to, const MergedRow& row) {
  while (from < to) {
    write_row(from, row, symbols_.at(from));
    from = std::min(to, symbols_.next_change());
  }
}

void RowWriter::write() {
  const MergedRow nothing{0, kNoNumber, 0};
  uint64_t at = 0;
  for (const Stretch& stretch : code_.stretches()) {
    if (stretch.to <= at) {
      continue;
    }
    write_stretch(at, stretch.from, nothing);
    const auto rows = std::span(code_.rows()).subspan(stretch.first_row, stretch.rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      const uint64_t to = i + 1 < rows.size() ? rows[i + 1].from : stretch.to;
      write_stretch(std::max(rows[i].from, at), to, rows[i]);
    }
    at = stretch.to;
  }
  write_stretch(at, symbols_.end(), nothing);
  writer_.end(std::max(at, symbols_.end()));
}

}  // namespace plimsoll::symbolizer
