#include "appprof/agent.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <limits>
#include <memory>
#include <system_error>
#include <type_traits>

#include "appprof/announcement.h"
#include "appprof/burst_ring.h"
#include "appprof/endpoints.h"
#include "appprof/heap.h"
#include "appprof/http_server.h"
#include "appprof/locks.h"
#include "appprof/oom_dump.h"
#include "appprof/thread_sampler.h"
#include "appprof/thread_state.h"
#include "appprof/unwind.h"

namespace plimsoll::appprof {
namespace {

constexpr size_t kMinTokenSize = 16;
// Names, the command line and refusals beside each profile.
constexpr uint32_t kConnectionsPerRequest = 4;
constexpr uint32_t kMinConnectionsPerMinute = 240;

struct Agent {
  AgentSettings settings;
  pid_t pid = 0;
  std::unique_ptr<Endpoints> endpoints;  // destroyed after the server, whose threads use them
  std::unique_ptr<HttpServer> server;
  std::string announced_at;  // a path; empty: nowhere
};

// Never destroyed at exit: threads of the server may still run while destructors do.
constinit std::atomic<Agent*> g_agent{nullptr};
// A start or stop is under way. Not a mutex: one that another thread held would stay locked in a forked child.
constinit std::atomic<bool> g_is_changing{false};
constinit std::atomic<bool> g_has_fork_handlers{false};

// The end of another's start or stop is waited for, by looking: see g_is_changing. A start takes milliseconds, a
// stop cuts the answers under way.
class Change {
 public:
  Change() noexcept {
    while (g_is_changing.exchange(true)) {
      const timespec step{0, 1'000'000};
      ::nanosleep(&step, nullptr);
    }
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;
  ~Change() { g_is_changing.store(false); }

 private:
  const Inside inside_;
};

// Whether g_agent serves: only who makes it false may stop it.
constinit std::atomic<bool> g_is_serving{false};

void remove_announcement(Agent& agent) {
  if (!agent.announced_at.empty()) {
    ::unlink(agent.announced_at.c_str());
    agent.announced_at.clear();
  }
}

// Another process's file and socket stay: only the one that announced itself takes it back. Its threads go on until the end.
[[gnu::destructor]] void at_exit() {
  Agent* agent = g_is_serving.exchange(false) ? g_agent.load() : nullptr;
  if (agent != nullptr && agent->pid == ::getpid()) {
    remove_announcement(*agent);
    agent->server->remove_path();
  }
}

std::string check(const AgentSettings& settings, ListenAddress& address) {
  if (!settings.refusal.empty()) {
    return settings.refusal;
  }
  const auto parsed = parse_listen_address(settings.listen);
  if (!parsed) {
    return "cannot listen on \"" + settings.listen +
           "\": give 127.0.0.1:PORT, [::1]:PORT (a numeric address) or unix:/PATH";
  }
  constexpr uint32_t kMaxMode = 0777;
  if (settings.socket_mode == 0 || settings.socket_mode > kMaxMode) {
    return "the mode of the socket must be permissions in octal digits, such as 0660";
  }
  address = *parsed;
  address.mode = settings.socket_mode;
  if (!settings.token.empty() && settings.token.size() < kMinTokenSize) {
    return "the token must have at least 16 characters";
  }
  if (!address.is_loopback && settings.token.empty()) {
    return "listening on " + settings.listen + " is refused: beyond loopback a token is required";
  }
  return {};
}

std::string launch(Agent& agent, const ListenAddress& address) {
  const AgentSettings& settings = agent.settings;
  agent.pid = ::getpid();
  find_unwinder();
  allocate_label_table();
  // What does not work is said by the endpoints, the index page and the announcement; the rest is served.
  if (settings.with_heap) {
    start_heap(settings.heap_period_bytes, settings.max_samples_per_second);
  }
  if (settings.with_locks) {
    start_locks(settings.lock_period_ns, settings.max_samples_per_second);
  }
  const std::string why_no_dump =
      settings.dump_folder.empty() ? std::string() : start_oom_dump(settings.dump_folder, settings.labels);
  agent.endpoints = std::make_unique<Endpoints>(
      Endpoints::Settings{settings.labels, settings.max_seconds, settings.max_requests_per_minute,
                          [&agent](pid_t thread) { return agent.server->is_own_thread(thread); }});
  if (!why_no_dump.empty()) {
    agent.endpoints->add_problem(why_no_dump);
  }
  const auto connections_per_minute = static_cast<uint32_t>(
      std::clamp<uint64_t>(uint64_t{kConnectionsPerRequest} * settings.max_requests_per_minute,
                           kMinConnectionsPerMinute, UINT32_MAX));
  agent.server = std::make_unique<HttpServer>(settings.token, connections_per_minute,
                                              [&agent](const Request& request, const RequestTime& time) {
                                                return agent.endpoints->answer(request, time);
                                              });
  std::string why = agent.server->start(address);
  if (why.empty() && settings.is_announced) {
    const std::string folder =
        settings.announcement_folder.empty() ? default_announcement_folder() : settings.announcement_folder;
    const Announcement announcement{
        agent.pid,          own_start_ticks(),     agent.server->address(), !settings.token.empty(),
        Endpoints::kinds(), Endpoints::problems(), settings.labels};
    const std::string why_not = announce(folder, announcement);
    if (why_not.empty()) {
      agent.announced_at = announcement_path(folder, agent.pid, announcement.start_ticks);
    } else if (settings.must_be_announced) {
      why = why_not;
    } else {
      agent.endpoints->add_problem(why_not);
    }
  }
  return why;
}

// In the child, with the one thread that forked. C library and tcmalloc have put their own locks in order by now: their handlers
// were registered before ours.
void after_fork_in_child() {
  g_is_changing.store(false);
  reset_locks_in_child();
  reset_heap_in_child();
  reset_oom_dump_in_child();
  reset_thread_sampler_in_child();
  g_burst_ring.clear_in_child();
  const bool is_serving = g_is_serving.exchange(false);
  Agent* parents = g_agent.exchange(nullptr);
  if (parents == nullptr) {
    return;
  }
  // Leaked from here on: its mutexes may be locked, by threads that are not here. Half started or stopped it is too.
  if (HttpServer* server = parents->server.get(); server != nullptr) {
    server->close_in_child();
  }
  if (!is_serving || !parents->settings.serves_children) {
    return;
  }
  AgentSettings settings = parents->settings;
  settings.is_announced = true;
  settings.must_be_announced = true;  // its address is none that anyone knows
  const auto address = parse_listen_address(settings.listen);
  if (address && address->path.empty()) {
    settings.listen = settings.listen.substr(0, settings.listen.rfind(':')) + ":0";
  } else {
    settings.listen += "." + std::to_string(::getpid());
  }
  start_agent(settings);  // a child that cannot serve does its work all the same
}

// The server first, while a forked child still finds it.
void end(Agent* agent) {
  remove_announcement(*agent);
  if (agent->server != nullptr) {
    agent->server->stop();
  }
  g_agent.store(nullptr);
  delete agent;
}

std::string start_exclusively(const AgentSettings& settings) {
  ListenAddress address;
  std::string why = check(settings, address);
  if (!why.empty()) {
    return why;
  }
  if (const Agent* agent = g_agent.load(); agent != nullptr) {
    return "profiles are already served, at " + agent->server->address() + ": stop first";
  }
  if (!g_has_fork_handlers.exchange(true)) {
    ::pthread_atfork(nullptr, nullptr, [] {
      const Inside inside;
      try {
        after_fork_in_child();
      } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): short of memory, unserved
      }
    });
  }
  // Published first: a child that is forked meanwhile closes what is open by then.
  auto owned = std::make_unique<Agent>();
  owned->settings = settings;
  Agent* agent = owned.release();
  g_agent.store(agent);
  try {
    why = launch(*agent, address);
  } catch (const std::exception& problem) {
    why = problem.what();
  }
  g_is_serving.store(why.empty());
  if (!why.empty()) {
    stop_heap();
    stop_locks();
    stop_oom_dump();
    end(agent);
  }
  return why;
}

}  // namespace

std::string start_agent(const AgentSettings& settings) {
  const Change change;
  try {
    return start_exclusively(settings);
  } catch (const std::exception& problem) {
    return problem.what();
  }
}

void stop_agent() {
  const Change change;
  if (g_is_serving.exchange(false)) {
    stop_locks();
    stop_heap();
    stop_oom_dump();
    end(g_agent.load());
  }
}

std::string agent_address() {
  // Does not wait: while it changes, there is none.
  if (g_is_changing.exchange(true)) {
    return {};
  }
  std::string address = g_is_serving.load() ? g_agent.load()->server->address() : std::string();
  g_is_changing.store(false);
  return address;
}

Labels parse_labels(const std::string& text) {
  Labels labels;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    add_label(std::string_view(text).substr(at, end - at), labels);
    at = end + 1;
  }
  return labels;
}

bool settings_of_environment(AgentSettings& settings) {
  // Nothing where the program has more rights than the user who started it.
  const auto value = [](const char* name) {
    const char* text = ::secure_getenv((std::string("PLIMSOLL_APPPROF_") + name).c_str());
    return std::string(text == nullptr ? "" : text);
  };
  const std::string listen = value("LISTEN");
  settings.is_announced = value("ANNOUNCE") == "1";
  if (listen.empty() && !settings.is_announced) {
    return false;
  }
  // LD_PRELOAD reaches all programs that a program starts; one of them is meant.
  const std::string only = value("PROGRAM");
  if (!only.empty() && only != ::program_invocation_short_name) {
    return false;
  }
  settings.must_be_announced = listen.empty();
  settings.listen = listen.empty() ? settings.listen : listen;
  if (const std::string mode = value("SOCKET_MODE"); !mode.empty()) {
    char* end = nullptr;
    const unsigned long number = std::strtoul(mode.c_str(), &end, 8);
    settings.socket_mode = *end == '\0' && number < UINT32_MAX ? static_cast<uint32_t>(number) : UINT32_MAX;
  }
  settings.token = value("TOKEN");
  settings.labels = parse_labels(value("LABELS"));
  settings.dump_folder = value("DUMP_DIR");
  settings.serves_children = value("CHILDREN") == "1";
  // "512K" taken for 512 would be a thousand times as many samples.
  const auto read_number = [&](const char* name, auto& setting) {
    const std::string text = value(name);
    uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (!text.empty() && (error != std::errc() || rest != end)) {
      settings.refusal =
          std::string("PLIMSOLL_APPPROF_") + name + " must be a number of digits alone: \"" + text + "\"";
    } else if (number > 0) {
      using Number = std::remove_reference_t<decltype(setting)>;
      setting = static_cast<Number>(std::min<uint64_t>(number, std::numeric_limits<Number>::max()));
    }
  };
  read_number("HEAP_BYTES", settings.heap_period_bytes);
  read_number("LOCK_NS", settings.lock_period_ns);
  read_number("SAMPLES", settings.max_samples_per_second);
  read_number("REQUESTS", settings.max_requests_per_minute);
  return true;
}

}  // namespace plimsoll::appprof
