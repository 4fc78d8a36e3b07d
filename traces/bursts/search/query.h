// The language of `plimsoll bursts search`: from text to a tree of sets of items (docs/burst-search.md). Pure; any thread.
//
//   request{duration > 50ms} with >= 3 own rpc{service = store, bytes > 1MB} each within 5ms
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "traces/bursts/search/fields.h"

namespace plimsoll::traces {

enum class Operator : uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kContains };

// An attribute by name.
struct FieldName {
  Field field = Field::kDuration;
  std::string attribute = {};  // of kAttribute
};

struct SearchValue {
  uint64_t number = 0;
  std::string text;
};

// `field op value | value ...`, which holds where it does for one of the values; or `field op outer.field`. Where an item lacks the
// attribute, or has text where a number is compared, no test holds.
struct SearchTest {
  FieldName field;
  Operator op = Operator::kEqual;
  bool is_number = false;  // numbers are compared, else texts
  bool is_outer = false;
  bool is_of_machine = false;  // machines are compared, too
  FieldName outer = {};
  std::vector<SearchValue> values;
};

enum class Relation : uint8_t {
  kWith,         // the items lie within the subject
  kDuring,       // the subject lies within the item
  kOverlapping,  // they have time in common
  kThen,         // the item begins once the subject has ended
  kAfter,        // the item has ended when the subject begins
};
std::string_view name_of(Relation relation);

struct SearchClause;

// Items of a kind for which all tests and clauses hold. Subject of its clauses.
struct SearchSet {
  size_t id = 0;  // from 0, each set of a query has its own
  ItemKind kind = ItemKind::kRequest;
  std::vector<SearchTest> tests;
  std::vector<SearchClause> clauses;
};

struct SearchClause {
  Relation relation = Relation::kWith;
  bool is_negated = false;
  Operator count_op = Operator::kGreaterEqual;  // of kWith
  uint64_t count = 1;
  int64_t within_ns = -1;  // of kThen and kAfter; -1: any time
  int64_t gap_ns = -1;     // each item begins at most so long after all before it have ended; -1: any time
  bool has_same = false;   // the items have one value of `same`
  FieldName same = {};
  SearchSet set;
};

struct SearchQuery {
  SearchSet set;
  size_t sets = 1;
  ItemKinds kinds = 0;  // of all sets
};

inline constexpr size_t kMaxQueryBytes = 16 << 10;
inline constexpr size_t kMaxQueryDepth = 16;
inline constexpr size_t kMaxQuerySets = 64;
inline constexpr size_t kMaxQueryParts = 64;  // tests of a set, its clauses, values of a test

// kInvalid, with the column (in bytes, from 1) and what was expected there, for anything else than a query.
Result<SearchQuery> parse_search(std::string_view text);

}  // namespace plimsoll::traces
