// Records of threads as text, one a line, and what they come to as text: for tests of daemon/waits.
//
//   begin 0 x1        a slot of weight 1 begins at 0
//   end 100
//   20 7>8            thread 7 leaves a CPU to 8; 0 is the idle thread
//   20 7=>8           so, but it could have run on
//   30 wake 7
//   20 stack 7 3      thread 7 is sampled with stack 3 as it leaves
//   25 sample 9       thread 9 is sampled on a CPU
//   20 start 9        it begins
//   90 exit 9         it ends
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "daemon/waits/wait_times.h"

namespace plimsoll::waits::testing {

inline std::string text_of(const WaitPart& part) {
  return fmt::format("{} {} of {}{}{}", part.thread.tid, part.time_ns, part.lasted_ns,
                     part.runnable_ns == 0 ? "" : fmt::format(" runnable {}", part.runnable_ns),
                     part.has_stack ? fmt::format(" stack {}", part.sampled.stack) : "");
}

inline void apply_line(const std::string& line, WaitTimes& times) {
  std::istringstream in(line);
  std::string first;
  std::string what;
  if (!(in >> first)) {
    return;
  }
  if (first == "begin" || first == "end") {
    int64_t time_ns = 0;
    char x = 0;
    uint32_t weight = 1;
    in >> time_ns >> x >> weight;
    if (first == "begin") {
      times.begin_slot(time_ns, weight);
    } else {
      times.end_slot(time_ns);
    }
    return;
  }
  const int64_t time_ns = std::stoll(first);
  in >> what;
  uint32_t tid = 0;
  uint32_t stack = 0;
  if (const size_t arrow = what.find('>'); arrow != std::string::npos) {
    const auto next = static_cast<uint32_t>(std::stoul(what.substr(arrow + 1)));
    const auto left = static_cast<uint32_t>(std::stoul(what));
    times.apply({.time_ns = time_ns,
                 .is_preempted = what.find("=>") != std::string::npos,
                 .thread = {left, left},
                 .other = {next, next}});
    return;
  }
  in >> tid >> stack;
  if (what == "wake") {
    times.apply({.time_ns = time_ns, .event = ThreadEvent::kWake, .other = {0, tid}});
  } else if (what == "stack") {
    times.sampled({tid, tid}, time_ns, {.thread = tid, .stack = stack});
  } else if (what == "sample") {
    times.seen_running(0, {tid, tid}, time_ns);
  } else if (what == "start") {
    times.started({tid, tid}, time_ns);
  } else if (what == "exit") {
    times.exited(tid, time_ns);
  } else {
    ADD_FAILURE() << "no such line: " << line;
  }
}

// The parts of waits, in the order in which they were told.
inline std::vector<std::string> waits_of(const std::string& script) {
  std::vector<std::string> waits;
  WaitTimes times([&](const WaitPart& part) { waits.push_back(text_of(part)); });
  std::istringstream lines(script);
  for (std::string line; std::getline(lines, line);) {
    apply_line(line, times);
  }
  return waits;
}

}  // namespace plimsoll::waits::testing
