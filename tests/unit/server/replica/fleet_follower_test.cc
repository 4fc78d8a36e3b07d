// What a query server has of its primary server, whatever becomes of that.
#include "server/replica/fleet_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <random>

#include "base/stop_scope.h"
#include "store/replica/copied_fleet.h"
#include "tests/unit/server/replica/primary_fixture.h"

namespace plimsoll::server::replica_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class FleetFollowerTest : public PrimaryTest {
 protected:
  std::unique_ptr<FleetFollower> follow() {
    FollowerSettings settings;
    settings.fetcher.client.base_url = address_;
    settings.fetcher.folder = folder_ / "fleet";
    settings.settle = [this](const store::CopiedDirectory&) { return settles_; };
    settings.wall_ns = [this] { return wall_ns_; };
    settings.monotonic_ns = [this] { return monotonic_ns_; };
    auto follower = FleetFollower::open(std::move(settings));
    EXPECT_TRUE(follower) << follower.error().text();
    return follower ? *std::move(follower) : nullptr;
  }
  static int64_t draws_in(const FleetFollower& follower) {
    const auto copy = follower.current();
    return copy == nullptr ? -1 : copy->fleet().count_draws().value_or(-1);
  }
  int64_t folders() const {
    const std::filesystem::directory_iterator entries(folder_ / "fleet");
    return std::distance(begin(entries), end(entries));
  }

  Status settles_;
  int64_t wall_ns_ = wall_now_ns();
  int64_t monotonic_ns_ = kNsPerHour;
};

TEST_F(FleetFollowerTest, OneCopyTakesThePlaceOfTheOther) {
  listen();
  const auto follower = follow();
  EXPECT_EQ(draws_in(*follower), -1);
  EXPECT_FALSE(follower->age_ns());
  ASSERT_TRUE(follower->follow());
  EXPECT_EQ(draws_in(*follower), 0);
  add_draw("d1", "m1");
  const auto in_use = follower->current();
  ASSERT_TRUE(follower->catch_up(monotonic_ns_));
  EXPECT_EQ(draws_in(*follower), 1);
  EXPECT_EQ(*in_use->fleet().count_draws(), 0) << "a question keeps the copy that it has";
  EXPECT_EQ(folders(), 2);
}

TEST_F(FleetFollowerTest, TheFolderGoesWithTheLastUse) {
  listen();
  const auto follower = follow();
  ASSERT_TRUE(follower->follow());
  auto in_use = follower->current();
  register_machine("m1");
  ASSERT_TRUE(follower->catch_up(monotonic_ns_));
  EXPECT_EQ(folders(), 2);
  in_use.reset();
  EXPECT_EQ(folders(), 1);
}

TEST_F(FleetFollowerTest, WhatIsTheSameIsNotFetchedAgain) {
  listen();
  add_draw("d1", "m1");
  const auto follower = follow();
  ASSERT_TRUE(follower->follow());
  EXPECT_EQ(requests_, 3) << "the list and two files";
  ASSERT_TRUE(follower->follow());
  EXPECT_EQ(requests_, 4) << "nothing is new";
  register_machine("m1");
  ASSERT_TRUE(follower->catch_up(monotonic_ns_));
  EXPECT_EQ(requests_, 6) << "draws.db is the same";
  EXPECT_EQ(draws_in(*follower), 1);
  EXPECT_EQ(*follower->current()->fleet().count_machines(), 1);
  // What was fetched later than that has it already.
  ASSERT_TRUE(follower->catch_up(monotonic_ns_ - 1));
  EXPECT_EQ(requests_, 6);
}

// Cut, damaged, longer than was said, or of another copy: the copy before stays.
TEST_F(FleetFollowerTest, WhatIsWrongIsNoCopy) {
  listen();
  const auto follower = follow();
  ASSERT_TRUE(follower->follow());
  register_machine("m1");
  add_draw("d1", "m1");
  const std::string before = follower->current()->facts().id();
  const std::vector<Tamper> tampers{
      [](const http::Request& request, http::Response& response) {
        if (is_file(request, "draws.db")) {
          body_of(response).resize(body_of(response).size() - 1);
        }
      },
      [](const http::Request& request, http::Response& response) {
        if (is_file(request, "live.db")) {
          body_of(response)[5000] = static_cast<char>(body_of(response)[5000] ^ 1);
        }
      },
      [](const http::Request& request, http::Response& response) {
        if (is_file(request, "live.db")) {
          body_of(response) += "and more";
        }
      },
      [](const http::Request& request, http::Response& response) {
        if (is_file(request, "draws.db")) {
          response = {.status = 500, .body = "broken"};
        }
      },
      [](const http::Request& request, http::Response& response) {
        if (request.path == "/api/v1/directory") {
          wire::DirectoryCopy facts;
          EXPECT_TRUE(facts.ParseFromString(response.body));
          facts.set_id("../../../../../../../../etc/passwd");
          response.body = facts.SerializeAsString();
        }
      },
      [](const http::Request& request, http::Response& response) {
        if (request.path == "/api/v1/directory") {
          wire::DirectoryCopy facts;
          EXPECT_TRUE(facts.ParseFromString(response.body));
          facts.mutable_files(0)->set_name("../live.db");
          response.body = facts.SerializeAsString();
        }
      },
      [](const http::Request& request, http::Response& response) {
        if (request.path == "/api/v1/directory") {
          response.body = std::string(100'000, 'x');
        }
      },
  };
  for (size_t i = 0; i < tampers.size(); ++i) {
    SCOPED_TRACE(i);
    tamper(tampers[i]);
    EXPECT_FALSE(follower->catch_up(monotonic_ns_));
    EXPECT_FALSE(follower->newest_attempt());
    EXPECT_EQ(follower->current()->facts().id(), before);
    EXPECT_EQ(folders(), 1) << "nothing is left of it";
  }
  tamper({});
  ASSERT_TRUE(follower->catch_up(monotonic_ns_));
  EXPECT_EQ(draws_in(*follower), 1);
}

// Random damage of what the server says: never a copy that is not what it has.
TEST_F(FleetFollowerTest, DamagedListsAreNoCopies) {
  listen();
  add_draw("d1", "m1");
  const auto follower = follow();
  std::mt19937_64 random(7);
  for (int i = 0; i < 200; ++i) {
    tamper([&random](const http::Request& request, http::Response& response) {
      if (request.path == "/api/v1/directory" && !response.body.empty()) {
        response.body[random() % response.body.size()] = static_cast<char>(random());
      }
    });
    if (follower->follow()) {
      EXPECT_EQ(draws_in(*follower), 1);
    }
  }
}

// Between the list and the files: what is fetched is all of one copy.
TEST_F(FleetFollowerTest, ACopyThatIsReplacedMeanwhileIsFetchedAnew) {
  listen();
  const auto follower = follow();
  int replaced = 0;
  tamper([&](const http::Request& request, http::Response&) {
    // Twice: only two copies are kept.
    for (int i = 0; request.path == "/api/v1/directory" && replaced < 4 && i < 2; ++i) {
      ++replaced;
      register_machine(fmt::format("m{}", replaced));
      add_draw(fmt::format("d{}", replaced), fmt::format("m{}", replaced));
      EXPECT_TRUE(copies_.get(store::DirectoryCopies::Wanted::kNewest));
    }
  });
  ASSERT_TRUE(follower->catch_up(monotonic_ns_));
  EXPECT_EQ(replaced, 4);
  EXPECT_EQ(draws_in(*follower), 4);
  EXPECT_EQ(*follower->current()->fleet().count_machines(), 4);
}

TEST_F(FleetFollowerTest, AnswersSayHowOldACopyIs) {
  listen();
  const auto follower = follow();
  EXPECT_FALSE(follower->note()) << "there is no copy";
  ASSERT_TRUE(follower->follow());
  EXPECT_FALSE(follower->note());
  listener_->stop();
  monotonic_ns_ += 59 * kNsPerSecond;
  EXPECT_FALSE(follower->follow());
  EXPECT_FALSE(follower->note());
  monotonic_ns_ += 121 * kNsPerSecond;
  EXPECT_FALSE(follower->follow());
  ASSERT_TRUE(follower->note());
  EXPECT_THAT(*follower->note(), AllOf(HasSubstr("3 min ago"), HasSubstr("asking the primary server")));
  listen();
  ASSERT_TRUE(follower->follow());
  EXPECT_FALSE(follower->note());
}

TEST_F(FleetFollowerTest, AProcessGoesOnWithWhatTheOneBeforeHasLeft) {
  listen();
  add_draw("d1", "m1");
  {
    const auto follower = follow();
    ASSERT_TRUE(follower->follow());
    add_draw("d2", "m1");
    ASSERT_TRUE(follower->catch_up(monotonic_ns_));
  }
  listener_->stop();
  std::filesystem::create_directories(folder_ / "fleet/half");  // of one that was killed
  {
    const auto follower = follow();
    EXPECT_EQ(draws_in(*follower), 2);
    EXPECT_EQ(folders(), 1);
    EXPECT_FALSE(follower->follow());
    wall_ns_ = follower->current()->facts().taken_ns() + 10 * kNsPerMinute;
    ASSERT_TRUE(follower->note());
    EXPECT_THAT(*follower->note(), HasSubstr("10 min ago"));
  }
  // After a power failure, say.
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "fleet")) {
    std::filesystem::resize_file(entry.path() / "draws.db", 4096);
  }
  const auto follower = follow();
  EXPECT_EQ(draws_in(*follower), -1);
  EXPECT_EQ(folders(), 0);
}

TEST_F(FleetFollowerTest, WhatTheRowsDoNotBelongToIsKeptOut) {
  listen();
  const auto follower = follow();
  settles_ = fail(ErrorCode::kConflict, "of another directory");
  const Status followed = follower->follow();
  ASSERT_FALSE(followed);
  EXPECT_THAT(followed.error().text(), HasSubstr("of another directory"));
  EXPECT_EQ(draws_in(*follower), -1);
  EXPECT_EQ(folders(), 0);
}

TEST_F(FleetFollowerTest, RowsInTheDirectoryCannotBeFollowed) {
  listen(false);
  const auto follower = follow();
  const Status followed = follower->follow();
  ASSERT_FALSE(followed);
  EXPECT_THAT(followed.error().text(), HasSubstr("plimsoll store copy --to clickhouse://"));
}

// A draw whose profiles have become rows since the copy was made: without its weights its machines would count as if nobody else had been
// drawn, for as long as the rows are in memory.
TEST_F(FleetFollowerTest, WeightsOfADrawThatIsNewerThanTheCopyAreFetched) {
  listen();
  add_draw("d1", "m1", 4);
  const auto follower = follow();
  ASSERT_TRUE(follower->follow());
  int64_t rows_read_ns = monotonic_ns_;
  const store::CopiedFleet fleet(*follower, [&] { return rows_read_ns; }, folder_ / "access.db");
  const int fetched = requests_;
  EXPECT_EQ(fleet.drawn_weights("d1")->at(0).weight, 4);
  EXPECT_EQ(requests_, fetched) << "it is in the copy";

  add_draw("d2", "m1", 8);
  monotonic_ns_ += 1;
  rows_read_ns = monotonic_ns_;
  monotonic_ns_ += 1;
  EXPECT_EQ(fleet.drawn_weights("d2")->at(0).weight, 8);
  // Unknown at the primary, too: it is asked once for all that the same question has read.
  const int known = requests_;
  EXPECT_TRUE(fleet.drawn_weights("of another directory")->empty());
  EXPECT_TRUE(fleet.drawn_weights("of a third one")->empty());
  EXPECT_EQ(requests_, known);

  listener_->stop();
  rows_read_ns = monotonic_ns_ += 1;
  EXPECT_EQ(fleet.drawn_weights("d1")->at(0).weight, 4);
  const auto unknown = fleet.drawn_weights("d3");
  ASSERT_FALSE(unknown) << "nobody can tell whether it is a draw";
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(unknown.error().text(), HasSubstr("the draw d3"));
}

// It is ended by its own scope, and the next one has its turn.
TEST_F(FleetFollowerTest, AQuestionThatEndsLeavesNothingBehind) {
  listen();
  const auto follower = follow();
  ASSERT_TRUE(follower->follow());
  register_machine("m1");
  {
    const StopCheck check = []() -> Status { return fail(ErrorCode::kUnavailable, "the client has gone"); };
    const StopScope scope(check);
    tamper([](const http::Request& request, http::Response& response) {
      if (is_file(request, "live.db")) {
        response = {.status = 503, .body = "busy"};
      }
    });
    EXPECT_FALSE(follower->catch_up(monotonic_ns_));
  }
  EXPECT_TRUE(follower->newest_attempt());
  tamper({});
  EXPECT_TRUE(follower->catch_up(monotonic_ns_));
  EXPECT_EQ(*follower->current()->fleet().count_machines(), 1);
}

TEST_F(FleetFollowerTest, WithoutACopyQuestionsSayWhatToDo) {
  listen();
  const auto follower = follow();
  const store::CopiedFleet fleet(*follower, [] { return int64_t{0}; }, folder_ / "access.db");
  const auto machines = fleet.machines();
  ASSERT_FALSE(machines);
  EXPECT_EQ(machines.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(machines.error().hint, HasSubstr("primary.server"));
}

}  // namespace
}  // namespace plimsoll::server::replica_test
