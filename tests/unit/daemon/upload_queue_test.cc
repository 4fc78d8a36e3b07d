#include "daemon/upload_queue.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "base/result.h"

namespace plimsoll {
namespace {

QueuedProfile profile(const std::string& id, size_t bytes) {
  return {.id = id, .encoded = std::string(bytes, 'x')};
}

bool is_readable(int fd) {
  pollfd poll_fd{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&poll_fd, 1, 0) == 1;
}

// IDs from the oldest to the newest; takes them out.
std::string drain(UploadQueue& queue) {
  std::string ids;
  while (const auto oldest = queue.oldest()) {
    ids += (ids.empty() ? "" : " ") + oldest->id;
    queue.remove(oldest->id);
  }
  return ids;
}

TEST(UploadQueue, HandsOutTheOldestFirstAndAsOftenAsAsked) {
  UploadQueue queue(100);
  EXPECT_FALSE(queue.oldest());
  queue.push({.id = "a", .encoded = "bytes", .has_kernel_symbols = true});
  queue.push(profile("b", 10));
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto oldest = queue.oldest();
    ASSERT_TRUE(oldest);
    EXPECT_EQ(oldest->id, "a");
    EXPECT_EQ(oldest->encoded, "bytes");
    EXPECT_TRUE(oldest->has_kernel_symbols);
  }
  EXPECT_EQ(queue.size(), 2);
  EXPECT_EQ(drain(queue), "a b");
  EXPECT_EQ(queue.size(), 0);
  EXPECT_EQ(queue.dropped(), 0);
}

TEST(UploadQueue, DropsTheOldestWhereThereIsNoRoom) {
  UploadQueue queue(100);
  for (const char* id : {"a", "b", "c"}) {
    queue.push(profile(id, 30));
  }
  queue.push(profile("d", 10));  // 100 bytes: full
  EXPECT_EQ(queue.dropped(), 0);
  queue.push(profile("e", 31));  // needs the room of two
  EXPECT_EQ(queue.dropped(), 2);
  EXPECT_EQ(drain(queue), "c d e");
}

TEST(UploadQueue, OneThatAloneIsTooLargeIsDropped) {
  UploadQueue queue(100);
  queue.push(profile("exact", 100));
  EXPECT_EQ(drain(queue), "exact");
  queue.push(profile("large", 101));
  EXPECT_EQ(queue.dropped(), 1);
  EXPECT_EQ(drain(queue), "");
  queue.push(profile("next", 100));
  EXPECT_EQ(drain(queue), "next") << "what was dropped must take no room";
}

TEST(UploadQueue, OneThatAloneIsTooLargeLeavesTheOthers) {
  UploadQueue queue(100);
  queue.push(profile("a", 30));
  queue.push(profile("b", 30));
  queue.push(profile("large", 101));
  EXPECT_EQ(queue.dropped(), 1);
  EXPECT_EQ(drain(queue), "a b");
}

TEST(UploadQueue, RemovesByIdWhereverItStands) {
  UploadQueue queue(90);
  for (const char* id : {"a", "b", "c"}) {
    queue.push(profile(id, 30));
  }
  queue.remove("b");
  queue.remove("b");
  queue.remove("unknown");
  EXPECT_EQ(queue.size(), 2);
  queue.push(profile("d", 30));
  EXPECT_EQ(drain(queue), "a c d") << "what was removed must take no room";
  EXPECT_EQ(queue.dropped(), 0) << "nor count as dropped";
}

TEST(UploadQueue, WakesForEachPushUntilDrained) {
  UploadQueue queue(100);
  EXPECT_FALSE(is_readable(queue.wake_fd()));
  queue.drain_wakeups();  // must not block
  queue.push(profile("a", 10));
  queue.push(profile("b", 10));
  EXPECT_TRUE(is_readable(queue.wake_fd()));
  queue.drain_wakeups();
  EXPECT_FALSE(is_readable(queue.wake_fd())) << "one drain is for all pushes before it";
  queue.push(profile("c", 10));
  EXPECT_TRUE(is_readable(queue.wake_fd()));
}

struct Bound {
  const char* name;
  uint64_t bytes;
  bool drops;  // certainly
};

class UploadQueueThreads : public ::testing::TestWithParam<Bound> {};

TEST_P(UploadQueueThreads, EachProfileIsDeliveredOnceOrCountedAsDropped) {
  constexpr int kProducers = 4;
  constexpr int kPerProducer = 2000;
  constexpr uint64_t kPushed = uint64_t{kProducers} * kPerProducer;
  UploadQueue queue(GetParam().bytes);
  std::atomic<int> running = kProducers;
  std::vector<std::jthread> producers;
  for (int producer = 0; producer < kProducers; ++producer) {
    producers.emplace_back([&queue, &running, producer] {
      for (int i = 0; i < kPerProducer; ++i) {
        queue.push(profile(fmt::format("{} {}", producer, i), 1 + static_cast<size_t>(i % 100)));
      }
      --running;
    });
  }
  std::set<std::string> delivered;
  std::vector<int> newest(kProducers, -1);
  uint64_t certainly_removed = 0;  // nothing was dropped between looking at the profile and removing it
  for (bool is_last = false; !is_last;) {
    is_last = running == 0;  // read before draining, so that the last round misses nothing
    while (true) {
      const uint64_t dropped_before = queue.dropped();
      const auto oldest = queue.oldest();
      if (!oldest) {
        break;
      }
      queue.remove(oldest->id);
      certainly_removed += queue.dropped() == dropped_before ? 1 : 0;
      EXPECT_TRUE(delivered.insert(oldest->id).second) << oldest->id << " came twice";
      const int number = std::stoi(oldest->id.substr(2));
      int& newest_of_producer = newest[static_cast<size_t>(oldest->id.front() - '0')];
      EXPECT_GT(number, newest_of_producer) << "out of order";
      newest_of_producer = number;
    }
  }
  EXPECT_EQ(queue.size(), 0);
  // One that is dropped while it is being delivered is both.
  EXPECT_GE(delivered.size() + queue.dropped(), kPushed);
  EXPECT_LE(certainly_removed + queue.dropped(), kPushed);
  EXPECT_EQ(queue.dropped() > 0, GetParam().drops);
}

INSTANTIATE_TEST_SUITE_P(Bounds, UploadQueueThreads,
                         ::testing::Values(Bound{"RoomForAll", 1'000'000, false},
                                           Bound{"RoomForOneOfTheSmaller", 50, true}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace plimsoll
