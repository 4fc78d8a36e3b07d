// What the server has acknowledged survives whatever kills the server, and counts exactly once.
//
// PLIMSOLL_TEST_CRASHES   how often to kill it (50)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <set>
#include <thread>

#include "base/hex.h"
#include "base/time.h"
#include "http/client.h"
#include "proto/fleet.pb.h"
#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::IsEmpty;

int crashes_wanted() {
  const char* const text = std::getenv("PLIMSOLL_TEST_CRASHES");
  return text == nullptr ? 50 : std::atoi(text);  // NOLINT(cert-err34-c)
}

// Sends one profile after another, each as often as it takes, and now and then one that was acknowledged before. Every
// profile has a function of its own, so that the answer shows each of them.
class Uploader {
 public:
  Uploader(std::string address, uint64_t number)
      : client_({.base_url = std::move(address)}), random_(number) {
    next_seed_ = number * 1'000'000;
  }

  // Until it is enough, or something is wrong, which is enough for all.
  void run(std::atomic<bool>& enough, std::atomic<int>& acknowledged) {
    while (!enough) {
      send_new();
      ++acknowledged;
      if (random_() % 4 == 0) {
        send_again();
      }
      if (!problem_.empty()) {
        enough = true;
      }
    }
  }

  // Hits by function.
  const std::map<std::string, double>& sent() const { return sent_; }
  const std::string& problem() const { return problem_; }

 private:
  struct Upload {
    std::string path;
    std::string body;
  };

  void send_new() {
    const uint64_t seed = ++next_seed_;
    const std::string function = fmt::format("work_{}", seed);
    const uint64_t hits = 1 + random_() % 1000;
    const wire::RawProfile profile =
        make_profile({.seed = seed,
                      .machine = fmt::format("machine-{}", seed % 3),
                      .from_ns = 1'700'000'000'000'000'000 + static_cast<int64_t>(seed),
                      .stacks = fmt::format("main;{} {}\n", function, hits)});
    acknowledged_.push_back({"/fleet/v1/profiles/" + to_hex(profile.profile_id()), wire::encode(profile)});
    sent_[function] = static_cast<double>(hits);
    send_until_acknowledged(acknowledged_.back());
  }

  void send_again() {
    const wire::UploadReply reply = send_until_acknowledged(acknowledged_[random_() % acknowledged_.size()]);
    if (!reply.already_known()) {
      problem_ = "a profile that was acknowledged is not known any more";
    }
  }

  wire::UploadReply send_until_acknowledged(const Upload& upload) {
    wire::UploadReply reply;
    const bool acknowledged = eventually([&] {
      const auto response = client_.send("PUT", upload.path, upload.body);
      if (response && response->status == 200) {
        return reply.ParseFromString(response->body);
      }
      if (response && response->status != 503) {
        problem_ = fmt::format("status {}: {}", response->status, response->body);
      }
      return !problem_.empty();
    });
    if (!acknowledged) {
      problem_ = "a profile was never acknowledged";
    }
    return reply;
  }

  http::Client client_;
  std::mt19937_64 random_;
  uint64_t next_seed_;
  std::vector<Upload> acknowledged_;
  std::map<std::string, double> sent_;
  std::string problem_;
};

std::set<std::string> files_in(const std::string& folder) {
  std::set<std::string> files;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    files.insert(entry->path().filename().string());
  }
  return files;
}

// Returns at the moment to kill a server that was just started: another one each time.
bool wait_for_a_moment(uint64_t kind, std::mt19937_64& random, const std::string& data_dir,
                       const std::atomic<int>& acknowledged, const std::atomic<bool>& enough) {
  const auto after = [&random](int64_t longest_ms) {
    const int64_t end_ns =
        monotonic_now_ns() + static_cast<int64_t>(random() % static_cast<uint64_t>(longest_ms * 1'000'000));
    return eventually([=] { return monotonic_now_ns() >= end_ns; }, std::chrono::microseconds(50));
  };
  const int acknowledged_before = acknowledged;
  const auto acknowledges = [&](uint64_t more) {
    return eventually([&] { return enough || acknowledged - acknowledged_before >= static_cast<int>(more); },
                      std::chrono::microseconds(50));
  };
  switch (kind) {
    case 0:  // while it starts
      return after(60);
    case 1:  // between uploads
      return acknowledges(1 + random() % 20);
    case 2: {  // while rows are being built: a segment is being written, or was
      const auto segments = [&] { return files_in(data_dir + "/blocks/000001/segments"); };
      const auto before = segments();
      const auto is_new = [&](const std::string& file) { return !before.contains(file); };
      return eventually([&] { return enough || std::ranges::any_of(segments(), is_new); },
                        std::chrono::microseconds(50));
    }
    default:  // whatever it is doing
      return acknowledges(1) && after(60);
  }
}

TEST(Crash, LosesNothingThatWasAcknowledgedAndCountsNothingTwice) {
  const TemporaryFolder folder;
  const std::string data_dir = folder / "data";
  TestServer server(data_dir);
  std::atomic<bool> enough = false;
  std::atomic<int> acknowledged = 0;
  std::vector<Uploader> uploaders;
  uploaders.emplace_back(server.fleet_address(), 1);
  uploaders.emplace_back(server.fleet_address(), 2);
  std::vector<std::thread> threads;
  for (Uploader& uploader : uploaders) {
    threads.emplace_back([&] { uploader.run(enough, acknowledged); });
  }

  std::mt19937_64 random(20'261'121);
  const int wanted = crashes_wanted();
  int crashes = 0;
  int removals = 0;
  bool goes_on = true;
  while (crashes < wanted && goes_on && !enough) {
    goes_on = wait_for_a_moment(static_cast<uint64_t>(crashes) % 4, random, data_dir, acknowledged, enough);
    const Finished crashed = server.crash();
    EXPECT_EQ(crashed.status, 128 + SIGKILL) << "it had ended by itself: " << crashed.err;
    removals += crashed.err.find("which is not visible") != std::string::npos ? 1 : 0;
    ++crashes;
    server.start();
    goes_on = goes_on && crashed.status == 128 + SIGKILL;
  }
  enough = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::map<std::string, double> sent;
  for (const Uploader& uploader : uploaders) {
    EXPECT_EQ(uploader.problem(), "");
    sent.insert(uploader.sent().begin(), uploader.sent().end());
  }
  EXPECT_EQ(crashes, wanted);
  ASSERT_TRUE(server.becomes_ready()) << server.process().err();
  const Finished stopped = server.stop();
  ASSERT_EQ(stopped.status, 0) << stopped.err;

  sent.emplace("main", 0);  // calls them all
  const auto counted = self_of(top({"--data", data_dir, "--by", "function", "--limit", "1000000"}));
  EXPECT_EQ(counted.size(), sent.size());
  EXPECT_TRUE(counted == sent) << "the answer is not what was sent";
  const Stored stored = stored_in(data_dir);
  EXPECT_EQ(stored.accepted, sent.size() - 1);
  EXPECT_EQ(stored.built, stored.accepted);
  EXPECT_EQ(stored.unbuildable, 0);
  EXPECT_THAT(stored.invisible_files, IsEmpty());
  EXPECT_THAT(stored.damage, IsEmpty());
  std::printf("%d crashes, %d of them with a segment half made; %ld profiles\n", crashes, removals,
              stored.accepted);
}

}  // namespace
}  // namespace plimsoll::testing
