#include "query/fdo/counts/count_binary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/checksum.h"
#include "base/time.h"
#include "proto/profile_codec.h"
#include "query/fdo/counts/binary_choice.h"
#include "query/selection/empty_selection.h"
#include "query/selection/selected_events.h"

namespace plimsoll::fdo {
namespace {

using query::kSamples;
using query::kValue;
using query::ResolvedSelection;
using query::Snapshot;
using store::Column;

// The half of a machine: a machine group of the request.
constexpr uint32_t kOtherHalf = 0;
constexpr uint32_t kHalf = 1;

class BinaryCount {
 public:
  BinaryCount(const CountsRequest& request, const Snapshot& snapshot)
      : request_(request), snapshot_(snapshot), dictionaries_(snapshot.dictionaries) {}

  Result<BinaryCounts> run() {
    auto resolved = query::resolve(request_.selection, snapshot_);
    if (!resolved) {
      return propagate(resolved);
    }
    auto chosen = choose_binary(request_.build_id, *resolved, snapshot_);
    if (!chosen) {
      return propagate(chosen);
    }
    describe(*resolved, *chosen);
    const bool is_of_branches = wire::is_of_branches(counts_.event);
    if (is_of_branches && counts_.event != wire::kBranchRecords) {
      return with_hint(
          with_field(fail(ErrorCode::kInvalid, "{} are pairs of addresses, and no samples", counts_.event),
                     "event"),
          "name an event of samples, such as cycles: branch records are read beside it; of branch records "
          "alone "
          "branch-records");
    }
    const std::vector<bool> leaves = stacks_in(*chosen, is_of_branches);
    if (auto summed = sum_by_process(*resolved, leaves); !summed) {
      return propagate(summed);
    }
    if (counts_.samples == 0) {
      return no_samples(*resolved);
    }
    if (auto summed = sum_elsewhere(*resolved); !summed) {
      return propagate(summed);
    }
    if (auto found = find_mean_time(*resolved, leaves); !found) {
      return propagate(found);
    }
    if (auto added = is_of_branches ? Status() : add_samples(*resolved, leaves); !added) {
      return propagate(added);
    }
    for (const auto& [event, pairs, offset_pairs] :
         {std::tuple(wire::kBranchRecords, &counts_.branches, &counts_.offset_branches),
          std::tuple(wire::kBranchRanges, &counts_.ranges, &counts_.offset_ranges)}) {
      if (auto added = add_pairs(*chosen, event, *pairs, *offset_pairs); !added) {
        return propagate(added);
      }
    }
    return std::move(counts_);
  }

 private:
  void describe(const ResolvedSelection& resolved, const ChosenBinary& chosen) {
    const store::EventEntry& event = dictionaries_.events[resolved.event];
    counts_.build_id = chosen.build_id;
    counts_.path = chosen.path;
    counts_.event = event.name;
    counts_.unit = query::unit_name(event.unit);
    counts_.coverage = resolved.coverage;
    counts_.notes = resolved.notes;
    std::set<std::string> draws;
    query::for_each_selected(snapshot_, resolved.request.filter, [&](const store::OriginEventEntry& entry) {
      draws.insert(dictionaries_.origins[entry.origin].draw);
    });
    draws.erase("");
    counts_.draws = static_cast<int64_t>(draws.size());
  }

  std::unexpected<Error> no_samples(const ResolvedSelection& resolved) const {
    return with_hint(
        fail(ErrorCode::kNotFound, "the selection has no {} samples in the binary with build ID {} ({})",
             counts_.event, counts_.build_id, counts_.path),
        resolved.coverage.machines_drawn == 0 ? why_empty(request_.selection, snapshot_)
                                              : most_sampled_binaries(resolved, snapshot_));
  }

  // By stack: whether its innermost location is in the binary; of pairs, whether both are.
  std::vector<bool> stacks_in(const ChosenBinary& chosen, bool are_pairs) const {
    std::vector<bool> is_in(dictionaries_.locations.size());
    for (uint32_t id = 1; id < is_in.size(); ++id) {
      const store::LocationEntry& location = dictionaries_.locations[id];
      is_in[id] = (location.kind == wire::ELF || location.kind == wire::ELF_FILE_OFFSET) &&
                  chosen.is_entry[location.owner];
    }
    std::vector<bool> flags(dictionaries_.stacks.size());
    for (uint32_t stack = 1; stack < flags.size(); ++stack) {
      const store::StackNode& node = dictionaries_.stacks[stack];
      flags[stack] =
          is_in[node.location] && (!are_pairs || is_in[dictionaries_.stacks[node.parent].location]);
    }
    return flags;
  }

  static store::AggregateRequest of_stacks(const ResolvedSelection& resolved,
                                           const std::vector<bool>& stacks) {
    store::AggregateRequest request = resolved.request;
    store::IdSet& selected = request.filter[Column::kStack];
    selected = store::intersection_of(selected, store::IdSet::of_flags(stacks));
    return request;
  }

  // Which machines and processes have samples in the binary, and how many.
  Status sum_by_process(const ResolvedSelection& resolved, const std::vector<bool>& leaves) {
    store::AggregateRequest request = of_stacks(resolved, leaves);
    std::vector<uint32_t> machine_of(dictionaries_.origins.size());
    std::vector<uint32_t> origin_of(snapshot_.origins.machines);
    for (uint32_t origin = 1; origin < machine_of.size(); ++origin) {
      machine_of[origin] = snapshot_.origins.machine_of(origin);
      origin_of[machine_of[origin]] = origin;
    }
    request.group[Column::kOrigin] = store::IdGrouping::by(machine_of);
    request.group[Column::kWorkload] = store::IdGrouping::each();
    const auto cells = snapshot_.rows->aggregate(request);
    if (!cells) {
      return propagate(cells);
    }
    is_of_binary_.assign(dictionaries_.workloads.size(), false);
    std::map<uint32_t, double> by_machine;
    for (size_t c = 0; c < cells->size(); ++c) {
      counts_.value += cells->sum(c, kValue);
      counts_.samples += cells->sum(c, kSamples);
      by_machine[cells->keys[c][Column::kOrigin]] += cells->sum(c, kValue);
      is_of_binary_[cells->keys[c][Column::kWorkload]] = true;
    }
    counts_.machines = static_cast<int64_t>(by_machine.size());
    counts_.coverage.samples = std::llround(counts_.samples);
    choose_half(by_machine, origin_of, machine_of);
    return {};
  }

  void choose_half(const std::map<uint32_t, double>& by_machine, const std::vector<uint32_t>& origin_of,
                   const std::vector<uint32_t>& machine_of) {
    std::vector<std::pair<uint64_t, uint32_t>> machines;
    for (const auto& [machine, value] : by_machine) {
      const uint32_t entry = dictionaries_.origins[origin_of[machine]].machine;
      machines.emplace_back(checksum64(as_bytes(dictionaries_.machines[entry].machine_id)), machine);
    }
    std::ranges::sort(machines);
    std::set<uint32_t> half;
    for (size_t i = 0; i < machines.size() / 2; ++i) {
      half.insert(machines[i].second);
      counts_.value_of_half += by_machine.at(machines[i].second);
    }
    half_of_origin_.assign(dictionaries_.origins.size(), kOtherHalf);
    for (uint32_t origin = 1; origin < half_of_origin_.size(); ++origin) {
      half_of_origin_[origin] = half.contains(machine_of[origin]) ? kHalf : kOtherHalf;
    }
  }

  Status find_mean_time(const ResolvedSelection& resolved, const std::vector<bool>& leaves) {
    store::AggregateRequest request = of_stacks(resolved, leaves);
    std::vector<uint32_t> hour_of(dictionaries_.origins.size());
    std::map<int64_t, uint32_t> numbers;
    std::vector<int64_t> hours;
    for (uint32_t origin = 1; origin < hour_of.size(); ++origin) {
      const int64_t hour = dictionaries_.origins[origin].to_ns / kNsPerHour;
      const auto [number, is_new] = numbers.try_emplace(hour, static_cast<uint32_t>(hours.size()));
      if (is_new) {
        hours.push_back(hour);
      }
      hour_of[origin] = number->second;
    }
    request.group[Column::kOrigin] = store::IdGrouping::by(std::move(hour_of));
    const auto cells = snapshot_.rows->aggregate(request);
    if (!cells) {
      return propagate(cells);
    }
    double sum = 0;
    for (size_t c = 0; c < cells->size(); ++c) {
      sum += cells->sum(c, kValue) * static_cast<double>(hours[cells->keys[c][Column::kOrigin]]);
    }
    counts_.mean_time_ns = counts_.value > 0 ? std::llround(sum / counts_.value) * kNsPerHour : 0;
    return {};
  }

  Status sum_elsewhere(const ResolvedSelection& resolved) {
    store::AggregateRequest request = resolved.request;
    store::IdSet& workloads = request.filter[Column::kWorkload];
    workloads = store::intersection_of(workloads, store::IdSet::of_flags(is_of_binary_));
    const auto cells = snapshot_.rows->aggregate(request);
    if (!cells) {
      return propagate(cells);
    }
    double all = 0;
    for (size_t c = 0; c < cells->size(); ++c) {
      all += cells->sum(c, kValue);
    }
    counts_.value_elsewhere = std::max(0.0, all - counts_.value);
    return {};
  }

  Result<store::Cells> by_stack(store::AggregateRequest request) const {
    request.group[Column::kStack] = store::IdGrouping::each();
    request.machine_group = store::IdTable<uint32_t>(half_of_origin_);
    return snapshot_.rows->aggregate(request);
  }

  static double of_half(const store::Cells& cells, size_t cell) {
    return cells.machine_groups > kHalf ? cells.by_machine_group(cell, kValue)[kHalf] : 0;
  }

  const store::LocationEntry& location_of(uint32_t stack) const {
    return dictionaries_.locations[dictionaries_.stacks[stack].location];
  }

  Status add_samples(const ResolvedSelection& resolved, const std::vector<bool>& leaves) {
    const auto cells = by_stack(of_stacks(resolved, leaves));
    if (!cells) {
      return propagate(cells);
    }
    std::map<uint64_t, AddressSamples> addresses;
    std::map<uint64_t, AddressSamples> offsets;
    std::map<std::pair<uint64_t, uint64_t>, AddressPair> calls;
    for (size_t c = 0; c < cells->size(); ++c) {
      const uint32_t stack = cells->keys[c][Column::kStack];
      const store::LocationEntry& leaf = location_of(stack);
      AddressSamples& at = (leaf.kind == wire::ELF ? addresses : offsets)[leaf.address];
      at.address = leaf.address;
      at.value += cells->sum(c, kValue);
      at.samples += cells->sum(c, kSamples);
      at.value_of_half += of_half(*cells, c);
      const uint32_t parent = dictionaries_.stacks[stack].parent;
      if (request_.with_calls && leaf.kind == wire::ELF && leaves[parent] &&
          location_of(parent).kind == wire::ELF) {
        add_pair(location_of(parent).address, leaf.address, *cells, c, calls);
      }
    }
    take(addresses, counts_.addresses);
    take(offsets, counts_.offsets);
    take(calls, counts_.calls);
    return {};
  }

  // Of a selection's own filters, beside its samples.
  Status add_pairs(const ChosenBinary& chosen, std::string_view event, std::vector<AddressPair>& pairs,
                   std::vector<AddressPair>& offset_pairs) const {
    const bool are_there = std::ranges::any_of(
        dictionaries_.events.span(), [&](const store::EventEntry& entry) { return entry.name == event; });
    if (!are_there) {
      return {};
    }
    query::Selection selection = request_.selection;
    selection.event = event;
    const auto resolved = query::resolve(selection, snapshot_);
    if (!resolved) {
      return propagate(resolved);
    }
    const auto cells = by_stack(of_stacks(*resolved, stacks_in(chosen, true)));
    if (!cells) {
      return propagate(cells);
    }
    std::map<std::pair<uint64_t, uint64_t>, AddressPair> by_address;
    std::map<std::pair<uint64_t, uint64_t>, AddressPair> by_offset;
    for (size_t c = 0; c < cells->size(); ++c) {
      const uint32_t stack = cells->keys[c][Column::kStack];
      const store::LocationEntry& to = location_of(stack);
      const store::LocationEntry& from = location_of(dictionaries_.stacks[stack].parent);
      // An offset beside an address says nothing that could be compared.
      if (from.kind == to.kind) {
        add_pair(from.address, to.address, *cells, c, to.kind == wire::ELF ? by_address : by_offset);
      }
    }
    take(by_address, pairs);
    take(by_offset, offset_pairs);
    return {};
  }

  static void add_pair(uint64_t from, uint64_t to, const store::Cells& cells, size_t cell,
                       std::map<std::pair<uint64_t, uint64_t>, AddressPair>& pairs) {
    AddressPair& pair = pairs[{from, to}];
    pair.from = from;
    pair.to = to;
    pair.value += cells.sum(cell, kValue);
    pair.samples += cells.sum(cell, kSamples);
    pair.value_of_half += of_half(cells, cell);
  }

  template <typename Key, typename Entry>
  static void take(std::map<Key, Entry>& from, std::vector<Entry>& to) {
    for (auto& [key, entry] : from) {
      to.push_back(entry);
    }
  }

  const CountsRequest& request_;
  const Snapshot& snapshot_;
  const store::Dictionaries& dictionaries_;
  BinaryCounts counts_;
  std::vector<bool> is_of_binary_;  // by workload
  std::vector<uint32_t> half_of_origin_;
};

}  // namespace

Result<CountsRequest> parse_counts(const query::Parameters& parameters, int64_t now_ns) {
  CountsRequest request;
  query::Selection& selection = request.selection;
  const std::vector<query::Parameter> known{query::text_parameter("build_id", request.build_id),
                                            query::text_parameter("event", selection.event),
                                            query::where_parameter(selection),
                                            query::since_parameter(now_ns, selection),
                                            query::until_parameter(now_ns, selection),
                                            query::flag_parameter("calls", request.with_calls)};
  if (auto read = query::read_parameters(parameters, known); !read) {
    return propagate(read);
  }
  if (auto checked = query::check_selection(selection); !checked) {
    return propagate(checked);
  }
  selection.hides_only_named = true;
  return request;
}

Result<BinaryCounts> count_binary(const CountsRequest& request, const Snapshot& snapshot) {
  return BinaryCount(request, snapshot).run();
}

}  // namespace plimsoll::fdo
