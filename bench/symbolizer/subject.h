// The binary that symbol tables are measured on.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/harness/program.h"

namespace plimsoll::bench {

struct Subject {
  std::string name;
  std::string binary;  // path
  std::string debug;   // path of the file with its DWARF; the binary itself where that has it
  uint64_t dwarf_bytes = 0;
};

// The one that scripts/packages-bench.txt names, with at least 200 MB of DWARF; with --quick the command line tool of this build.
Result<Subject> find_subject(const Flags& flags);

// Makes its symbol table, in a process of its own.
std::vector<std::string> table_command(const Subject& subject, const std::string& table);

// Addresses of a binary's code, each byte as likely as any other.
class CodeAddresses {
 public:
  static Result<CodeAddresses> of(const std::string& binary);

  // So many different ones, in random order.
  std::vector<uint64_t> draw(size_t count);

 private:
  struct Range {
    uint64_t begin;
    uint64_t end;
  };
  explicit CodeAddresses(std::vector<Range> ranges) : ranges_(std::move(ranges)) {}
  uint64_t draw_one();

  std::vector<Range> ranges_;
  std::mt19937_64 random_{1};
};

}  // namespace plimsoll::bench
