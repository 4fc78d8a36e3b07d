#include "appprof/endpoints.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "appprof/endpoint_answers.h"
#include "appprof/heap.h"
#include "appprof/locks.h"
#include "appprof/pprof_writer.h"
#include "appprof/unwind.h"

namespace plimsoll::appprof {
struct Endpoints::Route {
  std::string path;
  Response (Endpoints::*answer)(const Request&, const RequestTime&);
  std::string what;
  bool is_profile = true;  // counts against the limit
};

const std::vector<Endpoints::Route>& Endpoints::routes() {
  using E = Endpoints;
  static const auto* made_routes = new std::vector<Route>{
      {"/debug/pprof/heap", &E::heap, "heap in use, sampled (debug=1: tcmalloc's text)"},
      {"/debug/pprof/allocs", &E::allocations,
       "allocations since the start, sampled; seconds=N: of the next N seconds"},
      {"/debug/pprof/growth", &E::growth, "where memory was taken from the system (debug=1: text)"},
      {"/debug/pprof/contention", &E::contention,
       "waits for locks since the start, sampled; seconds=N (debug=1: text)"},
      {"/debug/pprof/mutex", &E::holders,
       "the same waits by the stacks of those that held the locks; seconds=N (debug=1: text)"},
      {"/debug/pprof/block", &E::conditions,
       "waits for condition variables since the start, sampled; seconds=N (debug=1: text)"},
      {"/debug/pprof/profile", &E::cpu, "CPU time of the next seconds=N (30)"},
      {"/debug/pprof/wall", &E::wall, "time of all threads, blocked ones too, of the next seconds=N (10)"},
      {"/debug/pprof/threads", &E::threads, "stacks of all threads now (debug=1: their names and states)"},
      {"/pprof/heap", &E::heap_legacy, "as google-pprof reads it"},
      {"/pprof/growth", &E::growth_legacy, "as google-pprof reads it"},
      {"/pprof/contention", &E::contention, "as google-pprof reads it"},
      {"/pprof/profile", &E::cpu_legacy, "as google-pprof reads it"},
      {"/debug/pprof/cmdline", &E::command_line, "the command line", false},
      {"/pprof/cmdline", &E::command_line, "the command line", false},
      {"/debug/pprof/symbol", &E::symbol, "names of addresses"},
      {"/pprof/symbol", &E::symbol, "names of addresses"},
      {"/plimsoll/bursts", &E::set_bursts, "POST config=M,N&seconds=N: when bursts are, for so long", false},
      {"/plimsoll/bursts/events", &E::burst_events, "events of bursts after=SEQUENCE", false},
      {"/", &E::index, "this page", false},
      {"/debug/pprof/", &E::index, "this page", false},
      {"/pprof/", &E::index, "this page", false},
  };
  return *made_routes;
}

Endpoints::Endpoints(Settings settings)
    : settings_(std::move(settings)), limit_(settings_.max_requests_per_minute, monotonic_ns()) {
  routes();  // made now: a fork while another thread made it would leave it half made
}

Response Endpoints::answer(const Request& request, const RequestTime& time) {
  const auto found = std::ranges::find(routes(), request.path, &Route::path);
  if (found == routes().end()) {
    return failed(404, "no such profile: / lists them\n");
  }
  if (found->is_profile) {
    const std::lock_guard lock(limit_mutex_);
    if (!limit_.take(monotonic_ns())) {
      return too_many("more than " + std::to_string(settings_.max_requests_per_minute) +
                      " requests a minute\n");
    }
  }
  return (this->*found->answer)(request, time);
}

void Endpoints::add_problem(const std::string& problem) {
  const std::lock_guard lock(limit_mutex_);
  added_problems_.push_back(problem);
}

std::vector<std::string> Endpoints::kinds() {
  std::vector<std::string> kinds;
  if (why_no_heap().empty()) {
    kinds.insert(kinds.end(), {"heap", "growth"});
  }
  if (why_no_allocations().empty()) {
    kinds.emplace_back("allocs");
  }
  if (are_locks_on()) {
    kinds.insert(kinds.end(), {"contention", "mutex", "block"});
  }
  kinds.insert(kinds.end(), {"profile", "wall", "threads"});
  return kinds;
}

std::vector<std::string> Endpoints::problems() {
  std::vector<std::string> problems;
  for (std::string why :
       {why_no_heap(), why_no_heap().empty() ? why_no_allocations() : std::string(),
        why_no_allocations().empty() && !are_heap_stacks_ours()
            ? std::string("heap samples have no labels: tcmalloc takes its stacks itself")
            : std::string(),
        why_no_lock_calls(),
        are_walks_allowed() ? std::string()
                            : "stacks have one frame: the program registers unwinding tables (JIT)"}) {
    while (why.ends_with('\n')) {
      why.pop_back();
    }
    if (!why.empty()) {
      problems.push_back(std::move(why));
    }
  }
  return problems;
}

Response Endpoints::index(const Request&, const RequestTime&) {
  // No stream: its numbers would be those of the program's locale ("12.345").
  std::string text = "Profiles of process " + std::to_string(::getpid()) + "\n\n";
  for (const Route& route : routes()) {
    text += route.path + std::string(route.path.size() < 26 ? 26 - route.path.size() : 1, ' ') + route.what +
            "\n";
  }
  for (const auto& [key, value] : settings_.labels) {
    text.append("\nlabel ").append(key).append(": ").append(value);
  }
  std::vector<std::string> all_problems = problems();
  {
    const std::lock_guard lock(limit_mutex_);
    all_problems.insert(all_problems.end(), added_problems_.begin(), added_problems_.end());
  }
  for (const std::string& problem : all_problems) {
    text += "\nnot available: " + problem;
  }
  return plain_text(text + "\n");
}

Profile Endpoints::taken(Profile (*take)()) const {
  const std::lock_guard lock(mutex_);
  return take();
}

Response Endpoints::pprof(Profile profile, const std::string& name, bool is_of_allocator) const {
  const CodeMap code = CodeMap::read();
  const std::lock_guard lock(mutex_);
  if (is_of_allocator) {
    drop_allocator_frames(profile, code);
  }
  Response response;
  response.content_type = "application/octet-stream";
  response.headers["Content-Disposition"] = "attachment; filename=\"" + name + ".pb.gz\"";
  response.body = gzip(write_pprof(profile, code, settings_.labels));
  return response.body.empty() ? failed(503, "no memory for the profile\n") : response;
}

Response Endpoints::cumulative(const Request& request, const RequestTime& time, Profile (*take)(),
                               bool is_of_allocator) {
  const std::optional<int64_t> seconds = request.number("seconds", 0);
  if (!seconds || *seconds > settings_.max_seconds) {
    return failed(400, "seconds= must be a number up to " + std::to_string(settings_.max_seconds) + "\n");
  }
  Profile profile = taken(take);
  if (*seconds > 0) {
    if (!time.sleep(*seconds * kSecond)) {
      return failed(503, "ended early\n");
    }
    profile = difference(profile, taken(take));
  }
  if (!is_of_allocator && (wants_text(request) || request.path.starts_with("/pprof/"))) {
    return plain_text(contention_text(profile));
  }
  return pprof(std::move(profile), request.path.substr(request.path.rfind('/') + 1), is_of_allocator);
}

Response Endpoints::heap(const Request& request, const RequestTime& time) {
  if (wants_text(request)) {
    return heap_legacy(request, time);
  }
  if (const std::string why = why_no_heap(); !why.empty()) {
    return failed(501, why);
  }
  if (request.query.contains("seconds")) {
    return failed(400, "the heap in use is a snapshot: seconds= is for allocs\n");
  }
  return pprof(taken(&heap_profile), "heap", true);
}

Response Endpoints::heap_legacy(const Request&, const RequestTime&) {
  const std::string why = why_no_heap();
  return why.empty() ? plain_text(heap_text()) : failed(501, why);
}

Response Endpoints::allocations(const Request& request, const RequestTime& time) {
  if (const std::string why = why_no_allocations(); !why.empty()) {
    return failed(501, why);
  }
  return cumulative(request, time, &allocation_profile, true);
}

Response Endpoints::growth(const Request& request, const RequestTime& time) {
  if (wants_text(request)) {
    return growth_legacy(request, time);
  }
  if (!is_tcmalloc()) {
    return failed(501, why_no_heap());
  }
  return cumulative(request, time, &growth_profile, true);
}

Response Endpoints::growth_legacy(const Request&, const RequestTime&) {
  return is_tcmalloc() ? plain_text(growth_text()) : failed(501, why_no_heap());
}

Response Endpoints::contention(const Request& request, const RequestTime& time) {
  return waits(request, time, &lock_profile);
}
Response Endpoints::holders(const Request& request, const RequestTime& time) {
  return waits(request, time, &holder_profile);
}
Response Endpoints::conditions(const Request& request, const RequestTime& time) {
  return waits(request, time, &condition_profile);
}

Response Endpoints::waits(const Request& request, const RequestTime& time, Profile (*take)()) {
  if (!are_locks_on()) {
    const std::string why = why_no_lock_calls();
    return failed(
        501, why.empty() ? "lock waits are not counted: locks were left out at the start\n" : why + "\n");
  }
  return cumulative(request, time, take, false);
}

}  // namespace plimsoll::appprof
