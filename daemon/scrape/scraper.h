// Fetches the profiles of one endpoint and makes raw profiles of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "capture/identity/binaries.h"
#include "capture/identity/proc_fs.h"
#include "capture/identity/workload_namer.h"
#include "config/scrape_endpoint.h"
#include "daemon/scrape/since_last.h"
#include "daemon/scrape/start_of_counts.h"
#include "http/client.h"
#include "proto/profile.pb.h"

namespace plimsoll::scrape {

struct ScrapeLimits {
  int64_t timeout_ns = 10'000'000'000;  // of a whole request
  uint64_t max_bytes = uint64_t{64} << 20;
};

// One thread. Borrows proc_fs and binaries.
class Scraper {
 public:
  Scraper(config::ScrapeEndpoint endpoint, const ScrapeLimits& limits, wire::Machine machine,
          const identity::ProcFs& proc_fs, identity::BinaryTable& binaries,
          std::shared_ptr<const identity::JobRules> rules = nullptr);

  // From now on nothing is asked of any other process that answers at the endpoint.
  void require_owner(const Owner& owner) { required_owner_ = owner; }

  // One request. Nothing where the application only tells what it has counted since its start, and this was the first
  // time to hear of it.
  //
  // `first_counts_whole`: the first time, what was counted since the start is taken as it is, as long as it may be;
  // otherwise only if the process or its counts are younger than `interval_ns`.
  Result<std::optional<wire::RawProfile>> scrape(int64_t interval_ns, bool first_counts_whole = false);

  const config::ScrapeEndpoint& endpoint() const { return endpoint_; }

 private:
  Result<Owner> find_owner() const;
  Result<std::string> fetch();
  Status fill(const formats::ApplicationProfile& application, const Result<Owner>& owner,
              wire::RawProfile& profile);

  const config::ScrapeEndpoint endpoint_;
  const wire::Machine machine_;
  const identity::ProcFs& proc_fs_;
  identity::BinaryTable& binaries_;
  identity::WorkloadNamer namer_;
  http::Client client_;
  const uint64_t max_bytes_;

  std::optional<Owner> required_owner_;
  SinceLast since_last_;
  std::optional<Owner> last_owner_;  // known, but perhaps not at the scrape before
  std::optional<wire::ClockPair> last_scrape_;
};

}  // namespace plimsoll::scrape
