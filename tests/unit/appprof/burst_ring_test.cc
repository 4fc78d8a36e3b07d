// Events of bursts in the library's ring, and the endpoints by which the daemon assigns bursts and fetches events.
#include "appprof/burst_ring.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "appprof/appprof.h"
#include "appprof/endpoints.h"
#include "appprof/mark_calls.h"

namespace plimsoll::appprof {
namespace {

std::string text_of(const BurstRecord& record) {
  return {record.text.data(), record.text_size};
}
std::string peer_of(const BurstRecord& record) {
  return {record.peer.data(), record.peer_size};
}

BurstRecord annotation(uint64_t number) {
  return burst_record(BurstEventKind::kAnnotation, "row", nullptr, number);
}

TEST(BurstRing, HandsOverWhatIsNewSinceASequenceNumber) {
  static constinit BurstRing ring;
  EXPECT_EQ(ring.take_after(0).next, 0U);
  EXPECT_EQ(ring.put(annotation(7)), 1U);
  EXPECT_EQ(ring.put(burst_record(BurstEventKind::kRpcOut, "Get", "store", 100)), 2U);
  const BurstRing::Taken all = ring.take_after(0);
  ASSERT_EQ(all.records.size(), 2U);
  EXPECT_EQ(all.next, 2U);
  EXPECT_EQ(all.lost, 0U);
  EXPECT_EQ(all.records[0].number, 7U);
  EXPECT_EQ(all.records[0].call, 0U);
  EXPECT_EQ(all.records[0].thread, static_cast<uint32_t>(::gettid()));
  EXPECT_EQ(text_of(all.records[0]), "row");
  EXPECT_EQ(all.records[1].call, 2U) << "what its end names";
  EXPECT_EQ(peer_of(all.records[1]), "store");
  EXPECT_LE(all.records[0].time_ns, all.records[1].time_ns);
  EXPECT_EQ(ring.take_after(1).records.size(), 1U);
  const BurstRing::Taken none = ring.take_after(UINT64_MAX);
  EXPECT_TRUE(none.records.empty());
  EXPECT_EQ(none.next, 2U);
  EXPECT_EQ(none.lost, 0U);
}

TEST(BurstRing, NewEventsReplaceOldOnesAndTheseAreCounted) {
  static constinit BurstRing ring;
  constexpr uint64_t kEvents = 3 * BurstRing::kPlaces + 5;
  for (uint64_t i = 1; i <= kEvents; ++i) {
    ring.put(annotation(i));
  }
  const BurstRing::Taken taken = ring.take_after(10);
  ASSERT_EQ(taken.records.size(), BurstRing::kPlaces);
  EXPECT_EQ(taken.lost, kEvents - 10 - BurstRing::kPlaces);
  EXPECT_EQ(taken.records.front().number, kEvents - BurstRing::kPlaces + 1);
  EXPECT_EQ(taken.records.back().number, kEvents);
}

TEST(BurstRing, OfSeveralThreadsEachEventIsThereOrCounted) {
  static constinit BurstRing ring;
  constexpr uint64_t kThreads = 4;
  constexpr uint64_t kEach = 5000;
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([thread] {
      for (uint64_t i = 0; i < kEach; ++i) {
        ring.put(annotation(thread * kEach + i));
      }
    });
  }
  uint64_t after = 0;
  uint64_t found = 0;
  uint64_t lost = 0;
  const auto take = [&] {
    const BurstRing::Taken taken = ring.take_after(after);
    after = taken.next;
    found += taken.records.size();
    lost += taken.lost;
    for (const BurstRecord& record : taken.records) {
      ASSERT_LT(record.number, kThreads * kEach);
      ASSERT_EQ(text_of(record), "row");
    }
  };
  for (int i = 0; i < 20; ++i) {
    take();
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  take();
  EXPECT_EQ(found + lost, kThreads * kEach);
  EXPECT_GT(found, 0U);
}

TEST(BurstRing, AForkedChildHasItsOwnEventsAlone) {
  static constinit BurstRing ring;
  ring.put(annotation(1));
  const pid_t child = ::fork();
  if (child == 0) {
    ring.clear_in_child();
    const bool is_empty = ring.take_after(0).records.empty() && ring.take_after(0).lost == 0;
    ring.put(annotation(2));
    const BurstRing::Taken taken = ring.take_after(0);
    const bool is_own = taken.records.size() == 1 && taken.records[0].number == 2 && taken.lost == 0 &&
                        taken.records[0].thread == static_cast<uint32_t>(::getpid());
    ::_exit(is_empty && is_own ? 3 : 4);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_EQ(ring.take_after(0).records.size(), 1U);
}

TEST(BurstRing, LongTextsAreCutBetweenCharacters) {
  const std::string long_text = std::string(47, 'a') + "\xc3\xa4 and more";
  const std::string long_peer = std::string(30, 'b') + "\xe2\x82\xac";
  const BurstRecord cut =
      burst_record(BurstEventKind::kRpcIn, long_text.c_str(), long_peer.c_str(), UINT64_MAX);
  EXPECT_EQ(text_of(cut), std::string(47, 'a'));
  EXPECT_EQ(peer_of(cut), std::string(30, 'b'));
  const std::string whole = std::string(46, 'a') + "\xc3\xa4";
  EXPECT_EQ(text_of(burst_record(BurstEventKind::kRpcIn, whole.c_str(), nullptr, 0)), whole);
}

Response answer(Endpoints& endpoints, const std::string& method, const std::string& path,
                std::map<std::string, std::string> query) {
  Request request;
  request.method = method;
  request.path = path;
  request.query = std::move(query);
  return endpoints.answer(request, RequestTime(-1, -1));
}

TEST(BurstEvents, AreWhatTheProgramTellsOfInBurstsAlone) {
  set_bursts("off");
  const uint64_t before = g_burst_ring.take_after(UINT64_MAX).next;
  EXPECT_EQ(rpc_in("Get", "front", 1), 0U);
  set_bursts("always");
  {
    const RequestScope request(77);
    const uint64_t call = rpc_out("Read", "disk", 10);
    EXPECT_NE(call, 0U);
    rpc_end(call, 20);
    annotate("cache hit", 1);
    plimsoll_appprof_phase("a phase with a long name");
  }
  rpc_end(0, 20);
  annotate("idle", 2);
  set_bursts("off");
  annotate("not in a burst", 3);
  const std::vector<BurstRecord> records = g_burst_ring.take_after(before).records;
  set_bursts("assigned");
  ASSERT_EQ(records.size(), 5U);
  EXPECT_EQ(records[0].kind, static_cast<uint8_t>(BurstEventKind::kRpcOut));
  EXPECT_EQ(records[0].request, 77U);
  EXPECT_EQ(records[1].kind, static_cast<uint8_t>(BurstEventKind::kRpcEnd));
  EXPECT_EQ(records[1].call, records[0].call);
  EXPECT_EQ(records[1].number, 20U);
  EXPECT_EQ(text_of(records[2]), "cache hit");
  EXPECT_EQ(records[3].kind, static_cast<uint8_t>(BurstEventKind::kPhase));
  EXPECT_EQ(text_of(records[3]), "a phase with a long name");
  EXPECT_EQ(records[4].request, 0U);
}

// The daemon assigns bursts while threads are at work, and its assignments end so.
TEST(BurstEvents, BelongToTheRequestOfAMarkThatCameWithoutBursts) {
  set_bursts("assigned");
  end_assigned_bursts();
  const uint64_t before = g_burst_ring.take_after(UINT64_MAX).next;
  plimsoll_appprof_request_switch(5);
  EXPECT_TRUE(assign_bursts(kAlwaysBursts, INT64_MAX));
  annotate("began before", 1);
  end_assigned_bursts();
  plimsoll_appprof_request_switch(6);
  plimsoll_appprof_request_switch(0);
  EXPECT_TRUE(assign_bursts(kAlwaysBursts, INT64_MAX));
  annotate("over by now", 2);
  end_assigned_bursts();
  const std::vector<BurstRecord> records = g_burst_ring.take_after(before).records;
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].request, 5U);
  EXPECT_EQ(records[1].request, 0U);
}

TEST(BurstEvents, AreAnsweredAsBytesOfAFixedForm) {
  Endpoints endpoints(Endpoints::Settings{});
  set_bursts("always");
  const uint64_t before = g_burst_ring.take_after(UINT64_MAX).next;
  annotate("a", 0x1122334455667788);
  set_bursts("assigned");
  const Response events =
      answer(endpoints, "GET", "/plimsoll/bursts/events", {{"after", std::to_string(before)}});
  EXPECT_EQ(events.status, 200);
  ASSERT_EQ(events.body.size(), 32U + 120U);
  EXPECT_EQ(events.body.substr(0, 8), "PLIMAEV1");
  const auto number_at = [&](size_t at) {
    uint64_t number = 0;
    std::memcpy(&number, events.body.data() + at, sizeof number);
    return number;
  };
  EXPECT_EQ(number_at(8), before + 1);
  EXPECT_EQ(number_at(16), 0U);
  EXPECT_EQ(number_at(24), uint64_t{120} << 32U | 1U);
  EXPECT_EQ(number_at(32 + 16), 0x1122334455667788U);
  EXPECT_EQ(events.body[32 + 36], 4) << "its kind";
  EXPECT_EQ(events.body[32 + 40], 'a');
  EXPECT_EQ(answer(endpoints, "GET", "/plimsoll/bursts/events", {{"after", "-1"}}).status, 400);
  EXPECT_EQ(answer(endpoints, "GET", "/plimsoll/bursts/events", {{"after", ""}}).status, 400);
}

TEST(AssignedBursts, HoldUntilTheirEndAndWhereTheProgramHasChosenNothing) {
  set_bursts("assigned");
  EXPECT_FALSE(is_burst_now());
  EXPECT_TRUE(assign_bursts(kAlwaysBursts, INT64_MAX));
  EXPECT_TRUE(is_burst_now());
  EXPECT_TRUE(assign_bursts(kAlwaysBursts, monotonic_ns()));
  EXPECT_FALSE(is_burst_now()) << "their time is over";
  EXPECT_TRUE(assign_bursts(kAlwaysBursts, INT64_MAX));
  end_assigned_bursts();
  EXPECT_FALSE(is_burst_now());
  set_bursts("off");
  EXPECT_FALSE(assign_bursts(kAlwaysBursts, INT64_MAX));
  EXPECT_FALSE(is_burst_now());
  set_bursts("always");
  EXPECT_FALSE(assign_bursts(uint64_t{1} << 30, INT64_MAX));
  end_assigned_bursts();
  EXPECT_TRUE(is_burst_now()) << "the program's own choice";
  set_bursts("assigned");
}

TEST(AssignedBursts, AreSetByPostAlone) {
  Endpoints endpoints(Endpoints::Settings{});
  const auto post = [&](std::map<std::string, std::string> query) {
    return answer(endpoints, "POST", "/plimsoll/bursts", std::move(query)).status;
  };
  set_bursts("assigned");
  EXPECT_EQ(answer(endpoints, "GET", "/plimsoll/bursts", {{"config", "7,8"}, {"seconds", "9"}}).status, 405);
  EXPECT_EQ(post({{"config", "7,8"}, {"seconds", "9"}}), 200);
  EXPECT_EQ(post({{"seconds", "0"}}), 200);
  EXPECT_EQ(post({{"config", "7,8"}}), 400);
  EXPECT_EQ(post({{"config", "7,8"}, {"seconds", "86401"}}), 400);
  EXPECT_EQ(post({{"config", "always"}, {"seconds", "9"}}), 400);
  EXPECT_EQ(post({{"config", "off"}, {"seconds", "9"}}), 400);
  EXPECT_EQ(post({{"seconds", "9"}}), 400);
  set_bursts("off");
  EXPECT_EQ(post({{"config", "7,8"}, {"seconds", "9"}}), 409);
  set_bursts("assigned");
}

}  // namespace
}  // namespace plimsoll::appprof
