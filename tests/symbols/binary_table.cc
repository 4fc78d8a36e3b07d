#include "tests/symbols/binary_table.h"

#include "symbolizer/search/table_search.h"

namespace plimsoll::testing {

Result<BinaryTable> BinaryTable::build(const BinaryFiles& files, symbolizer::ReaderChoice reader) {
  const symbolizer::TableQuery query{.roots = {{"/"}, {}},
                                     .named = {files.binary, files.debug, files.supplement, files.package},
                                     .reader = reader};
  auto found = symbolizer::find_table(query, [](uint64_t) {});
  if (!found) {
    return propagate(found);
  }
  auto bytes = std::make_unique<std::string>(std::move(found->bytes));
  const auto table = symbolizer::Symtab::open(as_bytes(*bytes));
  if (!table) {
    return propagate(table);
  }
  return BinaryTable(std::move(bytes), *table, std::move(found->reasons));
}

Chain BinaryTable::chain_at(uint64_t address) const {
  std::vector<symbolizer::SymtabFrame> frames;
  table_.look_up(address, frames);
  Chain chain;
  for (const symbolizer::SymtabFrame& frame : frames) {
    chain.push_back({std::string(frame.function), std::string(frame.file), frame.line});
  }
  return chain;
}

}  // namespace plimsoll::testing
