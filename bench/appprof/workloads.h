// What is profiled: a program that only allocates, two that only lock, one whose threads wait for work, sqlite3, and redis-server.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bench/appprof/variants.h"
#include "bench/harness/scratch_folder.h"

namespace plimsoll::bench {

class Workload {
 public:
  struct Found {
    std::vector<Workload> workloads;
    std::vector<std::string> skipped;  // "redis: redis-server is not installed"
  };
  static Found all(const ScratchFolder& folder);
  // A program that does nothing but start and end.
  static Workload nothing() { return {"nothing", {"/bin/true"}}; }

  const std::string& name() const { return name_; }

  // Sets the amount of work so that it takes about `wall_s` in this variant.
  Status calibrate(double wall_s, const Variant& variant);

  // Seconds of wall time, of one `part`th of the work. Of a server, what its client takes: not its start.
  Result<double> run(const Variant& variant, uint64_t part = 1) const;

 private:
  Workload(std::string name, std::vector<std::string> command, std::string socket = {})
      : name_(std::move(name)), command_(std::move(command)), socket_(std::move(socket)) {}
  Result<double> run_server(const Variant& variant, uint64_t units) const;

  std::string name_;
  // Every UNITS in it becomes the amount. Of redis the server's, which has a client of its own.
  std::vector<std::string> command_;
  std::string socket_;  // of a server
  uint64_t units_ = 1;
};

}  // namespace plimsoll::bench
