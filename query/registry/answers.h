// How views of the registry are asked.
#pragma once

#include <utility>

#include "query/registry/view.h"
#include "query/selection/sides.h"
#include "query/views/machines.h"

namespace plimsoll::query {

// Of anything that a view gives.
template <typename Given>
Result<Answer> as_answer(Result<Given> given) {
  return given ? Result<Answer>(*std::move(given)) : propagate(given);
}

// `view(request, snapshot)`, of what `parse(parameters, now_ns)` gives.
template <auto parse, auto view>
Result<Answer> ask_profiles(const Question& question, ViewSources& sources) {
  const auto request = parse(question.parameters, question.now_ns);
  if (!request) {
    return propagate(request);
  }
  const auto snapshot = sources.snapshot(times_of(question.parameters, question.now_ns));
  return snapshot ? as_answer(view(*request, **snapshot)) : propagate(snapshot);
}

// `view(request, snapshot, fleet)`: with what heartbeats said.
template <auto parse, auto view>
Result<Answer> ask_profiles_and_fleet(const Question& question, ViewSources& sources) {
  const auto request = parse(question.parameters, question.now_ns);
  if (!request) {
    return propagate(request);
  }
  const auto snapshot = sources.snapshot(times_of(question.parameters, question.now_ns));
  const auto fleet = snapshot ? LiveFleet::load(*request, sources.data_dir()) : propagate(snapshot);
  return fleet ? as_answer<Table>(view(*request, **snapshot, *fleet)) : propagate(fleet);
}

}  // namespace plimsoll::query
