// `plimsoll server` as a process of its own, so that its time and memory can be told from the benchmark's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bench/harness/child.h"
#include "bench/harness/scratch_folder.h"

namespace plimsoll::bench {

enum class ServerRole {
  kServer,  // has a data directory
  kIngest,  // `--role ingest`: its settings name the server that it forwards to
};

class ServerUnderTest {
 public:
  // `settings` is the text of its configuration, without addresses and data directory; its first lines may be keys of [server]. Returns
  // once it listens.
  static Result<ServerUnderTest> start(const std::string& settings, ServerRole role = ServerRole::kServer);

  // Killed, as by a crash, and started again with the same data; returns once it listens.
  Status kill_and_restart();

  uint16_t fleet_port() const { return fleet_port_; }
  // Of the API, or, of an ingest server, for health.
  uint16_t people_port() const { return people_port_; }
  std::string data_dir() const { return folder_ / "data"; }
  // Since the last restart.
  std::string log() const;
  // Its last 2,000 bytes.
  std::string log_end() const;

  // Of all threads since the start, or since the last restart; the same holds for the memory.
  Result<double> cpu_s() const;
  Result<uint64_t> peak_rss_bytes() const;

 private:
  ServerUnderTest(ScratchFolder folder, ServerRole role) : folder_(std::move(folder)), role_(role) {}
  std::vector<std::string> command() const;
  Status start_child();
  bool has_read_ports();
  std::string log_file() const;

  ScratchFolder folder_;
  ServerRole role_;
  std::unique_ptr<Child> child_;  // present once started
  uint32_t starts_ = 0;
  uint16_t fleet_port_ = 0;
  uint16_t people_port_ = 0;
};

}  // namespace plimsoll::bench
