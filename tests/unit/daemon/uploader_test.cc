#include "daemon/spool/uploader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/hex.h"
#include "http/listener.h"
#include "proto/fleet.pb.h"
#include "tests/bursts/burst_recordings.h"
#include "tests/temporary_directory.h"
#include "tests/unit/daemon/spool_fixture.h"

namespace plimsoll::spool {
namespace {

using ::testing::HasSubstr;

http::Response acknowledgement() {
  wire::UploadReply reply;
  reply.set_format_version(wire::kFormatVersion);
  return {.content_type = "application/x-protobuf", .body = reply.SerializeAsString()};
}

http::Response refusal(unsigned status) {
  return {.status = status, .content_type = "text/plain", .body = "no"};
}

class UploaderTest : public ::testing::Test {
 protected:
  // A server that answers as `answer_` says, and keeps what it was sent.
  std::unique_ptr<http::Listener> start_server() {
    const auto handle = [this](const http::Request& request) {
      received_.push_back(request);
      return answer_;
    };
    auto listener =
        http::Listener::start({.threads = 1}, {{"PUT", "/fleet/v1/profiles/", true, 1 << 20, handle}});
    EXPECT_TRUE(listener) << listener.error().text();
    return std::move(*listener);
  }

  plimsoll::testing::TemporaryDirectory folder_;
  TestDisk disk_;
  std::unique_ptr<Spool> spool_ = open_spool({.folder = folder_ / "spool", .calls = &disk_.calls()});
  http::Response answer_ = acknowledgement();
  std::vector<http::Request> received_;  // read after the answer has come
  std::unique_ptr<http::Listener> server_ = start_server();
  http::Client client_{{.base_url = server_->address()}};
  int with_kernel_symbols_ = 0;
  Uploader uploader_{*spool_, [this] { ++with_kernel_symbols_; }};
};

TEST_F(UploaderTest, SendsTheOldestAndRemovesWhatIsAcknowledged) {
  ASSERT_TRUE(push(*spool_, 'a'));
  ASSERT_TRUE(push(*spool_, 'b'));
  EXPECT_TRUE(uploader_.send_oldest(client_));
  ASSERT_EQ(received_.size(), 1);
  EXPECT_EQ(received_[0].path, "/fleet/v1/profiles/" + to_hex(id_of('a')));
  EXPECT_EQ(received_[0].body, encoded_profile("a"));
  EXPECT_EQ(received_[0].header("Content-Type"), "application/x-plimsoll-profile");
  EXPECT_TRUE(uploader_.send_oldest(client_));
  EXPECT_TRUE(uploader_.send_oldest(client_)) << "nothing is left, which is no error";
  EXPECT_EQ(received_.size(), 2);
  EXPECT_EQ(spool_->status().counts[Fate::kDelivered], 2);
  EXPECT_EQ(uploader_.due_ns(), 0);
}

TEST_F(UploaderTest, SendsRecordingsOfBurstsToTheirDoorUntilTheyAreTaken) {
  const auto handle = [this](const http::Request& request) {
    received_.push_back(request);
    return answer_;
  };
  auto listener =
      http::Listener::start({.threads = 1}, {{"PUT", "/fleet/v1/bursts/", true, 1 << 20, handle}});
  ASSERT_TRUE(listener) << listener.error().text();
  const auto recordings =
      open_spool({.folder = folder_ / "recordings", .kind = &kind_of_recordings(), .calls = &disk_.calls()});
  const std::string recording = traces::encode_bursts(plimsoll::testing::burst_recording("m1"));
  ASSERT_TRUE(recordings->push(id_of('b'), as_bytes(recording), false));
  Uploader uploader(*recordings, [] {});
  http::Client client({.base_url = (*listener)->address()});
  answer_ = refusal(503);
  EXPECT_FALSE(uploader.send_oldest(client));
  EXPECT_EQ(recordings->waiting(), 1) << "the store is full for now";
  answer_ = acknowledgement();
  EXPECT_TRUE(uploader.send_oldest(client));
  ASSERT_EQ(received_.size(), 2);
  for (const http::Request& request : received_) {
    EXPECT_EQ(request.path, "/fleet/v1/bursts/" + to_hex(id_of('b')));
    EXPECT_EQ(request.body, recording);
  }
  EXPECT_EQ(recordings->waiting(), 0);
  (*listener)->stop();
}

TEST_F(UploaderTest, SaysWhenTheServerHasKernelSymbols) {
  ASSERT_TRUE(push(*spool_, 'a'));
  ASSERT_TRUE(spool_->push(id_of('b'), as_bytes(encoded_profile("b")), true));
  ASSERT_TRUE(spool_->push(id_of('c'), as_bytes(encoded_profile("c")), true));
  ASSERT_TRUE(uploader_.send_oldest(client_));
  EXPECT_EQ(with_kernel_symbols_, 0);
  ASSERT_TRUE(uploader_.send_oldest(client_));
  EXPECT_EQ(with_kernel_symbols_, 1);
  answer_ = refusal(400);
  ASSERT_TRUE(uploader_.send_oldest(client_));
  EXPECT_EQ(with_kernel_symbols_, 1) << "refused with the profile";
}

TEST_F(UploaderTest, KernelSymbolsOfAFormerRunMayBeOfAnotherKernel) {
  ASSERT_TRUE(spool_->push(id_of('a'), as_bytes(encoded_profile("a")), true));
  spool_.reset();
  spool_ = open_spool({.folder = folder_ / "spool", .calls = &disk_.calls()});
  ASSERT_TRUE(spool_->push(id_of('b'), as_bytes(encoded_profile("b")), true));
  Uploader uploader(*spool_, [this] { ++with_kernel_symbols_; });
  ASSERT_TRUE(uploader.send_oldest(client_));
  EXPECT_EQ(with_kernel_symbols_, 0);
  ASSERT_TRUE(uploader.send_oldest(client_));
  EXPECT_EQ(with_kernel_symbols_, 1);
}

TEST_F(UploaderTest, DropsWhatIsRefusedForGoodAndGoesOn) {
  for (const unsigned status : {400U, 409U, 413U, 415U}) {
    ASSERT_TRUE(push(*spool_, 'a'));
    answer_ = refusal(status);
    EXPECT_TRUE(uploader_.send_oldest(client_)) << status;
    EXPECT_EQ(spool_->waiting(), 0) << status;
  }
  EXPECT_EQ(spool_->status().counts[Fate::kRefused], 4);
  EXPECT_EQ(spool_->status().counts.dropped(), 0);
}

TEST_F(UploaderTest, KeepsWhatMayBeTakenLater) {
  ASSERT_TRUE(push(*spool_, 'a'));
  for (const unsigned status : {401U, 403U, 404U, 408U, 429U, 500U, 502U, 503U}) {
    answer_ = refusal(status);
    EXPECT_FALSE(uploader_.send_oldest(client_)) << status;
    EXPECT_EQ(spool_->waiting(), 1) << status;
  }
  server_->stop();
  EXPECT_FALSE(uploader_.send_oldest(client_));
  EXPECT_EQ(deliver_all(*spool_), "a");
}

TEST_F(UploaderTest, TakesNoOtherPageForAnAcknowledgement) {
  ASSERT_TRUE(push(*spool_, 'a'));
  for (const char* page : {"<html>please log in</html>", ""}) {
    answer_ = {.content_type = "text/html", .body = page};
    EXPECT_FALSE(uploader_.send_oldest(client_));
    EXPECT_EQ(spool_->waiting(), 1);
  }
}

TEST_F(UploaderTest, WaitsAsLongAsTheServerAsks) {
  ASSERT_TRUE(push(*spool_, 'a'));
  answer_ = refusal(503);
  answer_.headers = {{"Retry-After", "120"}};
  const int64_t before_ns = monotonic_now_ns();
  EXPECT_FALSE(uploader_.send_oldest(client_));
  EXPECT_GE(uploader_.due_ns(), before_ns + 120 * kNsPerSecond);
  answer_ = acknowledgement();
  EXPECT_TRUE(uploader_.send_oldest(client_));
  EXPECT_EQ(uploader_.due_ns(), 0);
}

TEST_F(UploaderTest, LetsOthersGoFirstWhereTheServerAsksForIt) {
  ASSERT_TRUE(push(*spool_, 'a'));
  ASSERT_TRUE(push(*spool_, 'b'));
  answer_.headers = {{"Retry-After", "3"}};
  const int64_t before_ns = monotonic_now_ns();
  EXPECT_TRUE(uploader_.send_oldest(client_));
  EXPECT_EQ(spool_->status().counts[Fate::kDelivered], 1);
  EXPECT_GE(uploader_.due_ns(), before_ns + 3 * kNsPerSecond);
  answer_ = acknowledgement();
  EXPECT_TRUE(uploader_.send_oldest(client_));
  EXPECT_EQ(uploader_.due_ns(), 0);
}

TEST_F(UploaderTest, SendsAgainWhatItCouldNotRemove) {
  ASSERT_TRUE(push(*spool_, 'a'));
  disk_.fails = [](TestDisk::Call call) { return call == TestDisk::Call::kPwrite ? EIO : 0; };
  EXPECT_FALSE(uploader_.send_oldest(client_));
  EXPECT_THAT(spool_->status().problem, HasSubstr("counts"));
  disk_.fails = [](TestDisk::Call) { return 0; };
  EXPECT_TRUE(uploader_.send_oldest(client_));
  EXPECT_EQ(received_.size(), 2);
  EXPECT_EQ(spool_->status().counts[Fate::kDelivered], 1);
  EXPECT_EQ(spool_->status().problem, "");
}

TEST(RetryTimer, PausesGrowWithFailuresInARow) {
  RetryTimer timer(7);
  EXPECT_EQ(timer.due_ns(), 0);
  int64_t longest_ns = kFirstRetryNs;
  for (int i = 0; i < 70; ++i) {
    timer.failed(1000);
    EXPECT_GE(timer.due_ns(), 1000 + longest_ns / 2) << i;
    EXPECT_LE(timer.due_ns(), 1000 + longest_ns) << i;
    longest_ns = std::min(kLongestRetryNs, 2 * longest_ns);
  }
  timer.succeeded();
  EXPECT_EQ(timer.due_ns(), 0);
  timer.failed(1000);
  EXPECT_LE(timer.due_ns(), 1000 + kFirstRetryNs);
}

TEST(RetryTimer, MachinesDoNotAskAllAtOnce) {
  std::set<int64_t> due;
  for (uint64_t machine = 0; machine < 100; ++machine) {
    RetryTimer timer(machine);
    timer.failed(0);
    due.insert(timer.due_ns());
  }
  EXPECT_GT(due.size(), 90);
}

TEST(RetryTimer, IsNotSilencedForever) {
  RetryTimer timer(7);
  timer.failed(0);
  timer.asked_to_wait(0, 24 * 3600 * kNsPerSecond);
  EXPECT_EQ(timer.due_ns(), kLongestAskedRetryNs);
  timer.not_before(5);
  EXPECT_EQ(timer.due_ns(), kLongestAskedRetryNs);
  timer.not_before(2 * kLongestAskedRetryNs);
  EXPECT_EQ(timer.due_ns(), 2 * kLongestAskedRetryNs);
}

TEST(RetryTimer, PausesAreAtLeastWhatWasAskedFor) {
  RetryTimer timer(7);
  timer.failed(1000);
  const int64_t due_ns = timer.due_ns();
  timer.asked_to_wait(1000, 1);
  EXPECT_EQ(timer.due_ns(), due_ns) << "its own is longer";
  timer.asked_to_wait(1000, kNsPerSecond);
  EXPECT_EQ(timer.due_ns(), 1000 + kNsPerSecond);
  timer.succeeded();
  timer.asked_to_wait(2000, 0);
  EXPECT_EQ(timer.due_ns(), 0);
}

}  // namespace
}  // namespace plimsoll::spool
