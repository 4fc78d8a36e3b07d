// Recordings and profiles of real programs, filed so that they make a fleet: most as they came, a few dealt
// out to many machines.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "formats/import_profile.h"
#include "tests/profile_fixture.h"
#include "tests/unit/formats/perf_data/imported.h"
#include "tests/unit/formats/perf_data/record_walk.h"

namespace plimsoll::query::real {

// When draws began, and how long one lasts.
inline constexpr int64_t kDrawStartNs = 1'700'000'000LL * 1'000'000'000LL;
inline constexpr int64_t kHourNs = 3600LL * 1'000'000'000LL;
inline constexpr int64_t kDrawNs = kHourNs / 2;

inline void deal_rows(const wire::SampleTable& from, size_t hand, size_t hands, wire::SampleTable& to) {
  to = wire::SampleTable();
  *to.mutable_event() = from.event();
  for (int row = 0; row < from.thread_size(); ++row) {
    if (static_cast<size_t>(row) % hands != hand) {
      continue;
    }
    to.add_thread(from.thread(row));
    to.add_stack(from.stack(row));
    for (int i = 0; i < from.event_size(); ++i) {
      to.add_hits(from.hits(row * from.event_size() + i));
    }
  }
}

// What of an event came into a hand.
inline void deal_event(const wire::RawProfile& dealt, int number, wire::Event& event) {
  uint64_t hits = 0;
  for (const wire::SampleTable& table : dealt.samples()) {
    for (int i = 0; i < table.hits_size(); ++i) {
      hits += table.event(i % table.event_size()) == static_cast<uint32_t>(number) ? table.hits(i) : 0;
    }
  }
  const double part = static_cast<double>(hits) / static_cast<double>(event.hits());
  event.set_counter_total(event.counter_total() * part);
  event.set_samples(static_cast<uint64_t>(std::ceil(static_cast<double>(event.samples()) * part)));
  event.set_hits(hits);
}

// Leaves the stacks that samples have.
inline void drop_unused_stacks(wire::RawProfile& profile) {
  const wire::Stacks all = profile.stacks();
  std::vector<uint32_t> number(static_cast<size_t>(all.parent_size()) + 1);
  for (const wire::SampleTable& table : profile.samples()) {
    for (uint32_t node : table.stack()) {
      for (; node != 0 && number[node] == 0; node = all.parent(static_cast<int>(node - 1))) {
        number[node] = 1;
      }
    }
  }
  wire::Stacks& used = *profile.mutable_stacks();
  used.Clear();
  for (int i = 0; i < all.parent_size(); ++i) {
    uint32_t& node = number[static_cast<size_t>(i) + 1];
    if (node != 0) {
      used.add_parent(number[all.parent(i)]);
      used.add_location(all.location(i));
      node = static_cast<uint32_t>(used.parent_size());
    }
  }
  for (wire::SampleTable& table : *profile.mutable_samples()) {
    for (uint32_t& node : *table.mutable_stack()) {
      node = number[node];
    }
  }
}

// A recording's rows are dealt out like cards: this is one of the hands.
inline wire::RawProfile dealt(const wire::RawProfile& recording, size_t hand, size_t hands) {
  wire::RawProfile dealt = recording;
  dealt.clear_stack_problems();
  for (int table = 0; table < recording.samples_size(); ++table) {
    deal_rows(recording.samples(table), hand, hands, *dealt.mutable_samples(table));
  }
  for (int event = 0; event < dealt.events_size(); ++event) {
    deal_event(dealt, event, *dealt.mutable_events(event));
  }
  drop_unused_stacks(dealt);
  return dealt;
}

inline std::vector<wire::RawProfile> recordings() {
  std::vector<wire::RawProfile> profiles;
  for (const char* file :
       {"perf_data/perf.data.branch_stack_hw_index", "perf_data/perf.data.callgraph-3.8",
        "perf_data/perf.data.callgraph_and_branch-3.8", "perf_data/perf.data.ctx_switch_namespaces-4.14",
        "perf_data/perf.data.group_desc-4.14", "perf_data/perf.data.hw_and_sw-3.4",
        "perf_data/perf.data.lost_samples-4.4", "perf_data/perf.data.systemwide.0-3.8",
        "perf_data/single-event-multi-process.perf.data", "autofdo/test.lbr"}) {
    profiles.push_back(perf_data::import_of(perf_data::corpus_file(file)).profile);
  }
  return profiles;
}

inline std::vector<wire::RawProfile> application_profiles() {
  std::vector<wire::RawProfile> profiles;
  for (const char* file : {"pprof/large.cpu", "pprof/cppbench.heap", "pprof/cppbench.growth",
                           "pprof/cppbench.contention", "pprof/gobench.heap"}) {
    const std::string content = perf_data::corpus_file(file);
    const auto imported = formats::import_profile(as_bytes(content),
                                                  {.file_name = file, .modified_ns = perf_data::kModifiedNs});
    EXPECT_TRUE(imported) << file;
    profiles.push_back(imported.value_or(wire::RawProfile()));
  }
  // A quarter of its 20,000 stacks is enough, in a quarter of the time.
  profiles.front() = dealt(profiles.front(), 0, 4);
  return profiles;
}

// A text of `perf script`: of each sample a line "COMM TID EVENT:", then "ADDRESS FUNCTION (FILE)" from the
// leaf outward, then an empty line. Functions are all that it is read for.
class ScriptReader {
 public:
  explicit ScriptReader(const std::string& text) : lines_(text) {
    profile_.set_format_version(wire::kFormatVersion);
    profile_.mutable_machine()->set_id("script");
    profile_.mutable_window()->mutable_start()->set_wall_ns(kDrawStartNs);
    profile_.mutable_window()->mutable_end()->set_wall_ns(kDrawStartNs + kHourNs / 60);
    profile_.mutable_window()->mutable_end()->set_monotonic_ns(kHourNs / 60);
    wire::Process& process = *profile_.add_processes();
    process.set_comm("java");
    process.set_job("vertx");
    profile_.add_samples()->add_event(0);
  }

  wire::RawProfile read() {
    std::vector<std::string> leaf_first;
    std::string header;
    for (std::string line; std::getline(lines_, line);) {
      if (line.empty()) {
        add_sample(header, leaf_first);
        leaf_first.clear();
      } else if (line.starts_with('\t')) {
        leaf_first.push_back(function_of(line));
      } else if (!line.starts_with('#')) {
        header = line;
      }
    }
    add_event();
    return profile_;
  }

 private:
  static std::string function_of(const std::string& line) {
    const size_t address = line.find_first_not_of("\t ");
    const size_t name = line.find(' ', address) + 1;
    return line.substr(name, line.rfind(" (") - name);
  }

  uint32_t location(const std::string& function) {
    const auto [entry, is_new] = locations_.try_emplace(function, profile_.frames_size());
    if (is_new) {
      profile_.mutable_locations()->add_kind(wire::NAMED);
      profile_.mutable_locations()->add_owner(0);
      profile_.mutable_locations()->add_address(entry->second);
      profile_.add_frames()->set_function(function);
    }
    return entry->second;
  }

  uint32_t stack(const std::vector<std::string>& leaf_first) {
    uint32_t node = 0;
    for (auto function = leaf_first.rbegin(); function != leaf_first.rend(); ++function) {
      wire::Stacks& stacks = *profile_.mutable_stacks();
      const uint32_t place = location(*function);
      const auto [entry, is_new] = nodes_.try_emplace({node, place}, stacks.parent_size() + 1);
      if (is_new) {
        stacks.add_parent(node);
        stacks.add_location(place);
      }
      node = entry->second;
    }
    return node;
  }

  void add_sample(const std::string& header, const std::vector<std::string>& leaf_first) {
    std::istringstream words(header);
    std::string name;
    uint32_t tid = 0;
    words >> name >> tid;
    const auto [entry, is_new] = threads_.try_emplace(tid, profile_.threads_size());
    if (is_new) {
      wire::Thread& thread = *profile_.add_threads();
      thread.set_tid(tid);
      thread.set_name(fmt::format("{}-{}", name, tid));
    }
    wire::SampleTable& table = *profile_.mutable_samples(0);
    table.add_thread(entry->second);
    table.add_stack(stack(leaf_first));
    table.add_hits(1);
  }

  // The recording was made at 99 Hz.
  void add_event() {
    const int hits = profile_.samples(0).hits_size();
    wire::Event& event = *profile_.add_events();
    event.set_name("cpu-clock");
    event.set_unit(wire::NANOSECONDS);
    event.set_kind(wire::DELTA);
    event.set_hits(static_cast<uint64_t>(hits));
    event.set_counter_total(1e9 / 99 * hits);
  }

  std::istringstream lines_;
  wire::RawProfile profile_;
  std::map<std::string, uint32_t> locations_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> nodes_;
  std::map<uint32_t, uint32_t> threads_;
};

inline wire::RawProfile script_profile() {
  return ScriptReader(perf_data::corpus_file("perf_script/perf-vertx-stacks-01.txt")).read();
}

// Two draws, an hour apart, of the same machines in two parts of the fleet; the first few machines are
// observed twice in each draw. Their probabilities differ, and one machine's even within a draw.
inline std::vector<wire::RawProfile> drawn(const wire::RawProfile& recording, const std::string& prefix,
                                           size_t machines) {
  constexpr size_t kObservedTwice = 3;
  const size_t windows = machines + kObservedTwice;
  std::vector<wire::RawProfile> profiles;
  for (size_t hand = 0; hand < 2 * windows; ++hand) {
    const size_t machine = hand % windows % machines;
    const auto number = static_cast<int64_t>(hand / windows);
    const bool is_again = hand % windows >= machines;
    wire::RawProfile profile = dealt(recording, hand, 2 * windows);
    profile.mutable_machine()->set_id(fmt::format("{}{:02}", prefix, machine));
    profile.mutable_machine()->set_hostname(fmt::format("{}{:02}.example", prefix, machine));
    wire::Draw& draw = *profile.mutable_assignment()->mutable_draw();
    draw.set_id(fmt::format("draw-{}", number));
    draw.set_stratum(machine % 3 == 0 ? "east" : "west");
    draw.set_inclusion_probability(0.1 + 0.04 * static_cast<double>(machine) +
                                   (is_again && machine == 0 ? 0.05 : 0.0));
    draw.set_interval_ns(kDrawNs);
    const int64_t length_ns =
        recording.window().end().monotonic_ns() - recording.window().start().monotonic_ns();
    const int64_t start_ns = kDrawStartNs + number * kHourNs + (is_again ? kDrawNs / 3 : 0) +
                             static_cast<int64_t>(machine) * length_ns;
    profile.mutable_window()->mutable_start()->set_wall_ns(start_ns);
    profile.mutable_window()->mutable_end()->set_wall_ns(start_ns + length_ns);
    profiles.push_back(std::move(profile));
  }
  return profiles;
}

inline std::vector<wire::RawProfile> all_profiles() {
  std::vector<wire::RawProfile> profiles = recordings();
  // Of a fixed period, and of periods that vary, where some samples stand for many hits.
  const auto fixed = perf_data::import_of(perf_data::corpus_file("perf_data/perf.data.throttle-3.8")).profile;
  const auto varying =
      perf_data::import_of(perf_data::corpus_file("perf_data/perf.data.piped.target-3.8")).profile;
  for (const auto& more : {application_profiles(), drawn(fixed, "desktop", 20), drawn(varying, "laptop", 16),
                           drawn(script_profile(), "java", 14)}) {
    profiles.insert(profiles.end(), more.begin(), more.end());
  }
  uint64_t seed = 0;
  for (wire::RawProfile& profile : profiles) {
    profile.set_profile_id(testing::profile_id(++seed));
  }
  return profiles;
}

}  // namespace plimsoll::query::real
