#include "tests/traces/versioned_disks.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <random>
#include <string_view>
#include <vector>

namespace plimsoll::diagnosis {
namespace {

constexpr int64_t kDisksStartNs = 1'795'244'400'000'000'000;  // 2026-11-21T07:00:00Z
constexpr int64_t kNsPerRequest = 2'000'000'000;
constexpr int64_t kNsOfUs = 1000;
constexpr int kDisks = 3;
constexpr std::string_view kFrontEnd = "api-host";

}  // namespace

std::string versioned_disks_table(const VersionedDisksOptions& options) {
  std::mt19937_64 random(options.seed);
  const auto uniform = [&random] { return static_cast<double>(random() >> 11U) * 0x1p-53; };
  // Sums of uniform numbers are equal on every machine.
  const auto noise = [&] { return uniform() + uniform() + uniform() - 1.5; };
  std::vector<double> host_factor;
  for (int host = 0; host < options.hosts; ++host) {
    host_factor.push_back(std::exp(0.1 * noise()));
  }
  std::string table =
      "trace_id,span_id,parent_id,service,method,machine,version,start_ns,end_ns,hw,size,zone\n";
  for (int request = 0; request < options.requests; ++request) {
    // Before 2.1 is rolled out its hosts get no requests: a neighbour does, which is of 2.0 on either side.
    int host = static_cast<int>(uniform() * options.hosts);
    if (request < options.requests / 20 && host % 3 == 0) {
      host += host + 1 < options.hosts ? 1 : -1;
    }
    const bool is_new = host % 3 == 0;
    const bool is_c7 = host % 2 == 0;
    const bool is_large = uniform() < 0.4;
    const char zone = static_cast<char>('a' + host % 7 % 3);
    const int64_t start_ns = kDisksStartNs + request * kNsPerRequest;
    const auto row = [&](int id, int parent, const char* service, const char* method,
                         const std::string& machine, const char* version, double from_ms, double to_ms) {
      fmt::format_to(std::back_inserter(table), "{:032x},{:x},{},{},{},{},{},{},{},{},{},{}\n", request + 1,
                     id, parent == 0 ? "" : fmt::format("{:x}", parent), service, method, machine, version,
                     start_ns + static_cast<int64_t>(1000 * from_ms) * kNsOfUs,
                     start_ns + static_cast<int64_t>(1000 * to_ms) * kNsOfUs,
                     machine != kFrontEnd && is_c7 ? "c7" : "c6", is_large ? "large" : "small", zone);
    };
    const std::string machine = fmt::format("disk-host-{}", host);
    const char* const version = is_new ? "2.1" : "2.0";
    const bool is_one_by_one = options.is_sequential && is_new && is_c7;
    const double before_ms = 3 + noise();
    double end_ms = before_ms + 2;
    double next_ms = before_ms + 1;
    std::vector<std::pair<double, double>> disks;
    for (int disk = 0; disk < kDisks; ++disk) {
      const double ms =
          (is_large ? 30 : 20) * host_factor[static_cast<size_t>(host)] * std::exp(0.25 * noise());
      disks.emplace_back(next_ms, next_ms + ms);
      next_ms += is_one_by_one ? ms + 0.1 : 0.2;
      end_ms = std::max(end_ms, disks.back().second + 0.5);
    }
    row(1, 0, "api", "create_vm", std::string(kFrontEnd), "1.0", 0, end_ms + 2 + noise());
    row(2, 1, "disk", "create_all", machine, version, before_ms, end_ms);
    for (int disk = 0; disk < kDisks; ++disk) {
      const auto& [from_ms, to_ms] = disks[static_cast<size_t>(disk)];
      row(3 + disk, 2, "disk", "create", machine, version, from_ms, to_ms);
    }
  }
  return table;
}

}  // namespace plimsoll::diagnosis
