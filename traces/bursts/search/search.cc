#include "traces/bursts/search/search.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace plimsoll::traces {
namespace {

constexpr uint64_t kNoGroup = UINT64_MAX;

// Of values that tests `= outer.` compare. Equal hashes of other values are found by comparing them.
uint64_t hash_of(const SearchScene& scene, ItemKind kind, const SearchItem& item, const FieldName& field,
                 bool is_number, uint64_t before) {
  std::string room;
  if (is_number) {
    const auto number = number_of(scene, kind, item, field);
    return number ? mixed(before ^ mixed(*number + 1)) : kNoGroup;
  }
  const auto text = text_of(scene, kind, item, field, room);
  return text ? mixed(before ^ mixed(std::hash<std::string_view>()(*text))) : kNoGroup;
}

// The items of a clause's set, by the values that its tests take from the subject, each group in the order of time.
class ClauseIndex {
 public:
  struct Group {
    size_t begin = 0;
    size_t end = 0;
  };

  ClauseIndex(const SearchScene& scene, const SearchClause& clause, ItemKind subject_kind,
              const std::vector<uint32_t>& matched)
      : scene_(scene), clause_(clause), subject_kind_(subject_kind) {
    const std::vector<SearchItem>& items = scene.of(clause.set.kind);
    std::vector<uint64_t> keys(matched.size());
    for (size_t i = 0; i < matched.size(); ++i) {
      keys[i] = key_of_item(items[matched[i]]);
      ++groups_[keys[i]].end;  // how many, for now
    }
    size_t begin = 0;
    for (auto& [key, group] : groups_) {
      group = {.begin = begin, .end = begin + group.end};
      begin = group.end;
    }
    order_.resize(matched.size());
    latest_end_ns_.resize(matched.size());
    boost::unordered_flat_map<uint64_t, size_t> filled;
    for (size_t i = 0; i < matched.size(); ++i) {
      const Group& group = groups_[keys[i]];
      const size_t place = group.begin + filled[keys[i]]++;
      const int64_t end_ns = items[matched[i]].end_ns;
      order_[place] = matched[i];
      latest_end_ns_[place] = place == group.begin ? end_ns : std::max(end_ns, latest_end_ns_[place - 1]);
    }
  }

  const SearchClause& clause() const { return clause_; }

  // Calls take_item(index of the item) for each item that the clause relates to the subject, until that returns false or there are no steps
  // left. Forwards in time for kWith and kThen, else backwards.
  template <typename Visit>
  void visit(uint32_t subject_index, const SearchItem& subject, uint64_t& steps_left,
             const Visit& take_item) const {
    const uint64_t key = key_of_subject(subject);
    const auto found = groups_.find(key);
    if (key == kNoGroup || found == groups_.end()) {
      return;
    }
    const std::vector<SearchItem>& items = scene_.of(clause_.set.kind);
    const auto takes = [&](size_t place) {
      const uint32_t index = order_[place];
      const bool is_itself = clause_.set.kind == subject_kind_ && index == subject_index;
      const bool holds = !is_itself && is_related(clause_, subject, items[index]) &&
                         outer_tests_hold(scene_, clause_.set, items[index], subject_kind_, subject);
      return !holds || take_item(index);
    };
    const bool is_forward = clause_.relation == Relation::kWith || clause_.relation == Relation::kThen;
    if (is_forward) {
      const int64_t first_ns = clause_.relation == Relation::kWith ? subject.begin_ns : subject.end_ns;
      const int64_t last_ns = last_begin_ns(subject);
      for (size_t place = first_place(found->second, first_ns);
           place < found->second.end && items[order_[place]].begin_ns <= last_ns; ++place) {
        if (!take_step(steps_left) || !takes(place)) {
          return;
        }
      }
      return;
    }
    const int64_t last_ns = clause_.relation == Relation::kOverlapping ? subject.end_ns : subject.begin_ns;
    const int64_t reach_ns = min_end_ns(subject);
    // Behind those that begin at last_ns.
    for (size_t place = first_place(found->second, last_ns + 1);
         place > found->second.begin && latest_end_ns_[place - 1] >= reach_ns; --place) {
      if (!take_step(steps_left) || !takes(place - 1)) {
        return;
      }
    }
  }

 private:
  static bool take_step(uint64_t& steps_left) {
    steps_left -= steps_left > 0 ? 1 : 0;
    return steps_left > 0;
  }

  static bool is_key(const SearchTest& test) { return test.is_outer && test.op == Operator::kEqual; }

  uint64_t key_of_item(const SearchItem& item) const {
    uint64_t key = 0;
    for (const SearchTest& test : clause_.set.tests) {
      if (is_key(test) && key != kNoGroup) {
        key = hash_of(scene_, clause_.set.kind, item, test.field, test.is_number, key);
      }
    }
    return key;
  }
  uint64_t key_of_subject(const SearchItem& subject) const {
    uint64_t key = 0;
    for (const SearchTest& test : clause_.set.tests) {
      if (is_key(test) && key != kNoGroup) {
        key = hash_of(scene_, subject_kind_, subject, test.outer, test.is_number, key);
      }
    }
    return key;
  }

  size_t first_place(const Group& group, int64_t begin_ns) const {
    const std::vector<SearchItem>& items = scene_.of(clause_.set.kind);
    const auto first =
        std::lower_bound(order_.begin() + static_cast<std::ptrdiff_t>(group.begin),
                         order_.begin() + static_cast<std::ptrdiff_t>(group.end), begin_ns,
                         [&](uint32_t index, int64_t time_ns) { return items[index].begin_ns < time_ns; });
    return static_cast<size_t>(first - order_.begin());
  }

  int64_t last_begin_ns(const SearchItem& subject) const {
    if (clause_.relation == Relation::kWith) {
      return subject.end_ns;
    }
    return clause_.within_ns < 0 ? std::numeric_limits<int64_t>::max() : subject.end_ns + clause_.within_ns;
  }
  int64_t min_end_ns(const SearchItem& subject) const {
    if (clause_.relation == Relation::kDuring) {
      return subject.end_ns;
    }
    if (clause_.relation == Relation::kOverlapping) {
      return subject.begin_ns;
    }
    return clause_.within_ns < 0 ? std::numeric_limits<int64_t>::min() : subject.begin_ns - clause_.within_ns;
  }

  const SearchScene& scene_;
  const SearchClause& clause_;
  ItemKind subject_kind_;
  boost::unordered_flat_map<uint64_t, Group> groups_;
  std::vector<uint32_t> order_;         // items, group by group
  std::vector<int64_t> latest_end_ns_;  // of the items of the group up to here
};

// Items of one value that are begun within the gap of those before them.
struct Run {
  uint64_t count = 0;
  int64_t end_ns = 0;
  std::vector<uint32_t> items;  // the first ones, for evidence
};

class Search {
 public:
  Search(const SearchScene& scene, const SearchQuery& query, const SearchLimits& limits)
      : scene_(scene), query_(query), limits_(limits), steps_left_(limits.max_steps) {
    matched_.resize(query.sets);
    indexes_.resize(query.sets);
  }

  SceneAnswers run() {
    evaluate(query_.set);
    SceneAnswers made;
    made.steps = limits_.max_steps - steps_left_;
    made.is_cut = steps_left_ == 0;
    if (made.is_cut) {
      return made;
    }
    const std::vector<uint32_t>& matched = matched_[query_.set.id];
    made.found = matched.size();
    for (size_t i = 0; i < matched.size() && i < limits_.max_answers; ++i) {
      made.answers.push_back(
          {.item = matched[i],
           .evidence = evidence_of(query_.set, matched[i], limits_.max_evidence_of_answer)});
    }
    made.steps = limits_.max_steps - steps_left_;
    made.is_evidence_cut = steps_left_ == 0;
    return made;
  }

 private:
  // The depth of calls is that of the query: kMaxQueryDepth.
  void evaluate(const SearchSet& set) {
    std::vector<ClauseIndex>& indexes = indexes_[set.id];
    indexes.reserve(set.clauses.size());
    for (const SearchClause& clause : set.clauses) {
      evaluate(clause.set);
      indexes.emplace_back(scene_, clause, set.kind, matched_[clause.set.id]);
    }
    const std::vector<SearchItem>& items = scene_.of(set.kind);
    for (uint32_t i = 0; i < items.size() && steps_left_ > 0; ++i) {
      if (tests_hold(scene_, set, items[i]) && std::ranges::all_of(indexes, [&](const ClauseIndex& index) {
            return holds(index, i, items[i], nullptr) != index.clause().is_negated;
          })) {
        matched_[set.id].push_back(i);
      }
    }
  }

  // Without its negation. `found` gets the items that make it hold, the first ones.
  bool holds(const ClauseIndex& index, uint32_t subject_index, const SearchItem& subject,
             std::vector<uint32_t>* found) {
    const SearchClause& clause = index.clause();
    if (clause.has_same || clause.gap_ns >= 0) {
      return has_run(index, subject_index, subject, found);
    }
    uint64_t count = 0;
    const bool counts = clause.relation == Relation::kWith;
    const uint64_t enough = enough_for(clause, counts, found != nullptr);
    index.visit(subject_index, subject, steps_left_, [&](uint32_t item) {
      ++count;
      if (found != nullptr && found->size() < limits_.max_evidence) {
        found->push_back(item);
      }
      return count < enough;
    });
    return counts ? count_holds(clause, count) : count > 0;
  }

  // How many items decide.
  uint64_t enough_for(const SearchClause& clause, bool counts, bool is_evidence) const {
    uint64_t enough = counts ? clause.count : 1;
    enough +=
        enough == UINT64_MAX || (counts && clause.count_op == Operator::kGreaterEqual) || !counts ? 0 : 1;
    return is_evidence ? std::max<uint64_t>(enough, limits_.max_evidence) : std::max<uint64_t>(enough, 1);
  }

  static bool count_holds(const SearchClause& clause, uint64_t count) {
    switch (clause.count_op) {
      case Operator::kEqual:
        return count == clause.count;
      case Operator::kNotEqual:
        return count != clause.count;
      case Operator::kLess:
        return count < clause.count;
      case Operator::kLessEqual:
        return count <= clause.count;
      case Operator::kGreater:
        return count > clause.count;
      case Operator::kGreaterEqual:
        return count >= clause.count;
      case Operator::kContains:
        break;
    }
    return false;
  }

  // Whether items of one value of `same`, each begun within the gap of those before it, are enough.
  bool has_run(const ClauseIndex& index, uint32_t subject_index, const SearchItem& subject,
               std::vector<uint32_t>* found) {
    const SearchClause& clause = index.clause();
    std::unordered_map<std::string, Run> runs;
    bool is_enough = false;
    index.visit(subject_index, subject, steps_left_, [&](uint32_t item_index) {
      const SearchItem& item = scene_.of(clause.set.kind)[item_index];
      const auto value = clause.has_same ? value_text(clause, item) : std::optional(std::string());
      if (!value) {
        return true;
      }
      Run& run = runs[*value];
      const bool goes_on =
          run.count > 0 && (clause.gap_ns < 0 || item.begin_ns <= run.end_ns + clause.gap_ns);
      if (!goes_on) {
        run = {.count = 0, .end_ns = item.end_ns, .items = {}};
      }
      ++run.count;
      run.end_ns = std::max(run.end_ns, item.end_ns);
      if (found != nullptr && run.items.size() < limits_.max_evidence) {
        run.items.push_back(item_index);
      }
      is_enough = count_holds(clause, run.count);
      if (is_enough && found != nullptr) {
        *found = run.items;
      }
      return !is_enough;
    });
    return is_enough;
  }

  std::optional<std::string> value_text(const SearchClause& clause, const SearchItem& item) const {
    std::string room;
    if (const auto text = text_of(scene_, clause.set.kind, item, clause.same, room)) {
      return std::string(*text);
    }
    if (const auto number = number_of(scene_, clause.set.kind, item, clause.same)) {
      return is_of_machine(clause.same.field) ? fmt::format("{} {}", *number, item.machine)
                                              : fmt::format("{}", *number);
    }
    return std::nullopt;
  }

  // At most `budget` items, each clause the same share: nested evidence would grow with the power of the depth.
  std::vector<Evidence> evidence_of(const SearchSet& set, uint32_t subject_index, size_t budget) {
    std::vector<Evidence> all;
    const SearchItem& subject = scene_.of(set.kind)[subject_index];
    const size_t share = budget / std::max<size_t>(set.clauses.size(), 1);
    for (const ClauseIndex& index : indexes_[set.id]) {
      const SearchClause& clause = index.clause();
      std::vector<uint32_t> found;
      if (share == 0 || clause.is_negated || !holds(index, subject_index, subject, &found) || found.empty()) {
        continue;
      }
      found.resize(std::min(found.size(), share));
      const size_t for_parts = (share - found.size()) / found.size();
      for (const uint32_t item : found) {
        all.push_back({.clause = &clause, .item = item, .parts = evidence_of(clause.set, item, for_parts)});
      }
    }
    return all;
  }

  const SearchScene& scene_;
  const SearchQuery& query_;
  const SearchLimits& limits_;
  uint64_t steps_left_;
  std::vector<std::vector<uint32_t>> matched_;     // by set
  std::vector<std::vector<ClauseIndex>> indexes_;  // by set, those of its clauses
};

}  // namespace

SceneAnswers search_scene(const SearchScene& scene, const SearchQuery& query, const SearchLimits& limits) {
  return Search(scene, query, limits).run();
}

}  // namespace plimsoll::traces
