// Where an application hands out profiles of itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace plimsoll::config {

struct ScrapeEndpoint {
  std::string base_url;  // "http://127.0.0.1:8080"
  std::string host;      // without the brackets of an IPv6 address
  uint16_t port = 80;
  std::string path;  // with its query, from '/' on
  bool is_loopback = false;

  // "127.0.0.1:8080/pprof/heap"
  std::string name() const;
  // "127.0.0.1:8080": the same for all URLs of one program, whether they name localhost or its usual addresses.
  std::string program() const;
};

// What an endpoint's profiles are about, by the last part of its path, as Go and gperftools call them.
enum class ScrapeKind {
  kUnknown,
  kHeap,   // heap, heapz, allocs: Go's two have the same values, only that they show others first
  kLock,   // mutex, contention, contentionz: time that others waited for a lock
  kBlock,  // block: time that goroutines waited for anything, locks among it
};
ScrapeKind scrape_kind(const ScrapeEndpoint& endpoint);

// The path, with its query, of a kind of profile that processes announce (docs/appprof.md); empty where it is none that is scraped.
std::string_view path_of_announced_kind(std::string_view kind);

// "http://HOST[:PORT][/PATH]". kInvalid for other schemes, user names, and whatever else is no such URL.
Result<ScrapeEndpoint> parse_scrape_endpoint(std::string_view url);

}  // namespace plimsoll::config
