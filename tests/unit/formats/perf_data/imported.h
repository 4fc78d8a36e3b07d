// Recordings built in code, imported: text out.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/perf_data/import_recording.h"
#include "proto/profile_codec.h"
#include "tests/unit/capture/profile/profile_text.h"
#include "tests/unit/formats/perf_data/recording_bytes.h"

namespace plimsoll::perf_data {

inline constexpr int64_t kModifiedNs = 1'700'000'000'000'000'000;

inline Result<ImportedRecording> try_import(std::string_view content, RecordingOptions options = {},
                                            const Limits& limits = {}) {
  options.modified_ns = kModifiedNs;
  BlockReader file(elf::read_at_of(as_bytes(content)), content.size());
  return import_recording(file, options, limits);
}

// A recording that must be sound.
inline ImportedRecording import_of(std::string_view content, const RecordingOptions& options = {}) {
  auto imported = try_import(content, options);
  if (!imported) {
    ADD_FAILURE() << imported.error().text();
    return {};
  }
  const auto valid = wire::validate(imported->profile);
  EXPECT_TRUE(valid.has_value()) << valid.error().text();
  return std::move(*imported);
}

// "NAME: N samples, N lost, N hits, VALUE UNIT" for each event.
inline std::vector<std::string> event_lines(const ImportedRecording& imported) {
  std::vector<std::string> lines;
  for (const auto& event : imported.events) {
    lines.push_back(fmt::format("{}: {} samples, {} lost, {} hits, {} {}", event.name, event.samples,
                                event.lost, event.hits, event.value,
                                event.unit == wire::NANOSECONDS ? "ns" : "times"));
  }
  return lines;
}

inline std::vector<std::string> pair_lines(
    const wire::RawProfile& profile, std::string_view event,
    const std::function<std::string(const wire::BranchTable& table, int row)>& text) {
  std::vector<std::string> lines;
  for (const wire::BranchTable& table : profile.branches()) {
    const bool is_asked_for = profile.events(static_cast<int>(table.event())).name() == event;
    for (int row = 0; is_asked_for && row < table.thread_size(); ++row) {
      lines.push_back(text(table, row));
    }
  }
  return lines;
}

// "TID FROM -> TO HITS (MISPREDICTED)" for each row of branches.
inline std::vector<std::string> branch_lines(const wire::RawProfile& profile) {
  return pair_lines(profile, wire::kBranchRecords, [&](const wire::BranchTable& table, int row) {
    return fmt::format("{} {} -> {} {} ({})", profile.threads(static_cast<int>(table.thread(row))).tid(),
                       location_text(profile, table.from_location(row)),
                       location_text(profile, table.to_location(row)), table.hits(row),
                       table.mispredicted(row));
  });
}

// "TID FIRST .. LAST HITS" for each row of the code between them.
inline std::vector<std::string> range_lines(const wire::RawProfile& profile) {
  return pair_lines(profile, wire::kBranchRanges, [&](const wire::BranchTable& table, int row) {
    return fmt::format("{} {} .. {} {}", profile.threads(static_cast<int>(table.thread(row))).tid(),
                       location_text(profile, table.from_location(row)),
                       location_text(profile, table.to_location(row)), table.hits(row));
  });
}

// "IDENTITY PATH" for each binary.
inline std::vector<std::string> binary_lines(const wire::RawProfile& profile) {
  std::vector<std::string> lines;
  for (const wire::Binary& binary : profile.binaries()) {
    lines.push_back(binary.identity() + " " + binary.path());
  }
  return lines;
}

// "PID COMM EXECUTABLE" for each process.
inline std::vector<std::string> process_lines(const wire::RawProfile& profile) {
  std::vector<std::string> lines;
  for (const wire::Process& process : profile.processes()) {
    lines.push_back(fmt::format("{} {} {}", process.pid(), process.comm(), process.executable()));
  }
  return lines;
}

// A recording of the event `cycles`, with ID 1, whose samples have `more_fields`.
inline Recording cycles_recording(uint64_t more_fields = 0) {
  return Recording().event(hardware_attr(PERF_COUNT_HW_CPU_CYCLES, more_fields), {1}, "cycles");
}

}  // namespace plimsoll::perf_data
