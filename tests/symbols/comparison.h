// How well two symbolizers agree about a binary.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "tests/symbols/binary_table.h"
#include "tests/symbols/chain.h"

namespace plimsoll::testing {

// What tells two chains apart, in words, such as "line of the innermost frame"; empty: they are equal.
std::string difference(const Chain& ours, const Chain& theirs);

class Agreement {
 public:
  Agreement() = default;
  // BinaryTable::problems().
  explicit Agreement(std::string problems) : problems_(std::move(problems)) {}

  struct Example {
    uint64_t address;
    Chain ours;
    Chain theirs;
  };
  struct Class {
    uint64_t count = 0;
    std::vector<Example> examples;  // the first few
  };

  void add(uint64_t address, const Chain& ours, const Chain& theirs);

  uint64_t compared() const { return compared_; }
  // Of no addresses, 0.
  double share() const;
  const std::map<std::string, Class>& classes() const { return classes_; }
  // Addresses that they know nothing of.
  uint64_t unknown_to_them() const { return unknown_to_them_; }
  const std::string& problems() const { return problems_; }
  // "99.950 % of 20000 chains are equal: 5 x line of the innermost frame; ..."
  std::string summary() const;
  // Indented lines: the problems, the classes and their examples.
  std::string details() const;

 private:
  std::string problems_;
  uint64_t compared_ = 0;
  uint64_t equal_ = 0;
  uint64_t unknown_to_them_ = 0;
  std::map<std::string, Class> classes_;
};

// So many addresses of the file's executable sections, each byte as likely as any other.
Result<std::vector<uint64_t>> random_addresses(const std::string& binary, size_t count, uint64_t seed);

struct AskedFiles {
  BinaryFiles ours;
  // That llvm-symbolizer is asked about; empty: the same binary. It reads no supplementary files of dwz, so that it
  // must see the DWARF before that was taken apart.
  std::string theirs = {};
};

// Our own reader with libdw, each alone.
Result<Agreement> compare_with_libdw(const BinaryFiles& files, size_t addresses, uint64_t seed);

Result<Agreement> compare_with_llvm(const AskedFiles& files, size_t addresses, uint64_t seed);

}  // namespace plimsoll::testing
