// Puts an UnwindTable together.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <map>

#include "capture/unwind/cfi_program.h"
#include "capture/unwind/unwind_table.h"

namespace plimsoll::unwind {

struct FrameRuleHash {
  size_t operator()(const FrameRule& rule) const;
};

// One table, one thread. Rows are given in the order of their addresses.
class TableCompiler {
 public:
  explicit TableCompiler(const UnwindTable::Limits& limits);

  ExpressionPool& expressions() { return expressions_; }

  // Rows may begin behind the function's end, where they count for nothing.
  void begin_function(uint64_t begin, uint64_t end, bool is_go);
  void add(uint64_t begin, const UnwindRow& row);
  void add_damaged(uint64_t begin) { add_rule(begin, kDamagedRule); }
  // What else is added counts for nothing.
  bool is_too_large() const { return is_too_large_; }

  // The table, with nothing known of the code behind the last function.
  Result<UnwindTable> finish();

 private:
  static constexpr uint32_t kNotCoveredRule = 0;
  static constexpr uint32_t kDamagedRule = 1;

  void add_rule(uint64_t begin, uint32_t number);
  uint32_t number_of(const UnwindRow& row);
  uint32_t number_of_odd(const UnwindRow& row);
  uint32_t intern(const FrameRule& rule);
  void append(uint64_t address, uint32_t number);
  size_t bytes() const;
  void set_number(size_t row, uint32_t number);

  UnwindTable::Limits limits_;
  UnwindTable table_;
  ExpressionPool expressions_;
  boost::unordered_flat_map<FrameRule, uint32_t, FrameRuleHash> numbers_;
  std::map<UnwindRow, uint32_t> odd_numbers_;
  uint64_t end_ = 0;           // of the newest function
  bool is_go_ = false;         // likewise
  uint64_t last_address_ = 0;  // of the newest row
  uint32_t last_number_ = 0;   // its rule
  bool is_too_large_ = false;
};

}  // namespace plimsoll::unwind
