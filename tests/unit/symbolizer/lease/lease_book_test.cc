// Which worker gets which build, until when, and what becomes of late, wrong and missing answers.
#include "symbolizer/lease/lease_book.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll::symbolizer::lease_book_test {
namespace {

constexpr LeaseLimits kSmall{.lease_ns = 30,
                             .max_lent_ns = 200,
                             .offer_ttl_ns = 1000,
                             .worker_ttl_ns = 500,
                             .grace_ns = 0,
                             .max_offers = 50,
                             .max_leases = 8,
                             .max_leases_of_worker = 3,
                             .max_workers = 4,
                             .max_leases_of_build = 5,
                             .max_failures_of_build = 2};

class LeaseBookTest : public ::testing::Test {
 protected:
  void offer(std::initializer_list<const char*> builds, int64_t now_ns = 0) {
    for (const char* build : builds) {
      EXPECT_TRUE(book_.offer(build, {{.size_bytes = 7}}, now_ns));
    }
  }

  Lease lease_one(std::string_view worker, int64_t now_ns = 0) {
    const auto leases = book_.lease(worker, 1, now_ns);
    EXPECT_TRUE(leases);
    return leases && !leases->empty() ? leases->front() : Lease();
  }

  static LeaseClaim claim(std::string_view worker, const Lease& lease) {
    return {.worker = worker, .id = lease.id, .build_id = lease.build_id};
  }

  LeaseBook book_{kSmall, "test"};
};

TEST_F(LeaseBookTest, LendsInTheOrderOfOffersEachBuildOnce) {
  offer({"c", "a", "b"});
  const auto first = book_.lease("w1", 2, 0);
  ASSERT_TRUE(first);
  ASSERT_EQ(first->size(), 2);
  EXPECT_EQ(first->at(0).build_id, "c");
  EXPECT_EQ(first->at(0).files.at(0).size_bytes, 7);
  EXPECT_EQ(first->at(1).build_id, "a");
  EXPECT_EQ(lease_one("w2").build_id, "b");
  EXPECT_EQ(lease_one("w2").build_id, "") << "nothing is left";
}

TEST_F(LeaseBookTest, AWorkerThatDiesLosesNothing) {
  offer({"a"});
  const Lease dead = lease_one("w1", 0);
  EXPECT_EQ(lease_one("w2", 29).build_id, "");
  EXPECT_FALSE(book_.begin_here("a", 29)) << "the server leaves it alone";
  const Lease next = lease_one("w2", 30);
  EXPECT_EQ(next.build_id, "a");
  EXPECT_NE(next.id, dead.id);
  EXPECT_EQ(book_.workers(30).at(0).expired, 1);
}

TEST_F(LeaseBookTest, AnExpiredLeaseGoesToTheServerAsWell) {
  offer({"a"});
  std::ignore = lease_one("w1", 0);
  EXPECT_TRUE(book_.begin_here("a", 30));
  EXPECT_EQ(lease_one("w2", 30).build_id, "") << "not both";
  book_.end_here("a");
  EXPECT_FALSE(book_.repeat_offer("a", 30));
}

TEST(LeaseBookGrace, WorkersThatAskGoBeforeTheServer) {
  LeaseLimits limits = kSmall;
  limits.grace_ns = 10;
  LeaseBook book(limits, "grace");
  ASSERT_TRUE(book.offer("a", {}, 0));
  EXPECT_TRUE(book.begin_here("a", 0)) << "no worker asks";
  book.end_here("a");
  ASSERT_TRUE(book.lease("w1", 1, 0));
  ASSERT_TRUE(book.offer("a", {}, 1));
  ASSERT_TRUE(book.offer("b", {}, 1));
  EXPECT_FALSE(book.begin_here("a", 9));
  EXPECT_TRUE(book.begin_here("a", 10)) << "the worker has not asked again";
  ASSERT_TRUE(book.lease("w1", 0, 10));
  EXPECT_TRUE(book.begin_here("b", 11)) << "the worker does not get to it";
}

TEST_F(LeaseBookTest, ALateAnswerCountsWhereItIsStillWanted) {
  offer({"a", "b"});
  const Lease slow = lease_one("w1", 0);
  EXPECT_EQ(book_.deliver(claim("w1", slow), 100), LeaseAnswer::kWanted);
  const Lease stolen = lease_one("w1", 100);
  const Lease other = lease_one("w2", 140);
  ASSERT_EQ(other.build_id, stolen.build_id);
  EXPECT_EQ(book_.deliver(claim("w1", stolen), 141), LeaseAnswer::kWanted) << "while another has it";
  EXPECT_EQ(book_.deliver(claim("w2", other), 142), LeaseAnswer::kNotNeeded);
  EXPECT_FALSE(book_.renew(claim("w2", other), 142));
}

TEST_F(LeaseBookTest, OnlyTheWorkerThatHadALeaseMaySpeakOfIt) {
  offer({"a"});
  const Lease lease = lease_one("w1");
  EXPECT_EQ(book_.deliver(claim("w2", lease), 1), LeaseAnswer::kNotLeased);
  EXPECT_EQ(book_.fail_lease({.worker = "w1", .id = "guessed", .build_id = "a"}, "x", true, 1),
            LeaseAnswer::kNotLeased);
  EXPECT_FALSE(book_.renew(claim("w2", lease), 1));
  EXPECT_EQ(book_.check({.worker = "w1", .id = lease.id, .build_id = "b"}, 1), LeaseAnswer::kNotNeeded);
  EXPECT_EQ(book_.check(claim("w1", lease), 1), LeaseAnswer::kWanted);
}

TEST_F(LeaseBookTest, WhatFailsAgainAndAgainIsLeftToTheServer) {
  offer({"a", "b"});
  Lease lease = lease_one("w1");
  EXPECT_EQ(book_.fail_lease(claim("w1", lease), "crashed", false, 1), LeaseAnswer::kWanted);
  lease = lease_one("w1", 1);
  EXPECT_EQ(lease.build_id, "a");
  EXPECT_EQ(book_.refuse_table(claim("w1", lease), "damaged", 2), LeaseAnswer::kWanted);
  lease = lease_one("w1", 2);
  EXPECT_EQ(lease.build_id, "b");
  EXPECT_EQ(book_.fail_lease(claim("w1", lease), "needs other files", true, 3), LeaseAnswer::kWanted);
  EXPECT_EQ(lease_one("w1", 3).build_id, "");
  EXPECT_TRUE(book_.begin_here("a", 3));
  EXPECT_TRUE(book_.begin_here("b", 3));
  const WorkerAccount account = book_.workers(3).at(0);
  EXPECT_EQ(account.failures, 2);
  EXPECT_EQ(account.refused, 1);
  EXPECT_EQ(account.newest_failure, "needs other files");
}

TEST_F(LeaseBookTest, AWorkerThatOnlyRenewsKeepsABuildForALimitedTime) {
  offer({"a"});
  const Lease lease = lease_one("w1", 0);
  int64_t now_ns = 0;
  while (book_.renew(claim("w1", lease), now_ns)) {
    now_ns += 20;
    ASSERT_LT(now_ns, 1000);
  }
  EXPECT_EQ(now_ns, 200);
  EXPECT_EQ(lease_one("w2", 230).build_id, "");
  EXPECT_TRUE(book_.begin_here("a", 230));
}

TEST_F(LeaseBookTest, WhatIsGivenBackIsLentAtOnce) {
  offer({"a"});
  const Lease lease = lease_one("w1");
  EXPECT_EQ(book_.give_back(claim("w1", lease), 1), LeaseAnswer::kWanted);
  EXPECT_EQ(lease_one("w2", 1).build_id, "a");
  EXPECT_EQ(book_.give_back(claim("w1", lease), 2), LeaseAnswer::kWanted);
  EXPECT_EQ(lease_one("w3", 2).build_id, "") << "of another's lease it changes nothing";
}

TEST_F(LeaseBookTest, LeasesWorkersAndOffersAreBounded) {
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(book_.offer("build " + std::to_string(i), {}, 0), i < 50);
  }
  EXPECT_EQ(book_.lease("w1", 100, 0)->size(), 3);
  EXPECT_EQ(book_.lease("w2", 100, 0)->size(), 3);
  EXPECT_EQ(book_.lease("w3", 100, 0)->size(), 2) << "8 in all";
  EXPECT_TRUE(book_.lease("w4", 1, 0));
  EXPECT_EQ(book_.lease("w5", 1, 0).error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(book_.has_workers(499));
  EXPECT_FALSE(book_.has_workers(500));
  EXPECT_TRUE(book_.lease("w5", 1, 500)) << "the others have not come back";
  EXPECT_EQ(book_.workers(500).size(), 1);
}

TEST_F(LeaseBookTest, OffersAreForgottenUnlessTheyAreRepeated) {
  offer({"a", "b"});
  EXPECT_TRUE(book_.repeat_offer("b", 900));
  const Lease lease = lease_one("w1", 1000);
  EXPECT_EQ(lease.build_id, "b");
  EXPECT_EQ(lease_one("w1", 1000).build_id, "");
}

// The book against a model that has no order and no limits: per build, who may have it.
class Model {
 public:
  struct Build {
    std::optional<std::pair<std::string, std::string>> lease;  // worker and ID
    int64_t ends_ns = 0;
    bool is_done = false;
  };

  explicit Model(int builds) {
    for (int i = 0; i < builds; ++i) {
      builds_["build " + std::to_string(i)] = {};
    }
  }
  bool is_lent(const std::string& build, int64_t now_ns) const {
    const Build& known = builds_.at(build);
    return known.lease && known.ends_ns > now_ns && !known.is_done;
  }
  std::map<std::string, Build> builds_;
};

struct Held {
  std::string worker;
  Lease lease;
};

// One step of a random worker; returns whether the model agrees.
void step(LeaseBook& book, Model& model, std::vector<Held>& held, std::mt19937_64& random, int64_t now_ns) {
  const std::string worker = "w" + std::to_string(random() % 3);
  const auto leases = book.lease(worker, random() % 3, now_ns);
  ASSERT_TRUE(leases);
  for (const Lease& lease : *leases) {
    Model::Build& build = model.builds_.at(lease.build_id);
    EXPECT_FALSE(build.is_done) << lease.build_id;
    EXPECT_FALSE(model.is_lent(lease.build_id, now_ns)) << "two workers at once";
    build.lease = {worker, lease.id};
    build.ends_ns = now_ns + kSmall.lease_ns;
    held.push_back({worker, lease});
  }
  if (held.empty()) {
    return;
  }
  const Held& chosen = held[random() % held.size()];
  Model::Build& build = model.builds_.at(chosen.lease.build_id);
  const LeaseClaim claim{.worker = chosen.worker, .id = chosen.lease.id, .build_id = chosen.lease.build_id};
  const bool has_it = model.is_lent(chosen.lease.build_id, now_ns) && build.lease->second == chosen.lease.id;
  switch (random() % 3) {
    case 0:
      if (book.renew(claim, now_ns)) {
        EXPECT_TRUE(has_it);
        build.ends_ns = now_ns + kSmall.lease_ns;
      }
      break;
    case 1:
      EXPECT_EQ(book.deliver(claim, now_ns) == LeaseAnswer::kWanted, !build.is_done);
      build.is_done = true;
      break;
    default:
      EXPECT_EQ(book.give_back(claim, now_ns) == LeaseAnswer::kWanted, !build.is_done);
      build.lease = has_it ? std::nullopt : build.lease;
  }
}

TEST(LeaseBookModel, RandomWorkersNeverHaveOneBuildTwiceAndNoBuildIsLost) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    LeaseBook book(kSmall, "model");
    Model model(12);
    std::vector<Held> held;
    int64_t now_ns = 0;
    for (int i = 0; i < 120; ++i) {
      now_ns += static_cast<int64_t>(random() % 8);
      for (const auto& [build, known] : model.builds_) {
        if (!known.is_done) {
          EXPECT_TRUE(book.offer(build, {}, now_ns));
        }
      }
      step(book, model, held, random, now_ns);
    }
    // Whatever the workers did, the server can finish: once leases are over nothing keeps it from a build.
    now_ns += kSmall.lease_ns;
    for (const auto& [build, known] : model.builds_) {
      EXPECT_TRUE(book.begin_here(build, now_ns)) << build << ", seed " << seed;
      EXPECT_EQ(book.deliver({.worker = "w0", .id = "model-0", .build_id = build}, now_ns),
                LeaseAnswer::kNotNeeded);
      book.end_here(build);
    }
    EXPECT_EQ(book.offers(), 0);
  }
}

}  // namespace
}  // namespace plimsoll::symbolizer::lease_book_test
