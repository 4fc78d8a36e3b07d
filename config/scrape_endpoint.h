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
};

// "http://HOST[:PORT][/PATH]". kInvalid for other schemes, user names, and whatever else is no such URL.
Result<ScrapeEndpoint> parse_scrape_endpoint(std::string_view url);

}  // namespace plimsoll::config
