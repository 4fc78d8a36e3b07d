#include "query/snapshot/event_pair.h"

#include <fmt/ranges.h>

#include <array>
#include <optional>
#include <ranges>

#include "query/snapshot/event_lookup.h"

namespace plimsoll::query {
namespace {

constexpr std::array<NamedRatio, 7> kNamedRatios{{{"ipc", "instructions/cycles"},
                                                  {"cpi", "cycles/instructions"},
                                                  {"exact-ipc", "exact-instructions/exact-cycles"},
                                                  {"exact-cpi", "exact-cycles/exact-instructions"},
                                                  {"bytes-per-object", "heap-inuse-bytes/heap-inuse-objects"},
                                                  {"bytes-per-allocation", "alloc-bytes/alloc-objects"},
                                                  {"wait-per-contention", "lock-wait-ns/lock-contentions"}}};

}  // namespace

std::vector<uint32_t> EventPair::groups_of(size_t events) const {
  std::vector<uint32_t> groups(events);
  groups[numerator] = kNumeratorGroup;
  groups[denominator] = denominator_group();
  return groups;
}

std::vector<uint32_t> EventPair::distinct() const {
  return numerator == denominator ? std::vector{numerator} : std::vector{numerator, denominator};
}

std::span<const NamedRatio> named_ratios() {
  return kNamedRatios;
}

std::string ratio_unit(const store::EventEntry& numerator, const store::EventEntry& denominator) {
  const bool is_of_things = denominator.unit == wire::COUNT &&
                            (numerator.unit == wire::BYTES || numerator.unit == wire::NANOSECONDS);
  return is_of_things ? numerator.unit == wire::BYTES ? "bytes" : "ns"
                      : fmt::format("{}/{}", numerator.name, denominator.name);
}

Result<std::string> parse_ratio(std::string_view text) {
  for (const NamedRatio& named : kNamedRatios) {
    if (text == named.name) {
      return std::string(named.ratio);
    }
  }
  const size_t slash = text.find('/', 1);
  if (text.empty() || slash == std::string_view::npos || slash + 1 == text.size()) {
    return with_field(
        fail(ErrorCode::kInvalid, "ratio is \"{}\", not two events (instructions/cycles) or one of {}", text,
             fmt::join(std::views::transform(kNamedRatios, &NamedRatio::name), ", ")),
        "ratio");
  }
  return std::string(text);
}

Status check_more_is_better(std::string_view ratio) {
  const auto named = std::ranges::find(kNamedRatios, ratio, &NamedRatio::ratio);
  const bool is_cost = ratio.ends_with("/instructions") || ratio.ends_with("/exact-instructions") ||
                       (named != kNamedRatios.end() && !named->name.ends_with("ipc"));
  return is_cost ? Status(with_hint(
                       with_field(fail(ErrorCode::kInvalid, "of the ratio {} more is worse", ratio), "ratio"),
                       "give one of which more is better, such as ipc"))
                 : Status();
}

// Names of events may have slashes of their own ("cpu/event=0x3c/"): every one is tried.
Result<EventPair> find_pair(std::string_view ratio, const Snapshot& snapshot) {
  std::optional<Error> failure;
  for (size_t slash = ratio.find('/'); slash != std::string_view::npos; slash = ratio.find('/', slash + 1)) {
    if (slash == 0 || slash + 1 == ratio.size()) {
      continue;
    }
    const auto numerator = find_event(std::string(ratio.substr(0, slash)), snapshot);
    const auto denominator = find_event(std::string(ratio.substr(slash + 1)), snapshot);
    if (numerator && denominator) {
      EventPair pair{numerator->id, denominator->id};
      for (const FoundEvent* found : {&*numerator, &*denominator}) {
        if (!found->note.empty()) {
          pair.notes.push_back(found->note);
        }
      }
      return pair;
    }
    if (!failure || numerator) {
      failure = !numerator ? numerator.error() : denominator.error();
    }
  }
  if (!failure) {
    return fail(ErrorCode::kInvalid, "\"{}\" is not a ratio: write two events separated by a slash", ratio);
  }
  Error error = *std::move(failure);
  error.field = "ratio";
  error.hint +=
      "; on machines without that hardware counter (see \"plimsolld probe\"; many virtual machines have "
      "none) the ratio is absent, not zero";
  return std::unexpected(std::move(error));
}

}  // namespace plimsoll::query
