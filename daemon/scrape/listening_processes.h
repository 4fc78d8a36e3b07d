// Endpoints of processes that announce none: their listening sockets, by rules of the configuration.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "capture/identity/proc_fs.h"
#include "config/listening_rule.h"

namespace plimsoll::scrape {

struct ListeningProcess {
  uint32_t pid = 0;
  int64_t started_ns = 0;
  std::string base_url;            // "http://127.0.0.1:6060", "unix:/run/job.sock:"
  std::vector<std::string> paths;  // of the first rule that it meets
};

struct ListeningProcesses {
  std::vector<ListeningProcess> processes;  // by port, then those of Unix sockets
  std::vector<std::string> problems;        // ten at most
};

// Sockets that answer on loopback in this network namespace, or at an address of the process's own (network.h), and of one process alone: of
// workers that share the socket of the process that forked them it is that one; several processes with sockets of their own on one port
// of a namespace are a problem, since it is chance which of them answers. `job_of` is called for processes that meet a rule in all but the job.
ListeningProcesses find_listening_processes(const std::vector<config::ListeningRule>& rules,
                                            const identity::ProcFs& proc_fs,
                                            const std::function<std::string(uint32_t)>& job_of);

}  // namespace plimsoll::scrape
