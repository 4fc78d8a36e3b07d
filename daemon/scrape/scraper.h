// Fetches the profiles of one endpoint and makes raw profiles of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
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
  int cancel_fd = -1;  // readable: give up the request under way
};

// What an endpoint returned, not yet checked.
struct Fetched {
  wire::ClockPair started;
  wire::ClockPair ended;
  int64_t ended_since_boot_ns = 0;
  Result<Owner> owner;
  std::string content;
};

// One thread at a time. Borrows proc_fs and binaries.
class Scraper {
 public:
  Scraper(config::ScrapeEndpoint endpoint, const ScrapeLimits& limits, wire::Machine machine,
          const identity::ProcFs& proc_fs, identity::BinaryTable& binaries,
          std::shared_ptr<const identity::JobRules> rules = nullptr);
  Scraper(const Scraper&) = delete;
  Scraper& operator=(const Scraper&) = delete;
  ~Scraper() = default;

  // From now on nothing is asked of any other process that answers at the endpoint, and an address beyond loopback must be one of that
  // process's own network namespace.
  void require_owner(const Owner& owner);

  // From now on profiles are a draw's, whose window began at `began`: of a process that is young enough, counts are of all of it.
  void collect_for(const wire::Draw& draw, const wire::ClockPair& began) { drawn_ = Drawn{draw, began}; }

  // One request. Nothing where the application only tells what it has counted since its start, and this was the first
  // time to hear of it.
  //
  // `first_counts_whole`: the first time, what was counted since the start is taken as it is, as long as it may be;
  // otherwise only if the process or its counts are younger than `interval_ns`.
  Result<std::optional<wire::RawProfile>> scrape(int64_t interval_ns, bool first_counts_whole = false);

  // The two halves of scrape(): waiting for the application, which touches nothing that scrapers share, and the work on what it
  // returned, which one scraper of a BinaryTable may do at a time.
  Result<Fetched> fetch();
  Result<std::optional<wire::RawProfile>> make_profile(const Fetched& fetched, int64_t interval_ns,
                                                       bool first_counts_whole = false);

  // One request that no profile is made of, to another path of the process that require_owner() names; that process has answered.
  Result<http::Response> ask(std::string_view method, std::string_view path_and_query);

  const config::ScrapeEndpoint& endpoint() const { return endpoint_; }

 private:
  http::ClientOptions client_options();
  // Opens a connection, and checks whose the other end is.
  Result<UniqueFd> connect_to_socket();
  Result<UniqueFd> connect_to_network(uint32_t pid) const;
  Result<Owner> find_owner() const;
  Result<std::string> get();
  // The endpoint, as profiles name it. In another root folder the same path may be another program's socket.
  std::string series() const;
  Status fill(const formats::ApplicationProfile& application, const Result<Owner>& owner,
              wire::RawProfile& profile);

  const config::ScrapeEndpoint endpoint_;
  const ScrapeLimits limits_;
  std::optional<Owner> required_owner_;
  const wire::Machine machine_;
  const identity::ProcFs& proc_fs_;
  identity::BinaryTable& binaries_;
  identity::WorkloadNamer namer_;
  // The process that listens at the other end of the newest connection to a Unix socket; 0: unknown.
  uint32_t peer_ = 0;
  http::Client client_;

  struct Drawn {
    wire::Draw draw;
    wire::ClockPair began;
  };
  // Of a profile whose scrape ended then.
  wire::ClockPair window_start(const formats::ApplicationProfile& application, const Fetched& fetched) const;

  std::optional<Drawn> drawn_;
  SinceLast since_last_;
  std::optional<Owner> last_owner_;  // known, but perhaps not at the scrape before
  std::optional<wire::ClockPair> last_scrape_;
};

}  // namespace plimsoll::scrape
