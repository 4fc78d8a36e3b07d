// How views of the registry are asked.
#pragma once

#include <utility>

#include "query/operations/machines.h"
#include "query/registry/damage_notes.h"
#include "query/registry/label_notes.h"
#include "query/registry/roll_up_notes.h"
#include "query/registry/view.h"
#include "query/selection/sides.h"

namespace plimsoll::query {

// Of anything that a view gives.
template <typename Given>
Result<Answer> as_answer(Result<Given> given) {
  return given ? Result<Answer>(*std::move(given)) : propagate(given);
}

// What `ask(snapshot)` gives, which was asked with these parameters, of one set of rows throughout: where a part of them is found damaged meanwhile, it is asked again without it, and
// a note says what is missing. A file for another tool has no place for such a note, and is an error then.
template <typename Ask>
Result<Answer> of_sound_rows(ViewSources& sources, const store::TimeSpans& times,
                             const Parameters& parameters, const Ask& ask) {
  const auto snapshot = sources.snapshot(times);
  if (!snapshot) {
    return propagate(snapshot);
  }
  while (true) {
    const size_t known = (*snapshot)->rows->damage().size();
    Result<Answer> answer = ask(**snapshot);
    const std::vector<store::DamagedPart> damaged = damaged_parts(**snapshot, times);
    if ((*snapshot)->rows->damage().size() == known) {
      return answer ? with_damage_noted(with_notes(std::move(*answer), label_notes(parameters, **snapshot)),
                                        damaged)
                    : answer;
    }
  }
}

// With what it says of rows that are rolled up.
inline Result<Answer> of_rolled_up_rows(const Question& question, const store::TimeSpans& times,
                                        const Snapshot& snapshot, Result<Answer> answer) {
  return answer ? with_roll_up_noted(std::move(*answer), roll_up_notes(question.parameters, times, snapshot))
                : std::move(answer);
}

// `view(request, snapshot)`, of what `parse(parameters, now_ns)` gives.
template <auto parse, auto view>
Result<Answer> ask_profiles(const Question& question, ViewSources& sources) {
  const auto request = parse(question.parameters, question.now_ns);
  if (!request) {
    return propagate(request);
  }
  const store::TimeSpans times = times_of(question.parameters, question.now_ns);
  return of_sound_rows(sources, times, question.parameters, [&](const Snapshot& snapshot) {
    return of_rolled_up_rows(question, times, snapshot, as_answer(view(*request, snapshot)));
  });
}

// `view(request, snapshot, fleet)`: with what heartbeats said.
template <auto parse, auto view>
Result<Answer> ask_profiles_and_fleet(const Question& question, ViewSources& sources) {
  const auto request = parse(question.parameters, question.now_ns);
  if (!request) {
    return propagate(request);
  }
  const store::TimeSpans times = times_of(question.parameters, question.now_ns);
  return of_sound_rows(sources, times, question.parameters, [&](const Snapshot& snapshot) {
    const auto fleet = LiveFleet::load(*request, sources.fleet());
    return of_rolled_up_rows(question, times, snapshot,
                             fleet ? as_answer<Table>(view(*request, snapshot, *fleet)) : propagate(fleet));
  });
}

}  // namespace plimsoll::query
