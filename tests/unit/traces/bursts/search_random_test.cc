// Searches of random bursts, beside one that compares all items with all others, by the definitions of docs/burst-search.md.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "traces/bursts/search/search.h"

namespace plimsoll::traces::search_random_test {
namespace {

class NaiveSearch {
 public:
  NaiveSearch(const SearchScene& scene, const SearchQuery& query) : scene_(scene) { evaluate(query.set); }

  const std::vector<uint32_t>& of(const SearchSet& set) const { return matched_.at(set.id); }

 private:
  template <typename T>
  static bool holds(const T& left, Operator op, const T& right) {
    return op == Operator::kEqual          ? left == right
           : op == Operator::kNotEqual     ? !(left == right)
           : op == Operator::kLess         ? left < right
           : op == Operator::kLessEqual    ? !(right < left)
           : op == Operator::kGreater      ? right < left
           : op == Operator::kGreaterEqual ? !(left < right)
                                           : false;
  }

  // Text, or number with the machine where that counts.
  std::optional<std::string> text(ItemKind kind, const SearchItem& item, const FieldName& field) const {
    std::string room;
    const auto value = text_of(scene_, kind, item, field, room);
    return value ? std::optional(std::string(*value)) : std::nullopt;
  }

  bool test_holds(const SearchSet& set, const SearchTest& test, const SearchItem& item,
                  const SearchItem* outer, ItemKind outer_kind) const {
    if (test.is_outer && test.is_number) {
      const auto left = number_of(scene_, set.kind, item, test.field);
      const auto right = number_of(scene_, outer_kind, *outer, test.outer);
      const bool is_elsewhere = test.is_of_machine && item.machine != outer->machine;
      return left && right && (is_elsewhere ? test.op == Operator::kNotEqual : holds(*left, test.op, *right));
    }
    if (test.is_outer) {
      const auto left = text(set.kind, item, test.field);
      const auto right = text(outer_kind, *outer, test.outer);
      return left && right && holds(*left, test.op, *right);
    }
    size_t held = 0;
    for (const SearchValue& value : test.values) {
      const auto number = number_of(scene_, set.kind, item, test.field);
      const auto words = text(set.kind, item, test.field);
      held += test.is_number ? number && holds(*number, test.op, value.number)
                             : words && holds(*words, test.op, value.text);
    }
    return test.op == Operator::kNotEqual ? held == test.values.size() : held > 0;
  }

  static bool relates(const SearchClause& clause, const SearchItem& s, const SearchItem& i) {
    const int64_t within = clause.within_ns < 0 ? INT64_MAX / 4 : clause.within_ns;
    switch (clause.relation) {
      case Relation::kWith:
        return i.begin_ns >= s.begin_ns && i.end_ns <= s.end_ns;
      case Relation::kDuring:
        return s.begin_ns >= i.begin_ns && s.end_ns <= i.end_ns;
      case Relation::kOverlapping: {
        for (int64_t time = s.begin_ns; time < s.end_ns; ++time) {
          if (i.begin_ns <= time && time < i.end_ns) {
            return true;
          }
        }
        return (s.begin_ns == s.end_ns && i.begin_ns <= s.begin_ns && s.begin_ns <= i.end_ns) ||
               (i.begin_ns == i.end_ns && s.begin_ns <= i.begin_ns && i.begin_ns <= s.end_ns);
      }
      case Relation::kThen:
        return i.begin_ns >= s.end_ns && i.begin_ns <= s.end_ns + within;
      case Relation::kAfter:
        return i.end_ns <= s.begin_ns && i.end_ns >= s.begin_ns - within;
    }
    return false;
  }

  bool clause_holds(const SearchSet& set, const SearchClause& clause, uint32_t subject) const {
    const SearchItem& s = scene_.of(set.kind)[subject];
    std::map<std::string, std::vector<SearchItem>> related;  // by `same`
    uint64_t count = 0;
    for (const uint32_t index : of(clause.set)) {
      const SearchItem& item = scene_.of(clause.set.kind)[index];
      const bool is_itself = clause.set.kind == set.kind && index == subject;
      const bool matches = !is_itself && relates(clause, s, item) &&
                           std::ranges::all_of(clause.set.tests, [&](const SearchTest& test) {
                             return !test.is_outer || test_holds(clause.set, test, item, &s, set.kind);
                           });
      if (!matches) {
        continue;
      }
      ++count;
      if (clause.has_same) {
        const auto number = number_of(scene_, clause.set.kind, item, clause.same);
        const auto words = text(clause.set.kind, item, clause.same);
        if (number || words) {
          related[words.value_or(fmt::format("{}", number.value_or(0)))].push_back(item);
        }
      } else {
        related[""].push_back(item);
      }
    }
    if (clause.relation != Relation::kWith) {
      return count > 0;
    }
    if (!clause.has_same && clause.gap_ns < 0) {
      return holds(count, clause.count_op, clause.count);
    }
    // Each item with all before it in its run.
    for (const auto& [value, items] : related) {
      uint64_t run = 0;
      int64_t end_ns = 0;
      for (const SearchItem& item : items) {
        run = run > 0 && (clause.gap_ns < 0 || item.begin_ns - end_ns <= clause.gap_ns) ? run + 1 : 1;
        end_ns = run == 1 ? item.end_ns : std::max(end_ns, item.end_ns);
        if (holds(run, clause.count_op, clause.count)) {
          return true;
        }
      }
    }
    return false;
  }

  void evaluate(const SearchSet& set) {
    for (const SearchClause& clause : set.clauses) {
      evaluate(clause.set);
    }
    std::vector<uint32_t>& matched = matched_[set.id];
    for (uint32_t i = 0; i < scene_.of(set.kind).size(); ++i) {
      const SearchItem& item = scene_.of(set.kind)[i];
      const bool is_match =
          std::ranges::all_of(set.tests,
                              [&](const SearchTest& test) {
                                return test.is_outer || test_holds(set, test, item, nullptr, set.kind);
                              }) &&
          std::ranges::all_of(set.clauses, [&](const SearchClause& clause) {
            return clause_holds(set, clause, i) != clause.is_negated;
          });
      if (is_match) {
        matched.push_back(i);
      }
    }
  }

  const SearchScene& scene_;
  std::map<size_t, std::vector<uint32_t>> matched_;
};

class Random {
 public:
  explicit Random(uint64_t seed) : random_(seed) {}

  uint64_t below(uint64_t end) { return random_() % end; }
  bool once_in(uint64_t times) { return below(times) == 0; }

  SearchScene scene(const BurstRecording& recording) {
    SearchScene made;
    made.machines = {{.recording = &recording, .burst = nullptr, .shift_ns = 0},
                     {.recording = &recording, .burst = nullptr, .shift_ns = 0}};
    made.machine_names = {"a", "b"};
    for (const ItemKind kind :
         {ItemKind::kRequest, ItemKind::kRunning, ItemKind::kBlocked, ItemKind::kLockWait, ItemKind::kWake}) {
      auto& items = made.items[static_cast<size_t>(kind)];
      for (uint64_t left = below(25); left > 0; --left) {
        SearchItem item;
        item.begin_ns = static_cast<int64_t>(below(60));
        item.end_ns = item.begin_ns + (kind == ItemKind::kWake ? 0 : static_cast<int64_t>(below(30)));
        item.request = below(4);
        item.value = 1 + below(2);
        item.machine = static_cast<uint32_t>(below(2));
        item.thread = kind == ItemKind::kRequest ? kNoThread : static_cast<uint32_t>(1 + below(3));
        item.other =
            once_in(4) || kind == ItemKind::kRequest ? kNoThread : static_cast<uint32_t>(1 + below(3));
        item.detail = static_cast<uint32_t>(made.requests.size());
        if (kind == ItemKind::kRequest) {
          RequestTimes times;
          times.begin_ns = item.begin_ns;
          times.end_ns = item.end_ns;
          times.threads = static_cast<uint32_t>(below(3));
          times.is_whole = once_in(2);
          made.requests.push_back(times);
        }
        items.push_back(item);
      }
      std::ranges::sort(items, {},
                        [](const SearchItem& item) { return std::pair(item.begin_ns, item.end_ns); });
    }
    return made;
  }

  std::string query() { return set(0, kind(), "", 0); }

 private:
  template <size_t kSize>
  const char* one_of(const char* const (&words)[kSize]) {
    return words[below(kSize)];
  }

  std::string test(const std::string& kind, const std::string& outer) {
    const bool both_threads = kind != "request" && !outer.empty() && outer != "request";
    switch (below(10)) {
      case 0:
        return fmt::format("duration {} {}ns", one_of({"<", "<=", ">", ">=", "=", "!="}), below(25));
      case 1:
        return fmt::format("request {} {}", one_of({"=", "!="}), below(4));
      case 2:
        return fmt::format("machine = {}", one_of({"a", "b", "a | b"}));
      case 3:
        return outer.empty() ? "offset > 10ns"
                             : fmt::format("request {} outer.request", one_of({"=", "!=", "<"}));
      case 4:
        return both_threads ? fmt::format("thread {} outer.thread", one_of({"=", "!="})) : "offset < 50ns";
      case 5:
        return outer.empty() ? "duration > 3ns"
                             : fmt::format("duration {} outer.duration", one_of({"<", ">=", "="}));
      case 6:
        return kind == "lock_wait" ? "lock = 1" : kind == "request" ? "whole = yes" : "name != two";
      case 7:
        return outer.empty() ? "machine != a" : fmt::format("machine {} outer.machine", one_of({"=", "!="}));
      case 8:
        return kind == "lock_wait" && outer == "lock_wait"
                   ? fmt::format("lock {} outer.lock", one_of({"=", "!="}))
                   : "duration >= 2ns";
      default:
        return kind == "blocked" && both_threads ? "waker = outer.thread" : "duration != 7ns";
    }
  }

  const char* kind() { return one_of({"request", "running", "blocked", "lock_wait", "wake"}); }

  std::string set(int depth, const std::string& kind, const std::string& outer, int max_clauses) {
    std::string text = !outer.empty() && once_in(4) ? "own " : "";
    text += kind;
    for (uint64_t i = 0, tests = below(3); i < tests; ++i) {
      text += i == 0 ? "{" : ", ";
      text += test(kind, outer);
      text += i + 1 == tests ? "}" : "";
    }
    const uint64_t clauses = depth >= 3   ? 0
                             : depth == 0 ? 1 + below(2)
                                          : below(static_cast<uint64_t>(max_clauses) + 1);
    std::string then_kind;
    for (uint64_t i = 0; i < clauses; ++i) {
      text += clause(depth, kind, then_kind);
    }
    return text;
  }

  // `then_kind`: of the item of a `then` just before, from which another one goes on; empty: there is none.
  std::string clause(int depth, const std::string& subject, std::string& then_kind) {
    const bool is_not = once_in(4);
    std::string text = is_not ? " not" : "";
    const std::string relation = one_of({"with", "with", "during", "overlapping", "then", "after"});
    text += fmt::format(" {}", relation);
    const bool is_run = relation == "with" && once_in(3);
    if (is_run) {
      text += fmt::format(" >= {}", 1 + below(3));
    } else if (relation == "with" && once_in(2)) {
      text += fmt::format(" {} {}", one_of({"=", "!=", "<", "<=", ">", ">="}), below(4));
    } else if ((relation == "then" || relation == "after") && once_in(2)) {
      text += fmt::format(" within {}ns", below(20));
    }
    const std::string operand = kind();
    const bool continues = relation == "then" && !is_not && !then_kind.empty();
    text += fmt::format(" ({})", set(depth + 1, operand, continues ? then_kind : subject, 2));
    then_kind = relation == "then" ? operand : "";
    if (is_run) {
      text += once_in(2) ? " same request" : "";
      text += once_in(2) ? fmt::format(" each within {}ns", below(10)) : " same machine";
    }
    // "same" once.
    if (const size_t second = text.rfind(" same machine");
        second != std::string::npos && text.find(" same request") != std::string::npos && is_run &&
        text.ends_with(" same request same machine")) {
      text.resize(second);
    }
    return text;
  }

  std::mt19937_64 random_;
};

TEST(Search, AgreesWithItsDefinition) {
  BurstRecording recording;
  recording.threads = {{0, 0, "idle"}, {1, 1, "one"}, {2, 2, "two"}, {3, 1, ""}};
  size_t with_answers = 0;
  size_t without_answers = 0;
  constexpr size_t kRounds = 3000;
  for (uint64_t seed = 0; seed < kRounds; ++seed) {
    Random random(seed);
    const SearchScene scene = random.scene(recording);
    const std::string text = random.query();
    const auto query = parse_search(text);
    ASSERT_TRUE(query) << text << ": " << query.error().text();
    const std::vector<uint32_t> expected = NaiveSearch(scene, *query).of(query->set);
    const SceneAnswers answers = search_scene(scene, *query, {.max_answers = 1000});
    ASSERT_FALSE(answers.is_cut) << text;
    std::vector<uint32_t> got;
    for (const SearchAnswer& answer : answers.answers) {
      got.push_back(answer.item);
    }
    ASSERT_EQ(got, expected) << "seed " << seed << ": " << text;
    ASSERT_EQ(answers.found, expected.size());
    // Each clause that is not negated has evidence, unless it asks for none.
    for (const SearchAnswer& answer : answers.answers) {
      for (const SearchClause& clause : query->set.clauses) {
        const bool needs_evidence = !clause.is_negated && (clause.relation != Relation::kWith ||
                                                           clause.has_same || clause.gap_ns >= 0);
        const bool has_it = std::ranges::any_of(
            answer.evidence, [&](const Evidence& evidence) { return evidence.clause == &clause; });
        ASSERT_TRUE(has_it || !needs_evidence) << text;
      }
    }
    ++(expected.empty() ? without_answers : with_answers);
  }
  EXPECT_GT(with_answers, kRounds / 10);
  EXPECT_GT(without_answers, kRounds / 10);
}

}  // namespace
}  // namespace plimsoll::traces::search_random_test
