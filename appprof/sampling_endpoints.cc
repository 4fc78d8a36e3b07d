// Endpoints that sample while they wait, and those that describe the process.
#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>

#include "appprof/cpu.h"
#include "appprof/endpoint_answers.h"
#include "appprof/endpoints.h"
#include "appprof/mappings.h"
#include "appprof/symbols.h"
#include "appprof/text_sink.h"
#include "appprof/thread_sampler.h"

namespace plimsoll::appprof {
namespace {

// Of one request for names.
constexpr size_t kMaxAddresses = 50'000;
constexpr size_t kMaxSymbolBytes = 16 << 20;

// Sleeps for so long, up to the end of the profile; false: it is there, or the request ended before it.
std::function<bool(int64_t)> waiting(const RequestTime& time, int64_t until_ns, bool& is_whole) {
  return [&time, until_ns, &is_whole](int64_t ns) {
    const int64_t left_ns = until_ns - monotonic_ns();
    is_whole = time.sleep(std::clamp<int64_t>(left_ns, 0, ns));
    return is_whole && left_ns > ns;
  };
}

}  // namespace

Response Endpoints::cpu(const Request& request, const RequestTime& time) {
  return cpu_profile(request, time, false);
}
Response Endpoints::cpu_legacy(const Request& request, const RequestTime& time) {
  return cpu_profile(request, time, true);
}

Response Endpoints::cpu_profile(const Request& request, const RequestTime& time, bool is_legacy) {
  const std::optional<int64_t> seconds =
      request.number("seconds", std::min<int64_t>(30, settings_.max_seconds));
  if (!seconds || *seconds < 1 || *seconds > settings_.max_seconds) {
    return failed(400, "seconds= must be a number from 1 to " + std::to_string(settings_.max_seconds) + "\n");
  }
  const Exclusive exclusive(is_sampling_);
  if (!exclusive) {
    return too_many(kBusy);
  }
  const int64_t until_ns = monotonic_ns() + *seconds * kSecond;
  bool is_whole = true;
  std::string why;
  Profile profile = take_cpu_profile([this] { return thread_ids(settings_.is_own_thread); },
                                     waiting(time, until_ns, is_whole), why);
  if (!why.empty()) {
    return failed(501, why);
  }
  if (!is_whole) {
    return failed(503, "ended early\n");
  }
  if (is_legacy) {
    Response response = plain_text(legacy_cpu_profile(profile, read_file("/proc/self/maps")));
    response.content_type = "application/octet-stream";
    return response;
  }
  return pprof(std::move(profile), "profile", false);
}

Response Endpoints::wall(const Request& request, const RequestTime& time) {
  const std::optional<int64_t> seconds =
      request.number("seconds", std::min<int64_t>(10, settings_.max_seconds));
  if (!seconds || *seconds < 1 || *seconds > settings_.max_seconds) {
    return failed(400, "seconds= must be a number from 1 to " + std::to_string(settings_.max_seconds) + "\n");
  }
  const Exclusive exclusive(is_sampling_);
  if (!exclusive) {
    return too_many(kBusy);
  }
  ThreadSamplerOptions options;
  options.is_own = settings_.is_own_thread;
  const int64_t until_ns = monotonic_ns() + *seconds * kSecond;
  bool is_whole = true;
  std::string why;
  Profile profile = take_wall_profile(options, waiting(time, until_ns, is_whole), why);
  if (!why.empty()) {
    return failed(501, why);
  }
  return is_whole ? pprof(std::move(profile), "wall", false) : failed(503, "ended early\n");
}

Response Endpoints::threads(const Request& request, const RequestTime& time) {
  if (wants_text(request)) {
    // No stream: its numbers would be those of the program's locale ("12.345").
    std::string text;
    for (const ThreadInfo& thread : list_threads()) {
      text += std::to_string(thread.id) + " " + thread.state + " " + thread.name + "\n";
    }
    return plain_text(std::move(text));
  }
  const Exclusive exclusive(is_sampling_);
  if (!exclusive) {
    return too_many(kBusy);
  }
  ThreadSamplerOptions options;
  options.is_own = settings_.is_own_thread;
  std::string why;
  Profile profile = take_thread_profile(options, [&time](int64_t ns) { return time.sleep(ns); }, why);
  return why.empty() ? pprof(std::move(profile), "threads", false) : failed(501, why);
}

Response Endpoints::command_line(const Request& request, const RequestTime&) {
  std::string text = read_file("/proc/self/cmdline");
  if (text.ends_with('\0')) {
    text.pop_back();
  }
  if (request.path.starts_with("/pprof/")) {
    std::ranges::replace(text, '\0', '\n');  // gperftools' way; Go's has the zeros
    text += "\n";
  }
  return plain_text(text);
}

// "0x1234+0x5678" as body or query; "0x1234\tname" a line. Without any: how many names there are, as a yes.
Response Endpoints::symbol(const Request& request, const RequestTime&) {
  std::string asked = request.body;
  if (request.method == "GET" && !request.query.empty()) {
    asked = request.query.begin()->first;
  }
  if (asked.empty()) {
    return plain_text("num_symbols: 1\n");
  }
  std::vector<uintptr_t> addresses;
  std::istringstream words(asked);
  for (std::string word; addresses.size() < kMaxAddresses && std::getline(words, word, '+');) {
    addresses.push_back(std::strtoull(word.c_str(), nullptr, 16));
  }
  std::ranges::sort(addresses);
  addresses.erase(std::ranges::unique(addresses).begin(), addresses.end());
  const CodeMap code = CodeMap::read();
  const std::lock_guard lock(mutex_);
  const std::vector<std::string> names = names_of(code, addresses);
  std::string text;
  for (size_t i = 0; i < names.size() && text.size() < kMaxSymbolBytes; ++i) {
    if (!names[i].empty()) {
      StringSink address;
      write_number(address, addresses[i], 16);
      text += "0x" + address.take() + "\t" + names[i] + "\n";
    }
  }
  return plain_text(std::move(text));
}

}  // namespace plimsoll::appprof
