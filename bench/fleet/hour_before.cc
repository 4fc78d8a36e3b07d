#include "bench/fleet/hour_before.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "bench/fleet/table_question.h"
#include "bench/store/clock.h"
#include "http/client.h"

namespace plimsoll::bench {
namespace {

constexpr uint32_t kMadeAtOnce = 5000;  // 250 MB
constexpr uint32_t kUploaders = 16;
constexpr double kCountedWithinS = 900;

Status upload_one(http::Client& client, const MadeProfile& profile) {
  while (true) {
    const auto answer = client.send("PUT", "/fleet/v1/profiles/" + profile.id, profile.encoded);
    if (!answer) {
      return propagate(answer);
    }
    if (answer->status != 429) {
      return answer->ok() ? Status() : std::unexpected(http::error_of(*answer, "uploading a profile"));
    }
    std::this_thread::sleep_for(std::chrono::seconds(std::max<int64_t>(1, http::retry_after_s(*answer))));
  }
}

// The profile at `place`, and each one that is a number of uploaders further on.
Status upload_share(const std::deque<MadeProfile>& profiles, size_t place, uint16_t port) {
  http::Client client({.base_url = fmt::format("127.0.0.1:{}", port)});
  for (; place < profiles.size(); place += kUploaders) {
    if (auto uploaded = upload_one(client, profiles[place]); !uploaded) {
      return uploaded;
    }
  }
  return {};
}

Status upload_all(const std::deque<MadeProfile>& profiles, const std::vector<uint16_t>& ports) {
  std::vector<Status> outcomes(kUploaders);
  {
    std::vector<std::jthread> threads;
    for (uint32_t i = 0; i < kUploaders; ++i) {
      threads.emplace_back([&profiles, &outcome = outcomes[i], i, port = ports[i % ports.size()]] {
        outcome = upload_share(profiles, i, port);
      });
    }
  }
  for (const Status& outcome : outcomes) {
    if (!outcome) {
      return outcome;
    }
  }
  return {};
}

Status wait_until_counted(uint32_t machines, const std::string& address) {
  const double deadline_s = now_s() + kCountedWithinS;
  while (true) {
    const auto table = ask_for_table(address, "top?by=job&margins=no");
    if (table && table->coverage.machines_drawn >= machines) {
      return {};
    }
    if (now_s() > deadline_s) {
      return table ? fail(ErrorCode::kUnavailable, "{} of {} profiles have rows after {} s",
                          table->coverage.machines_drawn, machines, kCountedWithinS)
                   : propagate(table);
    }
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

}  // namespace

Status fill_hour_before(uint32_t profiles, const FleetServers& servers, ProfileMaker& maker) {
  for (uint32_t first = 0; first < profiles; first += kMadeAtOnce) {
    const auto made = maker.make_many(std::min(kMadeAtOnce, profiles - first), first);
    if (auto uploaded = upload_all(made, servers.fleet_ports()); !uploaded) {
      return propagate(uploaded, "filling the hour before");
    }
  }
  return wait_until_counted(profiles, servers.questions_address());
}

}  // namespace plimsoll::bench
