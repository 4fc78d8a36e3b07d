// Symbol tables and counts from text.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "query/fdo/profile/llvm_text.h"
#include "query/fdo/profile/profile_of.h"
#include "symbolizer/symtab/symtab.h"
#include "symbolizer/symtab/symtab_writer.h"

namespace plimsoll::fdo {

// A row a line: its address, and its frames, innermost first, as function/start:line or function/start:line.discriminator, or
// function=known_as/start:line; @COLUMN may follow. Nothing is known from an address without frames on.
//
//   10 inlined/20:21 main/1:4.2
//   14 main/1:5
//   18
inline std::string table_of(const std::string& rows, const std::string& producer = "clang version 19.1.7") {
  struct Frame {
    std::string function;
    std::string known_as;
    uint32_t start_line = 0;
    symbolizer::SymtabLocation location;
  };
  symbolizer::SymtabWriter writer;
  const uint32_t unit = writer.unit(producer, 4);
  const uint32_t path = writer.path("/a.cc");
  std::istringstream lines(rows);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    uint64_t from = 0;
    if (!(words >> std::hex >> from)) {
      continue;
    }
    std::vector<Frame> frames;
    for (std::string word; words >> word;) {
      Frame& frame = frames.emplace_back();
      const size_t slash = word.rfind('/');
      frame.function = word.substr(0, slash);
      if (const size_t equals = frame.function.find('='); equals != std::string::npos) {
        frame.known_as = frame.function.substr(equals + 1);
        frame.function.resize(equals);
      }
      char mark = 0;
      std::istringstream numbers(word.substr(slash + 1));
      numbers >> frame.start_line >> mark >> frame.location.line;
      while (numbers >> mark) {
        numbers >> (mark == '@' ? frame.location.column : frame.location.discriminator);
      }
      frame.location.path = path;
    }
    std::optional<uint32_t> scope;
    for (size_t i = frames.size(); i-- > 0;) {
      const uint32_t function = writer.function({.name = frames[i].function,
                                                 .known_as = frames[i].known_as,
                                                 .start_line = frames[i].start_line,
                                                 .unit = unit});
      const bool is_root = i + 1 == frames.size();
      scope = writer.scope({.function = function,
                            .location = is_root ? 0 : writer.location(frames[i + 1].location),
                            .parent = scope});
    }
    writer.row({.from = from,
                .scope = scope,
                .location = frames.empty() ? 0 : writer.location(frames.front().location)});
  }
  return std::move(writer).finish({1, "id"}, symbolizer::SymtabQuality::kFull);
}

// Ranges "10-13:5", branches "12->20:3" and entries "10..1f:7", addresses in hexadecimal.
inline ExecutionCounts counts_of(const std::string& text, bool from_branches = false) {
  ExecutionCounts counts{.from_branches = from_branches};
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    std::istringstream parts(word);
    uint64_t first = 0;
    uint64_t last = 0;
    double count = 0;
    std::string mark(2, ' ');
    parts >> std::hex >> first;
    mark[0] = static_cast<char>(parts.get());
    const bool is_range = mark[0] == '-' && parts.peek() != '>';
    mark[1] = is_range ? ' ' : static_cast<char>(parts.get());
    parts >> last;
    parts.get();
    parts >> count;
    if (mark == "->") {
      counts.branches.push_back({first, last, count});
    } else {
      (is_range ? counts.ranges : counts.entries).push_back({first, last, count});
    }
  }
  return counts;
}

struct Made {
  std::string text;
  ProfileReport report;
};

inline Made make(const std::string& table, const ExecutionCounts& counts,
                 const ProfileOptions& options = {.totals = Totals::kLines}) {
  const auto symtab = symbolizer::Symtab::open(as_bytes(table));
  EXPECT_TRUE(symtab) << symtab.error().text();
  Made made;
  made.text = write_llvm_text(profile_of(counts, *symtab, made.report, options));
  return made;
}

}  // namespace plimsoll::fdo
