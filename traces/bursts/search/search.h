// Evaluates a search over the items of one burst. Pure; any thread.
//
//   const auto query = parse_search("request{duration > 50ms} with >= 3 own rpc each within 5ms");
//   const SearchScene scene = make_scene(machines, &spans, query->kinds);
//   const SceneAnswers answers = search_scene(scene, *query, limits);
//
// Sets are evaluated from the innermost outwards: each is a list of items, and a clause is a semijoin of the list before it with the list
// of its own set. Lists are sorted by time, and by value where a clause tests `= outer.` attributes; a subject looks at those items alone
// that begin within its range, or that may reach it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traces/bursts/search/scene.h"

namespace plimsoll::traces {

struct SearchLimits {
  size_t max_answers = 50;              // with evidence; all are counted
  size_t max_evidence = 10;             // items of a clause
  size_t max_evidence_of_answer = 200;  // of all its clauses, nested ones included
  // Pairs of items that are compared, about 10 ns each, for evidence, too. A burst that takes more has no answers, instead of wrong ones.
  uint64_t max_steps = 500'000'000;
};

// An item for which a clause holds, and those for which its own clauses do.
struct Evidence {
  const SearchClause* clause = nullptr;  // of the query
  uint32_t item = 0;                     // index of the items of the clause's kind
  std::vector<Evidence> parts;
};

struct SearchAnswer {
  uint32_t item = 0;  // index of the items of the query's kind
  std::vector<Evidence> evidence;
};

struct SceneAnswers {
  std::vector<SearchAnswer> answers;  // in the order of time
  uint64_t found = 0;                 // answers, with those beyond the limit
  uint64_t steps = 0;
  bool is_cut = false;           // max_steps were not enough: there are no answers
  bool is_evidence_cut = false;  // they were not enough for all evidence: some is missing
};

SceneAnswers search_scene(const SearchScene& scene, const SearchQuery& query,
                          const SearchLimits& limits = {});

// Whether the tests hold: those of a set against values (`outer` is null; tests against an outer item are passed over), or those against an
// outer item of its kind alone.
bool tests_hold(const SearchScene& scene, const SearchSet& set, const SearchItem& item);
bool outer_tests_hold(const SearchScene& scene, const SearchSet& set, const SearchItem& item,
                      ItemKind outer_kind, const SearchItem& outer);

// The clause's relation in time.
bool is_related(const SearchClause& clause, const SearchItem& subject, const SearchItem& item);

}  // namespace plimsoll::traces
