// Which listening sockets serve profiles: one table of [[scrape.listening]].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/settings.h"

namespace plimsoll::config {

struct PortRange {
  uint16_t first = 0;
  uint16_t last = 0;

  bool contains(uint16_t port) const { return first <= port && port <= last; }
};

// "6060" or "8000-8099"; nothing where it is neither, or empty.
std::optional<PortRange> parse_port_range(std::string_view text);

// The process must meet program and job, where they are given; one of them is. Of ports and sockets one is given, or both.
struct ListeningRule {
  std::string program = {};  // the process's name, or the last part of its executable's path
  std::string job = {};
  std::string ports = {};
  std::string sockets = {};  // a pattern of paths of Unix sockets, as a shell has it
  std::vector<std::string> paths = {"/debug/pprof/heap"};

  // The keys point into this object.
  std::vector<Key> keys();
};

// kInvalid: neither program nor job, neither ports nor sockets, or paths that are none or the same profile twice.
Status check(const ListeningRule& rule);

}  // namespace plimsoll::config
