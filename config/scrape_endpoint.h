// Where an application hands out profiles of itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace plimsoll::config {

struct ScrapeEndpoint {
  std::string base_url;      // what stands before the path: "http://127.0.0.1:8080", "unix:/run/job.sock:"
  std::string host;          // without the brackets of an IPv6 address; empty: a Unix socket
  uint16_t port = 80;        // 0: a Unix socket
  std::string socket_path;   // of a Unix socket, absolute; else empty
  std::string path;          // with its query, from '/' on
  bool is_loopback = false;  // or a Unix socket: on this machine

  // "127.0.0.1:8080/pprof/heap", "unix:/run/job.sock:/pprof/heap"
  std::string name() const;
  // "127.0.0.1:8080", "unix:/run/job.sock": the same for all URLs of one program, whether they name localhost or its usual addresses.
  std::string program() const;
};

// What an endpoint's profiles are about, by the last part of its path, as Go and gperftools call them.
enum class ScrapeKind {
  kUnknown,
  kHeap,    // heap, heapz, allocs: Go's two have the same values, only that they show others first
  kLock,    // mutex, contention, contentionz: time that others waited for a lock
  kBlock,   // block: time that goroutines waited for anything, locks among it
  kGrowth,  // growth, growthz
  kCpu,     // profile
  kWall,    // wall
};
ScrapeKind scrape_kind(const ScrapeEndpoint& endpoint);

// The path, with its query, of a kind of profile that processes announce (docs/appprof.md); empty where it is none that is scraped.
std::string_view path_of_announced_kind(std::string_view kind);

// The kind, as announcements and policies call it ("heap", "contention"), by the last part of the path; empty where it is another.
std::string_view kind_of_endpoint(const ScrapeEndpoint& endpoint);

// kInvalid where one is no kind that path_of_announced_kind() knows.
Status check_application_kinds(std::span<const std::string> kinds);

// 1 to 65535, in decimal digits alone.
std::optional<uint16_t> parse_port(std::string_view text);

// "http://HOST[:PORT][/PATH]" or "unix:/SOCKET[:/PATH]". kInvalid for other schemes, user names, and whatever else is no such URL.
Result<ScrapeEndpoint> parse_scrape_endpoint(std::string_view url);

}  // namespace plimsoll::config
