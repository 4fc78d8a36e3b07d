// A profile under construction, finished, and its samples as lines of text.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "capture/profile/profile_builder.h"
#include "proto/profile_codec.h"

namespace plimsoll {

// With the events "cpu-clock" and "page-faults", and what the builder does not know: machine, window, ID.
inline wire::RawProfile finished(ProfileBuilder& builder) {
  wire::RawProfile profile;
  profile.set_format_version(wire::kFormatVersion);
  profile.set_profile_id("0123456789abcdef");
  profile.mutable_machine()->set_id("m1");
  profile.mutable_window()->mutable_start()->set_wall_ns(1);
  profile.mutable_window()->mutable_end()->set_wall_ns(2);
  profile.mutable_window()->mutable_end()->set_monotonic_ns(1);
  for (const char* name : {"cpu-clock", "page-faults"}) {
    wire::Event& event = *profile.add_events();
    event.set_name(name);
    event.set_unit(wire::COUNT);
    event.set_kind(wire::DELTA);
  }
  builder.finish(profile);
  return profile;
}

// "kernel:1f", "jit:7fff", "bpf:NAME".
inline std::string location_text(const wire::RawProfile& profile, uint32_t location) {
  const auto& locations = profile.locations();
  const auto index = static_cast<int>(location);
  const auto kind = static_cast<wire::LocationKind>(locations.kind(index));
  std::string name = wire::LocationKind_Name(kind);
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c; });
  const uint64_t address = locations.address(index);
  return kind == wire::BPF ? name + ":" + profile.frames(static_cast<int>(address)).function()
                           : fmt::format("{}:{:x}", name, address);
}

// "EVENT PID/TID OUTERMOST;...;LEAF HITS" for each row, sorted.
inline std::vector<std::string> sample_lines(const wire::RawProfile& profile) {
  std::vector<std::string> lines;
  for (const wire::SampleTable& table : profile.samples()) {
    for (int row = 0; row < table.thread_size(); ++row) {
      const wire::Thread& thread = profile.threads(static_cast<int>(table.thread(row)));
      std::string stack;
      for (uint32_t node = table.stack(row); node != 0;
           node = profile.stacks().parent(static_cast<int>(node) - 1)) {
        const std::string frame =
            location_text(profile, profile.stacks().location(static_cast<int>(node) - 1));
        stack = stack.empty() ? frame : frame + ";" + stack;
      }
      const wire::Event& event = profile.events(static_cast<int>(table.event(0)));
      const bool are_squares = event.kind() == wire::SQUARES;
      lines.push_back(
          fmt::format("{} {}/{} {} {}", event.name(),
                      profile.processes(static_cast<int>(thread.process())).pid(), thread.tid(), stack,
                      are_squares ? std::llround(static_cast<double>(table.hits(row)) * wire::scale_of(event))
                                  : static_cast<int64_t>(table.hits(row))));
    }
  }
  std::ranges::sort(lines);
  return lines;
}

// "PROBLEM SAMPLES".
inline std::vector<std::string> problem_lines(const wire::RawProfile& profile) {
  std::vector<std::string> lines;
  for (const wire::StackProblemCount& count : profile.stack_problems()) {
    lines.push_back(fmt::format("{} {}", wire::StackProblem_Name(count.problem()), count.samples()));
  }
  return lines;
}

}  // namespace plimsoll
