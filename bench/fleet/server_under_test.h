// `plimsoll server` as a process of its own, so that its time and memory can be told from the benchmark's.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "bench/harness/child.h"
#include "bench/harness/scratch_folder.h"

namespace plimsoll::bench {

class ServerUnderTest {
 public:
  // `settings` is the text of its configuration, without addresses and data directory. Returns once it listens.
  static Result<ServerUnderTest> start(const std::string& settings);

  uint16_t fleet_port() const { return fleet_port_; }
  std::string data_dir() const { return folder_ / "data"; }
  std::string log() const;

  // Of all threads since the start.
  Result<double> cpu_s() const;
  Result<uint64_t> peak_rss_bytes() const;

 private:
  ServerUnderTest(ScratchFolder folder, Child child) : folder_(std::move(folder)), child_(std::move(child)) {}

  ScratchFolder folder_;
  Child child_;
  uint16_t fleet_port_ = 0;
};

}  // namespace plimsoll::bench
