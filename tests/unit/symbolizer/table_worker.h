// The process that parses, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "symbolizer/worker/symbol_loader.h"
#include "tests/places.h"
#include "tests/temporary_directory.h"

namespace plimsoll::symbolizer {

inline TableProcess table_process() {
  return TableProcess({.argv = {built_file("plimsoll"), "symtab", "worker", "--zygote"}, .is_zygote = true});
}

// A loader with the tables of that folder.
inline SymbolLoader loader_in(const std::string& data_dir, const SymbolRoots& roots) {
  auto tables = TableFolder::open(data_dir);
  EXPECT_TRUE(tables) << tables.error().text();
  return {roots, std::move(*tables), table_process()};
}

// What is found by somebody who has no tables yet.
inline BinarySymbols find_symbols(wire::IdentityKind kind, std::string_view identity,
                                  std::span<const std::string> paths, const SymbolRoots& roots) {
  const plimsoll::testing::TemporaryDirectory data_dir;
  return loader_in(data_dir.path(), roots)
      .load({.identity_kind = kind, .identity = identity, .paths = paths})
      .value();
}

}  // namespace plimsoll::symbolizer
