// burst_shop, running: its services in a network namespace each, and what its programs know of themselves at
// their end.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/e2e/program.h"
#include "tests/e2e/test_network.h"
#include "tests/workloads/burst_truth.h"

namespace plimsoll::testing {

struct KnownSegment {
  std::string thread;
  TruthSegment segment;
};

struct ShopTruth {
  std::set<std::string> threads;  // names of all, also of those that load it
  std::vector<KnownSegment> segments;
  std::string spans;  // a table, with a line of names
};

struct ShopSettings {
  uint64_t config_bits = 0;  // of marks; 0: always
  std::string story = {};    // empty: the healthy program
  unsigned clients = 6;
  int64_t back_end_shift_ms = 0;  // by which the wall clocks of both back ends are ahead
};

class RunningShop {
 public:
  // The spans' machines.
  static constexpr const char* kFrontMachine = "front-host";
  static constexpr const char* kBackMachine = "back-host";

  // Where this user cannot make namespaces, on the loopback device; prints that.
  explicit RunningShop(const ShopSettings& settings);

  bool is_serving() const { return load_.has_value(); }
  // Ends the load, then the services. Once.
  ShopTruth end();

 private:
  Background start(int machine, const std::vector<std::string>& arguments, const char* name) const;
  // Where a service listens; empty: it has ended.
  std::string address_of(int machine, const Background& service) const;
  std::string ip_of(int machine) const;

  ShopSettings settings_;
  TestNetwork network_;
  std::optional<Background> store_;
  std::optional<Background> properties_;
  std::optional<Background> front_;
  std::optional<Background> load_;
};

// The command line of a program whose wall clock is so far ahead.
std::vector<std::string> with_shifted_clock(int64_t shift_ms, std::vector<std::string> argv);

}  // namespace plimsoll::testing
