#include "daemon/events/tracepoints.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <vector>

#include "base/file.h"
#include "base/suggest.h"

namespace plimsoll::perf {
namespace {

constexpr uint64_t kMaxIdBytes = 64;
constexpr size_t kMaxTracepointNames = 16384;

std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end;
       !error && entry != end && names.size() < kMaxTracepointNames; entry.increment(error)) {
    if (entry->is_directory(error)) {
      names.push_back(entry->path().filename().string());
    }
  }
  return names;
}

std::unexpected<Error> denied(const std::string& folder) {
  return with_hint(fail(ErrorCode::kDenied, "reading tracepoints in {}: permission denied", folder),
                   "tracepoints require CAP_DAC_READ_SEARCH and CAP_PERFMON");
}

// Why there is no such tracepoint.
std::unexpected<Error> unknown_tracepoint(const std::string& tracefs, const TracepointName& name) {
  const std::string events = tracefs + "/events";
  const auto systems = folders_in(events);
  const bool has_system = std::ranges::find(systems, name.system) != systems.end();
  const auto known = has_system ? folders_in(fmt::format("{}/{}", events, name.system)) : systems;
  const auto nearest = nearest_word(has_system ? name.event : name.system,
                                    std::vector<std::string_view>(known.begin(), known.end()));
  auto failure =
      fail(ErrorCode::kInvalid, "no such tracepoint: \"{}:{}\" in {}", name.system, name.event, events);
  return nearest ? with_hint(failure, has_system ? fmt::format("did you mean {}:{}?", name.system, *nearest)
                                                 : fmt::format("did you mean {}:...?", *nearest))
                 : with_hint(failure, fmt::format("see {}/available_events", tracefs));
}

}  // namespace

Result<std::string> find_tracefs(const std::string& sysfs) {
  for (const char* place : {"/kernel/tracing", "/kernel/debug/tracing"}) {
    std::string tracefs = sysfs + place;
    std::error_code error;
    if (std::filesystem::is_directory(tracefs + "/events", error)) {
      return tracefs;
    }
    if (error == std::errc::permission_denied) {
      return denied(tracefs);
    }
  }
  return with_hint(
      fail(ErrorCode::kUnsupported, "the tracing file system is not mounted at {}/kernel/tracing", sysfs),
      "mount -t tracefs tracefs /sys/kernel/tracing");
}

Result<uint64_t> tracepoint_id(const std::string& tracefs, const TracepointName& name) {
  const auto text =
      read_file(fmt::format("{}/events/{}/{}/id", tracefs, name.system, name.event), kMaxIdBytes);
  if (!text) {
    return text.error().code == ErrorCode::kNotFound ? unknown_tracepoint(tracefs, name)
           : text.error().code == ErrorCode::kDenied ? denied(tracefs)
                                                     : propagate(text);
  }
  uint64_t id = 0;
  const auto parsed = std::from_chars(text->data(), text->data() + text->size(), id);
  if (parsed.ec != std::errc()) {
    return fail(ErrorCode::kCorrupt, "\"{}\" is not the number of the tracepoint {}:{}", *text, name.system,
                name.event);
  }
  return id;
}

size_t count_tracepoint_systems(const std::string& tracefs) {
  return folders_in(tracefs + "/events").size();
}

}  // namespace plimsoll::perf
