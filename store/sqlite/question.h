// One SELECT over virtual tables, from somebody who is not trusted with more: nothing can be written, attached or loaded, and
// what it may cost is bounded.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "store/sqlite/virtual_table.h"

namespace plimsoll::sqlite {

// NULL, text (of blobs: their bytes in hexadecimal), a whole number or a real one.
using Value = std::variant<std::monostate, std::string, int64_t, double>;

struct Answer {
  std::vector<std::string> columns;
  std::vector<std::vector<Value>> rows;
};

struct QuestionLimits {
  std::chrono::milliseconds time{60'000};
  size_t rows = 1'000'000;
  size_t answer_bytes = size_t{256} << 20;  // of text, and 32 for each value
};

// Answers one SELECT (or EXPLAIN QUERY PLAN of one) over the tables, on a connection of its own. What is no such statement is
// kInvalid, with SQLite's message and the place in the statement; past a limit, kTooLarge; what the tables fail with keeps
// its code. One thread. Sorting spills to temporary files.
Result<Answer> ask(std::string_view sql, const std::map<std::string, VirtualTable*>& tables,
                   const QuestionLimits& limits = {});

}  // namespace plimsoll::sqlite
