#include "symbolizer/dwarf/row_writer.h"

#include <algorithm>

namespace plimsoll::symbolizer {

RowWriter::RowWriter(const MergedCode& code, std::span<const NamedCode> symbols, SymtabWriter& writer)
    : code_(code),
      symbols_(symbols),
      cursor_(symbols),
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
uint32_t RowWriter::root(uint32_t scope, uint32_t symbol) {
  const uint32_t number = code_.scopes()[scope].function;
  if (symbol != kNoSymbol && symbols_[symbol].name == code_.functions()[number].name) {
    symbol = kNoSymbol;
  }
  uint32_t& root = roots_.try_emplace({scope, symbol}, kNoNumber).first->second;
  if (root == kNoNumber) {
    root = writer_.scope({.function = symbol == kNoSymbol ? function(number) : function(number, symbol)});
  }
  return root;
}

uint32_t RowWriter::function(uint32_t function, uint32_t symbol) {
  const MergedFunction& found = code_.functions()[function];
  const std::string qualified = code_.qualified_name(found);
  return writer_.function({.name = symbols_[symbol].name,
                           .known_as = qualified.empty() ? alias_of(symbol) : qualified,
                           .start_line = found.start_line,
                           .unit = found.unit});
}

uint32_t RowWriter::scope(uint32_t scope, uint32_t symbol) {
  const MergedScope& found = code_.scopes()[scope];
  if (found.parent == kNoNumber) {
    return root(scope, symbol);
  }
  const uint32_t parent = this->scope(found.parent, symbol);
  Written& newest = scopes_[scope];
  // The same call within another name of the function around it is another scope.
  if (newest.scope == kNoNumber || newest.parent != parent) {
    newest = {
        parent,
        writer_.scope({.function = function(found.function), .location = found.location, .parent = parent})};
  }
  return newest.scope;
}

uint32_t RowWriter::symbol_scope(uint32_t symbol) {
  const auto [known, is_new] = symbol_scopes_.try_emplace(symbol, kNoNumber);
  if (is_new) {
    known->second = writer_.scope(
        {.function = writer_.function(
             {.name = symbols_[symbol].name, .known_as = alias_of(symbol), .unit = unknown_unit_})});
  }
  return known->second;
}

std::string_view RowWriter::alias_of(uint32_t symbol) const {
  const uint32_t alias = cursor_.known_as(symbol);
  return alias == symbol ? std::string_view() : symbols_[alias].name;
}

void RowWriter::write_row(uint64_t from, const MergedRow& row, uint32_t symbol) {
  SymtabRow written{.from = from, .location = row.location};
  if (row.scope != kNoNumber) {
    written.scope = scope(row.scope, symbol);
  } else if (symbol != kNoSymbol) {
    written.scope = symbol_scope(symbol);
  }
  const bool is_inlined = row.scope != kNoNumber && code_.scopes()[row.scope].parent != kNoNumber;
  if (written.location == 0 && !is_inlined && symbol != kNoSymbol && !symbols_[symbol].file.empty()) {
    written.location = writer_.location({.path = writer_.path(symbols_[symbol].file)});
  }
  writer_.row(written);
}

void RowWriter::write_stretch(uint64_t from, uint64_t to, const MergedRow& row) {
  while (from < to) {
    const uint32_t symbol = cursor_.at(from);
    write_row(from, row, symbol);
    from = std::min(to, cursor_.next_change());
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
  write_stretch(at, cursor_.end(), nothing);
  writer_.end(std::max(at, cursor_.end()));
}

}  // namespace plimsoll::symbolizer
