#include "daemon/scrape/listening_processes.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "config/scrape_endpoint.h"
#include "daemon/scrape/network.h"
#include "daemon/scrape/socket_owner.h"
#include "daemon/scrape/unix_sockets.h"

namespace plimsoll::scrape {
namespace {

constexpr size_t kMaxListeningProblems = 10;

struct Rule {
  config::PortRange ports;  // without ports: of 0, which no socket has
  const config::ListeningRule* rule;

  bool has_socket(const std::string& path) const {
    return !rule->sockets.empty() && ::fnmatch(rule->sockets.c_str(), path.c_str(), FNM_PATHNAME) == 0;
  }
};

std::vector<Rule> parsed(const std::vector<config::ListeningRule>& rules) {
  std::vector<Rule> all;
  for (const config::ListeningRule& rule : rules) {
    all.push_back({config::parse_port_range(rule.ports).value_or(config::PortRange{}), &rule});
  }
  return all;
}

bool is_program(const config::ListeningRule& rule, const std::string& comm, const std::string& executable) {
  return rule.program.empty() || comm == rule.program ||
         executable.substr(executable.rfind('/') + 1) == rule.program;
}

// The rules that a process meets, whatever its ports and sockets.
std::vector<Rule> rules_of(const std::vector<Rule>& rules, const identity::ProcFs& proc_fs, uint32_t pid,
                           const std::function<std::string(uint32_t)>& job_of) {
  const std::string comm = proc_fs.comm(pid);
  const std::string executable = proc_fs.executable(pid);
  std::optional<std::string> job;
  std::vector<Rule> met;
  for (const Rule& rule : rules) {
    if (!is_program(*rule.rule, comm, executable)) {
      continue;
    }
    if (!rule.rule->job.empty() && !job) {
      job = job_of(pid);
    }
    if (rule.rule->job.empty() || job == rule.rule->job) {
      met.push_back(rule);
    }
  }
  return met;
}

// The holders of a socket, of the processes that meet a rule for its port or path.
struct Found {
  std::string host;            // or the path of a Unix socket
  std::vector<uint32_t> pids;  // ascending
  const config::ListeningRule* rule = nullptr;
};

// By port, and by the network namespace that it is one of.
using FoundPorts = std::map<std::pair<uint16_t, std::string>, Found>;

// Loopback before other addresses; anything before nothing.
bool is_preferred(const std::string& host, const std::string& than) {
  const auto rank = [](const std::string& text) {
    return text.empty() ? 2 : text == "::1" || text.starts_with("127.") ? 0 : 1;
  };
  return std::pair(rank(host), host) < std::pair(rank(than), than) || than.empty();
}

struct Reached {
  ListeningSocket socket;
  std::string host;  // empty: not from here
};

// What listens in one network namespace, by inode.
struct ListeningNetwork {
  std::map<uint64_t, Reached> ports;
  std::map<uint64_t, std::string> sockets;  // paths
};

// Loopback may have no IPv6 (net.ipv6.conf.all.disable_ipv6): a socket of all IPv6 addresses takes IPv4 alone then.
bool lacks_ipv6_loopback(const identity::ProcFs& proc_fs) {
  const auto addresses = proc_fs.network_file("if_inet6");
  return addresses && addresses->find("00000000000000000000000000000001 ") == std::string::npos;
}

Result<ListeningNetwork> read_network(const identity::ProcFs& proc_fs, uint32_t pid, bool is_ours) {
  ListeningNetwork network;
  const auto sockets = listening_sockets(proc_fs, pid);
  if (!sockets) {
    return propagate(sockets, "scrape.listening");
  }
  const std::vector<std::string> addresses = own_addresses(proc_fs, pid);
  const bool is_ipv4_alone = is_ours && lacks_ipv6_loopback(proc_fs);
  for (ListeningSocket socket : *sockets) {
    if (is_ipv4_alone && socket.host == "::") {
      socket.loopback_host = "127.0.0.1";
    }
    network.ports.emplace(socket.inode, Reached{socket, reached_host(socket, is_ours, addresses)});
  }
  const auto unix_sockets = listening_unix_sockets(proc_fs, pid);
  for (const ListeningUnixSocket& socket : unix_sockets.value_or(std::vector<ListeningUnixSocket>())) {
    network.sockets.emplace(socket.inode, socket.path);
  }
  return network;
}

std::string bracketed(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

class Finder {
 public:
  Finder(const std::vector<config::ListeningRule>& rules, const identity::ProcFs& proc_fs)
      : rules_(parsed(rules)), proc_fs_(proc_fs) {}

  void look_at(uint32_t pid, const std::function<std::string(uint32_t)>& job_of) {
    const std::vector<Rule> met = rules_of(rules_, proc_fs_, pid, job_of);
    if (met.empty()) {
      return;
    }
    const std::string name = proc_fs_.other_network(pid);
    auto network = networks_.find(name);
    if (network == networks_.end()) {
      auto found = read_network(proc_fs_, pid, name.empty());
      if (!found) {
        add_problem(found.error().text());
        return;
      }
      network = networks_.emplace(name, std::move(*found)).first;
    }
    for (const uint64_t inode : proc_fs_.socket_inodes(pid)) {
      const auto reached = network->second.ports.find(inode);
      if (reached != network->second.ports.end()) {
        add_port(pid, name, met, reached->second);
      }
      const auto path = network->second.sockets.find(inode);
      if (path != network->second.sockets.end()) {
        add_socket(pid, inode, met, path->second);
      }
    }
  }

  ListeningProcesses finish() {
    for (const auto& [port, found] : ports_) {
      add_process(fmt::format("port {}", port.first), found, process_of(port.first, found),
                  fmt::format("http://{}:{}", bracketed(found.host), port.first));
    }
    for (const auto& [inode, found] : sockets_) {
      const auto pid = process_of_socket(found);
      if (!pid || !has_port(*pid, *found.rule)) {
        add_process(found.host, found, pid, fmt::format("unix:{}:", found.host));
      }
    }
    return std::move(result_);
  }

 private:
  void add_problem(const std::string& problem) {
    if (result_.problems.size() < kMaxListeningProblems) {
      result_.problems.push_back(problem);
    }
  }

  void add_port(uint32_t pid, const std::string& network, const std::vector<Rule>& met,
                const Reached& reached) {
    const uint16_t port = reached.socket.port;
    const auto rule =
        std::ranges::find_if(met, [&](const Rule& candidate) { return candidate.ports.contains(port); });
    if (rule == met.end()) {
      return;
    }
    Found& found = ports_[{port, network}];
    // One program may listen on 127.0.0.1 and on ::1: it is scraped once.
    if (is_preferred(reached.host, found.host)) {
      found.host = reached.host;
      found.rule = rule->rule;
    }
    if (found.pids.empty() || found.pids.back() != pid) {
      found.pids.push_back(pid);
    }
  }

  void add_socket(uint32_t pid, uint64_t inode, const std::vector<Rule>& met, const std::string& path) {
    const auto rule =
        std::ranges::find_if(met, [&](const Rule& candidate) { return candidate.has_socket(path); });
    if (rule == met.end()) {
      return;
    }
    Found& found = sockets_[inode];
    found.host = path;
    found.rule = rule->rule;
    if (found.pids.empty() || found.pids.back() != pid) {
      found.pids.push_back(pid);
    }
  }

  Result<uint32_t> common_process(const Found& found) const {
    if (const auto pid = ancestor_of_all(proc_fs_, found.pids)) {
      return *pid;
    }
    return fail(ErrorCode::kConflict, "{} processes listen there, including {} and {}", found.pids.size(),
                found.pids[0], found.pids[1]);
  }

  Result<uint32_t> process_of(uint16_t port, const Found& found) const {
    const auto pid = common_process(found);
    if (pid && found.host.empty()) {
      return with_hint(
          fail(ErrorCode::kDenied, "process {} is not reached from this network namespace", *pid),
          "let it listen on a Unix socket, or on an address of its namespace other than loopback");
    }
    const Status checked = pid ? check_listener(proc_fs_, *pid, found.host, port) : Status();
    return checked ? pid : propagate(checked);
  }

  Result<uint32_t> process_of_socket(const Found& found) const {
    const auto endpoint = config::parse_scrape_endpoint("unix:" + found.host);
    if (!endpoint || endpoint->socket_path != found.host) {
      return fail(ErrorCode::kUnsupported, "its path has blanks or other characters that no URL has");
    }
    return common_process(found);
  }

  // A program that listens on both is scraped once.
  bool has_port(uint32_t pid, const config::ListeningRule& rule) const {
    return std::ranges::any_of(result_.processes, [&](const ListeningProcess& process) {
      return process.pid == pid && process.paths == rule.paths && process.base_url.starts_with("http:");
    });
  }

  void add_process(const std::string& what, const Found& found, const Result<uint32_t>& pid,
                   const std::string& base_url) {
    if (!pid) {
      add_problem(
          fmt::format("{} of scrape.listening is not scraped: {}", printable(what), pid.error().text()));
      return;
    }
    result_.processes.push_back({*pid, proc_fs_.started_ns(*pid), base_url, found.rule->paths});
  }

  const std::vector<Rule> rules_;
  const identity::ProcFs& proc_fs_;
  std::map<std::string, ListeningNetwork> networks_;  // by ProcFs::other_network()
  FoundPorts ports_;
  std::map<uint64_t, Found> sockets_;  // by inode
  ListeningProcesses result_;
};

}  // namespace

ListeningProcesses find_listening_processes(const std::vector<config::ListeningRule>& rules,
                                            const identity::ProcFs& proc_fs,
                                            const std::function<std::string(uint32_t)>& job_of) {
  std::vector<uint32_t> pids = proc_fs.pids();
  std::ranges::sort(pids);
  Finder finder(rules, proc_fs);
  for (const uint32_t pid : pids) {
    finder.look_at(pid, job_of);
  }
  return finder.finish();
}

}  // namespace plimsoll::scrape
