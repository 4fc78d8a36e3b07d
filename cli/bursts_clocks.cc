#include "cli/bursts_clocks.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "base/time.h"
#include "cli/bursts_machines.h"
#include "cli/json_text.h"
#include "cli/views/answer_source.h"

namespace plimsoll::cli {
namespace {

using traces::ClockProof;
using traces::MachineClock;

double as_ms(int64_t ns) {
  return static_cast<double>(ns) / static_cast<double>(kNsPerMs);
}

std::string bound_text(const std::optional<int64_t>& shift_ns) {
  return shift_ns ? fmt::format("{:.3f}", as_ms(*shift_ns)) : "any";
}

std::string bound_json(const std::optional<int64_t>& shift_ns) {
  return shift_ns ? fmt::format("{}", *shift_ns) : "null";
}

std::string error_text(const traces::ClockState& clock) {
  return clock.is_synchronized ? fmt::format("{:.3f}", as_ms(clock.max_error_ns)) : "unknown";
}

std::string clock_remarks(const MachineClock& clock) {
  std::string text;
  text += clock.is_off ? "  OFF by over a tenth of a burst" : "";
  text += clock.is_beyond_error ? "  off by more than its error bound" : "";
  text += clock.may_be_off ? "  may be off by over a tenth of a burst" : "";
  text += clock.assumed > 0 ? "  by marks" : "";
  return text;
}

std::string burst_text(const BurstOfMachines& burst) {
  std::string text;
  for (size_t i = 0; i < burst.clocks.machines.size(); ++i) {
    const MachineClock& clock = burst.clocks.machines[i];
    const traces::SceneMachine& machine = burst.machines[i];
    const std::string permitted =
        clock.proof == ClockProof::kRepaired
            ? fmt::format("{} to {}", bound_text(clock.min_shift_ns), bound_text(clock.max_shift_ns))
            : "-";
    text += fmt::format("{:<26}{:<20}{:>22}{:>12}{:>8}{:>24}{:>12.3f}  {}{}\n",
                        format_time(burst.planned_begin_ms * kNsPerMs), printable(machine.recording->machine),
                        machine.burst->wall_offset_on_ns, error_text(machine.recording->clock), clock.pairs,
                        permitted, as_ms(clock.shift_ns), name_of(clock.proof), clock_remarks(clock));
  }
  for (const std::string& contradiction : burst.clocks.contradictions) {
    text += fmt::format("note: no shift is right, times stay as recorded: {}\n", contradiction);
  }
  return text;
}

std::string machine_json(const traces::SceneMachine& machine, const MachineClock& clock,
                         const std::string& reference) {
  std::string text = "{\"machine\": ";
  append_json_string(machine.recording->machine, text);
  text += ", \"reference\": ";
  append_json_string(reference, text);
  return text + fmt::format(
                    ", \"result\": \"{}\", \"offset_ns\": {}, \"is_synchronized\": {}, \"max_error_ns\": {}, "
                    "\"calls\": {}, \"calls_by_marks\": {}, \"min_shift_ns\": {}, \"max_shift_ns\": {}, "
                    "\"shift_ns\": {}, \"is_off\": {}, \"may_be_off\": {}, \"is_beyond_error\": {}}}",
                    name_of(clock.proof), machine.burst->wall_offset_on_ns,
                    machine.recording->clock.is_synchronized, machine.recording->clock.max_error_ns,
                    clock.pairs, clock.assumed, bound_json(clock.min_shift_ns),
                    bound_json(clock.max_shift_ns), clock.shift_ns, clock.is_off, clock.may_be_off,
                    clock.is_beyond_error);
}

std::string burst_clocks_json(const BurstOfMachines& burst) {
  std::string text =
      fmt::format("{{\"begin\": \"{}\", \"machines\": [", format_time(burst.planned_begin_ms * kNsPerMs));
  for (size_t i = 0; i < burst.clocks.machines.size(); ++i) {
    const MachineClock& clock = burst.clocks.machines[i];
    text += i == 0 ? "" : ", ";
    text += machine_json(burst.machines[i], clock, burst.machines[clock.reference].recording->machine);
  }
  text += "], \"contradictions\": [";
  for (size_t i = 0; i < burst.clocks.contradictions.size(); ++i) {
    text += i == 0 ? "" : ", ";
    append_json_string(burst.clocks.contradictions[i], text);
  }
  return text + "]}";
}

}  // namespace

Status run_bursts_clocks(const BurstsClocksOptions& options) {
  auto machines = BurstMachines::open(options.input, options.spans);
  if (!machines) {
    return propagate(machines);
  }
  std::string text =
      options.is_json ? "{\"bursts\": ["
                      : fmt::format("{:<26}{:<20}{:>22}{:>12}{:>8}{:>24}{:>12}  {}\n", "burst", "machine",
                                    "offset ns", "error ms", "calls", "permitted ms", "shift ms", "result");
  bool is_first = true;
  uint64_t uncompared = 0;
  const Status read = machines->for_each_burst([&](const BurstOfMachines& burst) -> Result<bool> {
    uncompared += burst.has_compared_clocks() ? 0 : 1;
    text += !options.is_json || std::exchange(is_first, false) ? "" : ", ";
    text += options.is_json ? burst_clocks_json(burst) : burst_text(burst);
    return true;
  });
  // Standard output may be a document.
  for (const std::string& note : machines->notes()) {
    fmt::print(stderr, "note: {}\n", note);
  }
  if (uncompared > 0) {
    fmt::print(stderr,
               "note: of {} bursts clocks are not compared: they have over {} recordings; give --machine\n",
               uncompared, traces::kMaxClockMachines);
  }
  return read ? write_output("-", text + (options.is_json ? "]}\n" : "")) : read;
}

}  // namespace plimsoll::cli
