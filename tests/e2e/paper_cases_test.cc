// The three cases of CloudDiag's paper (Mi et al., TPDS 2013) in a shop that runs (tests/workloads/traced_shop.cc): three services call each other
// over HTTP and send their spans to a server, which is asked what stands out once the load has changed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/time.h"
#include "http/client.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/program.h"
#include "tests/eventually.h"

namespace plimsoll::testing {
namespace {

using Json = nlohmann::json;

// Of front, of its call of session, of session and what it reads, of front's call of catalog, of catalog.
constexpr int kSpansOfRequest = 6;
constexpr int kUsualRequests = 240;

struct ShopPlan {
  int catalogs = 1;
  int catalog_threads = 48;
  int random_ms = 0;
};

struct Culprit {
  std::string service;
  std::string method;
  std::string replica;
  std::string kind;
};

class PaperCases : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.becomes_ready()) << server_.process().err(); }

  void start_shop(const ShopPlan& plan) {
    std::string catalogs;
    for (int i = 0; i < plan.catalogs; ++i) {
      const std::string address = start_service({"catalog", "--instance", fmt::format("catalog-{}", i),
                                                 "--threads", std::to_string(plan.catalog_threads)});
      catalogs += (catalogs.empty() ? "" : ",") + address;
    }
    const std::string session =
        start_service({"session", "--instance", "session-0", "--random-ms", std::to_string(plan.random_ms)});
    front_ = start_service({"front", "--instance", "front-0", "--session", session, "--catalog", catalogs});
  }

  // So many clients at once, each of which sends its next request when it has an answer to the one before.
  void load(int clients, int requests_of_each, const std::function<int(int)>& item_of) {
    std::atomic<int> answers = 0;
    {
      std::vector<std::jthread> threads;
      for (int started = 0; started < clients; ++started) {
        threads.emplace_back([&] {
          http::Client client({.base_url = front_});
          for (int i = 0; i < requests_of_each; ++i) {
            const auto answer = client.send("GET", fmt::format("/item?id={}", item_of(i)));
            answers += answer && answer->ok() ? 1 : 0;
          }
        });
      }
    }
    EXPECT_EQ(answers.load(), clients * requests_of_each);
    requests_ += clients * requests_of_each;
  }

  // What the requests from now on are compared with what came before.
  void begin_window() { since_ = format_time(wall_now_ns()); }

  // What stands out between two times among the requests of a longer time, once all spans are in the store.
  Json claimed_between(const std::string& since, const std::string& until, const std::string& reference_since,
                       const std::string& reference_until) const {
    const Finished found =
        run({"plimsoll", "diagnose", "--server", server_.address(), "--since", since, "--until", until,
             "--reference-since", reference_since, "--reference-until", reference_until, "--json"});
    EXPECT_EQ(found.status, 0) << found.err;
    Json claimed = Json::array();
    if (found.status == 0) {
      const Json answer = Json::parse(found.out);
      for (const Json& row : answer["rows"]) {
        if (row["confidence"] >= 0.5) {
          claimed.push_back(row);
        }
      }
    }
    return claimed;
  }

  // Once all spans are in the store.
  void expect_first(const Culprit& expected) {
    end_shop();
    const Finished checked = run({"plimsoll", "store", "check", "--data", data_dir_});
    EXPECT_EQ(checked.status, 0) << checked.err;
    EXPECT_THAT(checked.out,
                ::testing::ContainsRegex(fmt::format("(^|[^0-9]){} spans", requests_ * kSpansOfRequest)));
    const Finished found =
        run({"plimsoll", "diagnose", "--server", server_.address(), "--since", since_, "--json"});
    ASSERT_EQ(found.status, 0) << found.err;
    const Json rows = Json::parse(found.out)["rows"];
    ASSERT_FALSE(rows.empty()) << found.out;
    EXPECT_EQ(rows[0]["service"], expected.service) << rows;
    EXPECT_EQ(rows[0]["method"], expected.method) << rows;
    EXPECT_EQ(rows[0]["replica"], expected.replica) << rows;
    EXPECT_EQ(rows[0]["kind"], expected.kind) << rows;
    EXPECT_GE(rows[0]["confidence"], 0.5) << rows;
  }

  // All their spans are sent.
  void end_shop() {
    for (const auto& service : services_) {
      service->kill(SIGTERM);
    }
    for (const auto& service : services_) {
      const Finished ended = service->wait();
      EXPECT_EQ(ended.status, 0) << ended.err;
    }
    services_.clear();
  }

 private:
  // Its address.
  std::string start_service(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "traced_shop");
    arguments.insert(arguments.end(), {"--traces", server_.fleet_address()});
    services_.push_back(std::make_unique<Background>(arguments));
    const Background& service = *services_.back();
    const std::string before = "address ";
    std::string said;
    EXPECT_TRUE(eventually([&] {
      said = service.err();
      return said.starts_with(before) && said.find('\n') != std::string::npos;
    })) << arguments[1]
        << said;
    return said.starts_with(before) ? said.substr(before.size(), said.find('\n') - before.size()) : "";
  }

  TemporaryFolder folder_;
  const std::string data_dir_ = folder_ / "data";
  TestServer server_{data_dir_};
  std::vector<std::unique_ptr<Background>> services_;
  std::string front_;
  std::string since_;
  int requests_ = 0;
};

// One replica each: the same item every time.
int any_item(int /*request*/) {
  return 0;
}

// Enough for one request at a time, so that under load they wait for it in line, before their span begins.
TEST_F(PaperCases, AThreadPoolThatIsTooSmall) {
  start_shop({.catalog_threads = 1});
  load(1, kUsualRequests, any_item);
  begin_window();
  load(32, 8, any_item);
  expect_first({"catalog", "GET /stock", "catalog-0", "slow network to it"});
}

// What comes in within 8 ms is enough for one request at a time, which takes longer than that.
TEST_F(PaperCases, ARandomSourceThatBlocksUnderLoad) {
  start_shop({.random_ms = 8});
  load(1, kUsualRequests, any_item);
  begin_window();
  load(32, 8, any_item);
  expect_first({"session", "read random", "session-0", "slow itself"});
}

// In turn, so that all replicas have as much to do.
int every_item(int request) {
  return request % 3;
}

// Of three replicas, one of which has an item that many want at once.
TEST_F(PaperCases, BurstsOfRequestsToOneReplica) {
  const auto wanted_item = [](int /*request*/) { return 1; };
  start_shop({.catalogs = 3, .catalog_threads = 2});
  load(1, kUsualRequests, every_item);
  begin_window();
  for (int burst = 0; burst < 8; ++burst) {
    load(1, 48, every_item);
    load(24, 1, wanted_item);
  }
  expect_first({"catalog", "GET /stock", "catalog-1", "slow network to it"});
}

// Each part of a steady load against all others. What else runs on the machine may slow some parts down for a while, and is no fault of the
// shop: up to a quarter of them.
TEST_F(PaperCases, NothingStandsOutWithoutAFault) {
  constexpr size_t kWindows = 12;
  constexpr size_t kMaxClaimed = 3;
  start_shop({.catalogs = 3, .catalog_threads = 2});
  // Connections are made, in no window.
  load(1, 60, every_item);
  std::vector<std::string> ends{format_time(wall_now_ns())};
  while (ends.size() <= kWindows) {
    load(1, 60, every_item);
    ends.push_back(format_time(wall_now_ns()));
  }
  end_shop();
  Json claimed = Json::array();
  for (size_t window = 0; window < kWindows; ++window) {
    const Json rows = claimed_between(ends[window], ends[window + 1], ends.front(), ends.back());
    if (!rows.empty()) {
      claimed.push_back(rows);
    }
  }
  RecordProperty("claimed", static_cast<int>(claimed.size()));
  EXPECT_LE(claimed.size(), kMaxClaimed) << claimed;
}

}  // namespace
}  // namespace plimsoll::testing
