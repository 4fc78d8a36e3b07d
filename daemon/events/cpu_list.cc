#include "daemon/events/cpu_list.h"

#include <charconv>

#include "base/file.h"

namespace plimsoll::perf {
namespace {

constexpr int kMaxCpus = 1 << 16;

}  // namespace

Result<std::vector<int>> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  const auto malformed = [&] { return fail(ErrorCode::kCorrupt, "\"{}\" is not a list of CPUs", text); };
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (at != end && *at != '\n') {
    int first = 0;
    auto parsed = std::from_chars(at, end, first);
    int last = first;
    if (parsed.ec == std::errc() && parsed.ptr != end && *parsed.ptr == '-') {
      parsed = std::from_chars(parsed.ptr + 1, end, last);
    }
    if (parsed.ec != std::errc() || first < 0 || last < first || last >= kMaxCpus) {
      return malformed();
    }
    for (int cpu = first; cpu <= last; ++cpu) {
      cpus.push_back(cpu);
    }
    at = parsed.ptr;
    if (at != end && *at == ',') {
      ++at;
      if (at == end || *at == '\n') {
        return malformed();
      }
    } else if (at != end && *at != '\n') {
      return malformed();
    }
  }
  return cpus.empty() ? Result<std::vector<int>>(malformed()) : cpus;
}

Result<std::vector<int>> online_cpus() {
  const auto text = read_file("/sys/devices/system/cpu/online", 1 << 16);
  if (!text) {
    return propagate(text, "listing CPUs");
  }
  return parse_cpu_list(*text);
}

}  // namespace plimsoll::perf
