// Sends requests on to the primary server: what a query server cannot answer itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "http/message.h"
#include "http/routes.h"

namespace plimsoll::server {

struct ForwarderSettings {
  std::string server;                      // address of the primary server's API
  std::string ca = {};                     // PEM file; empty: as this machine has it
  std::string folder = {};                 // for long answers, which have no names there
  std::chrono::milliseconds max_time{0};   // of a question; 0: there is none
  uint64_t max_bytes = uint64_t{4} << 30;  // of an answer
  std::function<void()> ordered = {};      // called when the primary server has done what it was ordered
  // Whether this server is to end: orders that wait for their answer are given up then. Questions end with their client or their listener.
  std::function<bool()> is_stopping = {};
};

// Any thread.
class Forwarder {
 public:
  explicit Forwarder(ForwarderSettings settings) : settings_(std::move(settings)) {}

  // The primary server's answer to this request, with the caller's own credentials and no others. An answer is on the disk while it is sent, but
  // for short ones. A request that was sent on already is refused: the servers would send it to each other without end.
  http::Response forward(const http::Request& request) const;

 private:
  // Whether an order may wait on.
  Status check_order() const;

  const ForwarderSettings settings_;
};

// Routes of what is sent on: views of what is in the data directory of the primary server alone (View::reads_directory), orders, annotated
// code, compiler profiles, recordings of bursts, functions of builds. The caller needs the same right here as there.
std::vector<http::Route> forward_routes(ForwarderSettings settings);

}  // namespace plimsoll::server
