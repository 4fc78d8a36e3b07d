// Writes our symbol table of a binary: make_table BINARY DEBUG_FILE TABLE
#include <cstdio>
#include <fstream>
#include <span>

#include "tests/symbols/binary_table.h"

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<size_t>(argc));
  if (arguments.size() != 4) {
    std::fprintf(stderr, "usage: make_table BINARY DEBUG_FILE TABLE\n");
    return 2;
  }
  const auto table = plimsoll::testing::BinaryTable::build({.binary = arguments[1], .debug = arguments[2]});
  if (!table) {
    std::fprintf(stderr, "error: %s\n", table.error().text().c_str());
    return 1;
  }
  std::ofstream file(arguments[3], std::ios::binary);
  file << table->bytes();
  file.close();
  return file.good() ? 0 : 1;
}
