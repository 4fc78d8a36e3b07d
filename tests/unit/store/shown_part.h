// A part of a store as text, for tests that compare copies.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/hex.h"
#include "store/copy/part.h"

namespace plimsoll::testing {

inline std::string shown_facts(const store::CopiedPart& part) {
  std::string text = fmt::format("part {} takes_more {} rolled_up {} profiles {} to {}\n", part.number,
                                 part.takes_more, part.is_rolled_up, part.after, part.last);
  for (size_t place = 0; place < part.profiles.size(); ++place) {
    const store::ProfileRecord& profile = part.profiles[place];
    const store::OriginEntry& origin = part.entries.origins[place + 1];
    text += fmt::format("profile {} {} of machine {} from {} to {} {}\n", to_hex(profile.id),
                        profile.sequence, origin.machine, origin.from_ns, origin.to_ns, origin.is_rolled_up);
    for (const store::EventRecord& event : profile.events) {
      text += fmt::format("  event {} {} {} {} {}", event.event, event.scale, event.hits, event.samples,
                          event.counter_total);
      text += part.is_rolled_up
                  ? fmt::format(" {} {} {}\n", event.profiles, event.observed_ns, event.effective_samples)
                  : "\n";
    }
  }
  for (const store::KernelSymbols& symbols : part.kernel_symbols) {
    text += fmt::format("symbols of {}: {}\n", symbols.binary, to_hex(symbols.content));
  }
  for (const store::BinaryMachine& machine : part.binary_machines) {
    text += fmt::format("binary {} of {}\n", machine.binary, machine.machine_id);
  }
  for (const store::SetAside& profile : part.set_aside) {
    text += fmt::format("set aside {}: {}\n", profile.sequence, profile.reason);
  }
  for (const store::DescribedBinary& binary : part.accounts) {
    text +=
        fmt::format("account of {}: {} {} {} {}\n", binary.binary, static_cast<int>(binary.account.quality),
                    binary.account.generation, binary.account.reasons, binary.account.looked_at);
  }
  return text;
}

inline std::string shown_entries(const store::Dictionaries& entries) {
  std::string text;
  for (const store::EventEntry& event : entries.events) {
    text += fmt::format("event {} {} {}\n", event.name, static_cast<int>(event.unit),
                        static_cast<int>(event.kind));
  }
  for (const store::MachineEntry& machine : entries.machines) {
    text += fmt::format("machine {} {}\n", machine.machine_id, machine.platform);
  }
  for (const store::WorkloadEntry& workload : entries.workloads) {
    text += fmt::format("workload {} {} {}\n", workload.job, workload.instance, workload.app);
  }
  for (const std::string& thread : entries.threads) {
    text += fmt::format("thread {}\n", thread);
  }
  for (const std::string& labels : entries.label_sets) {
    text += fmt::format("labels {}\n", to_hex(labels));
  }
  for (const store::BinaryEntry& binary : entries.binaries) {
    text += fmt::format("binary {} {}\n", to_hex(binary.identity), binary.path);
  }
  for (const store::LocationEntry& location : entries.locations) {
    text += fmt::format("location {} {} {}\n", location.owner, location.address, location.name);
  }
  for (const store::StackNode& stack : entries.stacks) {
    text += fmt::format("stack {} {}\n", stack.parent, stack.location);
  }
  return text;
}

// In order; of one key together.
inline std::string shown_rows(const store::RowSource& source) {
  std::vector<store::Row> rows;
  const auto cursor = source.scan({});
  while (true) {
    const auto some = cursor->next();
    EXPECT_TRUE(some) << some.error().text();
    if (!some || some->empty()) {
      break;
    }
    rows.insert(rows.end(), some->begin(), some->end());
  }
  std::ranges::sort(rows);
  std::string text;
  for (const store::Row& row : rows) {
    text += "row";
    for (const store::Column column : store::kColumns) {
      text += fmt::format(" {}", row[column]);
    }
    text += fmt::format(": {}\n", row.hits);
  }
  return text;
}

inline std::string shown_names(store::PartSource& source, int64_t number) {
  std::string text;
  const Status read = source.read_names(number, [&](std::span<const store::Binding> names) -> Status {
    for (const store::Binding& name : names) {
      text += fmt::format("location {}:", name.location);
      for (const store::Frame& frame : name.frames) {
        text += fmt::format(" {}|{}|{}:{}|{}", frame.function, frame.linkage_name, frame.file, frame.line,
                            frame.is_inlined);
      }
      text += "\n";
    }
    return {};
  });
  EXPECT_TRUE(read) << read.error().text();
  return text;
}

inline std::string shown_part(store::PartSource& source, int64_t number) {
  const auto part = source.read(number);
  EXPECT_TRUE(part) << part.error().text();
  return part ? shown_facts(*part) + shown_entries(part->entries) + shown_rows(*part->rows) +
                    shown_names(source, number)
              : "";
}

}  // namespace plimsoll::testing
