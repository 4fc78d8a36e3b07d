// One SELECT over virtual tables, from an untrusted user: nothing can be written, attached or loaded, and
// what it may cost is bounded.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sqlite/question/virtual_table.h"

namespace plimsoll::sqlite {

struct Answer {
  std::vector<std::string> columns;
  std::vector<std::vector<Value>> rows;
};

struct QuestionLimits {
  std::chrono::milliseconds time{60'000};
  size_t rows = 1'000'000;
  size_t answer_bytes = size_t{256} << 20;  // of text, and 32 for each value
  size_t memory_bytes = size_t{256} << 20;  // that SQLite takes for it, beside temporary files
  std::function<bool()> is_abandoned = {};  // whether the client is gone; called at most a few times a second
};

// Answers one SELECT (or EXPLAIN QUERY PLAN of one) over the tables, on a connection of its own. What is no such statement is
// kInvalid, with SQLite's message and the place in the statement; past a limit, kTooLarge; abandoned, kUnavailable; what the tables
// fail with keeps its code. Limits of time hold while a statement is parsed and while a table is scanned too, each of which may
// overrun them by the time that a block of rows takes, or a function over a megabyte: milliseconds, and a second for LIKE at its worst.
// One thread. Sorting spills to temporary files.
Result<Answer> ask(std::string_view sql, const std::map<std::string, VirtualTable*>& tables,
                   const QuestionLimits& limits = {});

}  // namespace plimsoll::sqlite
