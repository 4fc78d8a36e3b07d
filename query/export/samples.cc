#include "query/export/samples.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/process_memory.h"
#include "query/rows/symbol_coverage.h"
#include "query/snapshot/dimension.h"

namespace plimsoll::query {
namespace {

size_t max_samples() {
  constexpr uint64_t kMaxSamples = 5'000'000;
  constexpr uint64_t kSampleBytes = 100;
  return memory_share(kMaxSamples * kSampleBytes, 16) / kSampleBytes;
}

// Numbers dictionary entries by a value of theirs, from 1.
template <typename Value, typename ValueOf>
std::vector<uint32_t> number_entries(size_t entries, std::vector<Value>& values, ValueOf value_of) {
  std::map<Value, uint32_t> numbers;
  std::vector<uint32_t> group(entries);
  for (uint32_t id = 1; id < entries; ++id) {
    const auto [entry, is_new] = numbers.try_emplace(value_of(id), static_cast<uint32_t>(values.size()));
    if (is_new) {
      values.push_back(entry->first);
    }
    group[id] = entry->second;
  }
  return group;
}

// Machines and programs are numbered as they stand in `samples`.
store::ByColumn<store::IdGrouping> number_keys(const Snapshot& snapshot, ExportSamples& samples) {
  const store::Dictionaries& dictionaries = snapshot.dictionaries;
  store::ByColumn<store::IdGrouping> group;
  group[Column::kOrigin] =
      store::IdGrouping::by(number_entries(dictionaries.origins.size(), samples.machines, [&](uint32_t id) {
        return dictionaries.machines[dictionaries.origins[id].machine].machine_id;
      }));
  group[Column::kWorkload] =
      store::IdGrouping::by(number_entries(dictionaries.workloads.size(), samples.programs, [&](uint32_t id) {
        return std::pair(dictionaries.workloads[id].job, dictionaries.workloads[id].app);
      }));
  group[Column::kThread] = store::IdGrouping::each();
  group[Column::kLabels] = store::IdGrouping::each();
  return group;
}

}  // namespace

std::span<const store::StackNode> stacks_of(const ExportSamples& samples, const Snapshot& snapshot) {
  return samples.hidden == nullptr ? snapshot.dictionaries.stacks.span()
                                   : std::span(samples.hidden->stacks());
}

bool is_shown(const ExportSamples& samples, FramePlace place) {
  return samples.hidden == nullptr || !samples.hidden->is_hidden(place);
}

Result<ExportSamples> read_samples(const ExportRequest& request, SampleKeys keys, const Snapshot& snapshot) {
  ExportSamples samples;
  samples.hidden = hidden_frames(request.selection, snapshot);
  auto group =
      keys == SampleKeys::kAll ? number_keys(snapshot, samples) : store::ByColumn<store::IdGrouping>();
  group[Column::kStack] = store::IdGrouping::each();
  Selection selection = request.selection;
  const size_t events = std::max<size_t>(1, request.events.size());
  for (uint32_t i = 0; i < events; ++i) {
    selection.event = request.events.empty() ? std::string() : request.events[i];
    auto resolved = resolve(selection, snapshot);
    if (!resolved) {
      return propagate(resolved);
    }
    resolved->request.group = group;
    resolved->request.max_sums = (max_samples() - samples.values.size()) * resolved->request.measures.size();
    const auto cells = snapshot.rows->aggregate(resolved->request);
    if (!cells) {
      return propagate(cells);
    }
    samples.events.push_back(resolved->event);
    SymbolCoverage symbols(snapshot);
    for (size_t c = 0; c < cells->size(); ++c) {
      const store::CellKey& key = cells->keys[c];
      const double value = cells->sum(c, kValue);
      const double behind_it = cells->sum(c, kSamples);
      symbols.add(key[Column::kStack], value, behind_it);
      const SampleKey sample{.machine = key[Column::kOrigin],
                             .program = key[Column::kWorkload],
                             .thread = key[Column::kThread],
                             .labels = key[Column::kLabels],
                             .stack = key[Column::kStack]};
      samples.values.push_back({sample, i, value, behind_it});
    }
    symbols.describe(resolved->coverage);
    samples.coverages.push_back(resolved->coverage);
    samples.notes.insert(samples.notes.end(), resolved->notes.begin(), resolved->notes.end());
  }
  std::ranges::sort(samples.values, [](const SampleValue& a, const SampleValue& b) {
    return std::tie(a.key, a.event) < std::tie(b.key, b.event);
  });
  return samples;
}

}  // namespace plimsoll::query
