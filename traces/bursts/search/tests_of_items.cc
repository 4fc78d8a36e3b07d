// Tests of attributes, and relations in time.
#include <algorithm>

#include "traces/bursts/search/search.h"

namespace plimsoll::traces {
namespace {

template <typename T>
bool compares(const T& left, Operator op, const T& right) {
  switch (op) {
    case Operator::kEqual:
      return left == right;
    case Operator::kNotEqual:
      return left != right;
    case Operator::kLess:
      return left < right;
    case Operator::kLessEqual:
      return left <= right;
    case Operator::kGreater:
      return left > right;
    case Operator::kGreaterEqual:
      return left >= right;
    case Operator::kContains:
      break;
  }
  return false;
}

bool text_compares(std::string_view left, Operator op, std::string_view right) {
  return op == Operator::kContains ? left.find(right) != std::string_view::npos : compares(left, op, right);
}

// `!=` to several values: to all of them.
bool value_test_holds(const SearchScene& scene, ItemKind kind, const SearchItem& item,
                      const SearchTest& test) {
  const auto held = [&](const auto& holds) {
    return test.op == Operator::kNotEqual ? std::ranges::all_of(test.values, holds)
                                          : std::ranges::any_of(test.values, holds);
  };
  if (test.is_number) {
    const auto number = number_of(scene, kind, item, test.field);
    return number && held([&](const SearchValue& value) { return compares(*number, test.op, value.number); });
  }
  std::string room;
  const auto text = text_of(scene, kind, item, test.field, room);
  return text && held([&](const SearchValue& value) { return text_compares(*text, test.op, value.text); });
}

}  // namespace

bool tests_hold(const SearchScene& scene, const SearchSet& set, const SearchItem& item) {
  return std::ranges::all_of(set.tests, [&](const SearchTest& test) {
    return test.is_outer || value_test_holds(scene, set.kind, item, test);
  });
}

bool outer_tests_hold(const SearchScene& scene, const SearchSet& set, const SearchItem& item,
                      ItemKind outer_kind, const SearchItem& outer) {
  return std::ranges::all_of(set.tests, [&](const SearchTest& test) {
    if (!test.is_outer) {
      return true;
    }
    if (test.is_number) {
      const auto left = number_of(scene, set.kind, item, test.field);
      const auto right = number_of(scene, outer_kind, outer, test.outer);
      if (!left || !right) {
        return false;
      }
      if (test.is_of_machine && item.machine != outer.machine) {
        return test.op == Operator::kNotEqual;
      }
      return compares(*left, test.op, *right);
    }
    std::string left_room;
    std::string right_room;
    const auto left = text_of(scene, set.kind, item, test.field, left_room);
    const auto right = text_of(scene, outer_kind, outer, test.outer, right_room);
    return left && right && text_compares(*left, test.op, *right);
  });
}

bool is_related(const SearchClause& clause, const SearchItem& subject, const SearchItem& item) {
  switch (clause.relation) {
    case Relation::kWith:
      return subject.begin_ns <= item.begin_ns && item.end_ns <= subject.end_ns;
    case Relation::kDuring:
      return item.begin_ns <= subject.begin_ns && subject.end_ns <= item.end_ns;
    case Relation::kOverlapping: {
      const int64_t begin_ns = std::max(subject.begin_ns, item.begin_ns);
      const int64_t end_ns = std::min(subject.end_ns, item.end_ns);
      // An event has no length: it lies within an interval, its ends included.
      const bool is_event = subject.begin_ns == subject.end_ns || item.begin_ns == item.end_ns;
      return is_event ? begin_ns <= end_ns : begin_ns < end_ns;
    }
    case Relation::kThen:
      return subject.end_ns <= item.begin_ns &&
             (clause.within_ns < 0 || item.begin_ns <= subject.end_ns + clause.within_ns);
    case Relation::kAfter:
      return item.end_ns <= subject.begin_ns &&
             (clause.within_ns < 0 || item.end_ns >= subject.begin_ns - clause.within_ns);
  }
  return false;
}

}  // namespace plimsoll::traces
