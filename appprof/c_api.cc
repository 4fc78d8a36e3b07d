#include <algorithm>
#include <cstring>
#include <exception>
#include <string>

#include "appprof/agent.h"
#include "appprof/appprof_c.h"

namespace plimsoll::appprof {
namespace {

// Of a caller that was compiled with an older header: what it does not know is zero.
plimsoll_appprof_options known_options(const plimsoll_appprof_options* given) {
  plimsoll_appprof_options options{};
  if (given != nullptr) {
    std::memcpy(&options, given, std::min(given->size, sizeof(options)));
  }
  return options;
}

AgentSettings settings_of(const plimsoll_appprof_options& options) {
  AgentSettings settings;
  settings.is_announced = options.announce != 0 || options.listen == nullptr;
  settings.must_be_announced = options.listen == nullptr;
  settings.listen = options.listen == nullptr ? settings.listen : options.listen;
  settings.token = options.token == nullptr ? "" : options.token;
  settings.announcement_folder = options.announce_dir == nullptr ? "" : options.announce_dir;
  for (const char* const* label = options.labels; label != nullptr && *label != nullptr; ++label) {
    add_label(*label, settings.labels);
  }
  settings.serves_children = options.serve_children != 0;
  const auto set = [](auto& setting, auto value) { setting = value == 0 ? setting : value; };
  set(settings.heap_period_bytes, options.heap_period_bytes);
  set(settings.lock_period_ns, options.lock_period_ns);
  set(settings.max_samples_per_second, options.max_samples_per_second);
  set(settings.socket_mode, options.socket_mode);
  set(settings.max_seconds, options.max_seconds);
  set(settings.max_requests_per_minute, options.max_requests_per_minute);
  settings.dump_folder = options.dump_dir == nullptr ? "" : options.dump_dir;
  settings.with_heap = options.no_heap == 0;
  settings.with_locks = options.no_locks == 0;
  return settings;
}

size_t copy_to(char* to, size_t size, const std::string& text) {
  if (to == nullptr || size == 0) {
    return 0;
  }
  const size_t length = std::min(text.size(), size - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
  return length;
}

}  // namespace
}  // namespace plimsoll::appprof

extern "C" int plimsoll_appprof_start(const plimsoll_appprof_options* options, char* error,
                                      size_t error_size) {
  namespace appprof = plimsoll::appprof;
  try {
    const std::string why = appprof::start_agent(appprof::settings_of(appprof::known_options(options)));
    appprof::copy_to(error, error_size, why);
    return why.empty() ? 0 : -1;
  } catch (const std::exception&) {
    appprof::copy_to(error, error_size, "no memory");
    return -1;
  }
}

extern "C" void plimsoll_appprof_stop(void) {
  try {
    plimsoll::appprof::stop_agent();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): a thread that cannot be waited for
  }
}

extern "C" size_t plimsoll_appprof_address(char* address, size_t size) {
  try {
    return plimsoll::appprof::copy_to(address, size, plimsoll::appprof::agent_address());
  } catch (const std::exception&) {
    return 0;
  }
}
