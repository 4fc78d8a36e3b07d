// The object store on a real S3 server, Ceph's: what it answers otherwise than the strict server of object_store_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_reader.h"
#include "http/client.h"
#include "http/sha256.h"
#include "objects/object_store.h"
#include "objects/s3_answers.h"
#include "objects/s3_store.h"
#include "tests/objects/ceph_server.h"
#include "tests/objects/object_checks.h"
#include "tests/objects/s3_server.h"
#include "tests/temporary_directory.h"

namespace plimsoll::objects {
namespace {

using plimsoll::testing::CephServer;
using plimsoll::testing::expect_keeps_objects;
using plimsoll::testing::keys_of;
using plimsoll::testing::S3Server;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CephTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = CephServer::why_missing(); !missing.empty()) {
      GTEST_SKIP() << missing;
    }
    ASSERT_TRUE(S3Server::write_credentials(credentials_));
    server_ = std::make_unique<CephServer>();
    bucket_ = server_->new_bucket();
  }

  StoreAddress address(const std::string& text) const {
    return {.address = text,
            .endpoint = server_->endpoint(),
            .region = S3Server::kRegion,
            .credentials_file = credentials_};
  }
  S3Options options() const {
    return {.endpoint = server_->endpoint(),
            .bucket = bucket_,
            .region = S3Server::kRegion,
            .access_key_id = S3Server::kKeyId,
            .secret_access_key = S3Server::kSecret,
            .first_pause_ns = 2};
  }

  // The answer to a request with those headers: status 0, and the test fails, where there is none.
  http::Response answer_to(std::string_view method, const std::string& path, std::string_view body,
                           const http::Fields& headers) const {
    auto answer = server_->client().send(method, path, body,
                                         method == "PUT" ? "application/octet-stream" : "", headers);
    EXPECT_TRUE(answer) << answer.error().text();
    return answer ? *std::move(answer) : http::Response{.status = 0};
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string credentials_ = folder_ / "credentials";
  std::unique_ptr<CephServer> server_;
  std::string bucket_;
};

TEST_F(CephTest, KeepsObjects) {
  auto store = open_object_store(address("s3://" + bucket_ + "/fleet/a"));
  ASSERT_TRUE(store) << store.error().text();
  expect_keeps_objects(**store);
  auto whole_bucket = open_object_store(address("s3://" + server_->new_bucket()));
  ASSERT_TRUE(whole_bucket) << whole_bucket.error().text();
  expect_keeps_objects(**whole_bucket);
}

TEST_F(CephTest, TheLargestObjectsComeBackAsTheyWere) {
  S3Store store(options());
  std::string large(kMaxObjectBytes, '\0');
  std::mt19937_64 random(1);
  std::ranges::generate(large, [&random] { return static_cast<char>(random() & 0xff); });
  const Status put = store.put("large", as_bytes(large));
  ASSERT_TRUE(put) << put.error().text();
  const auto got = store.get("large", kMaxObjectBytes);
  ASSERT_TRUE(got) << got.error().text();
  EXPECT_TRUE(*got == large) << "64 MiB are too many to print";
}

// A page has 1,000 objects. The last one of the first page, whose key the next request has, is another program's: with characters that must
// be escaped in a URL and in XML.
TEST_F(CephTest, ListsOfSeveralPagesAreWhole) {
  S3Options below_fleet = options();
  below_fleet.prefix = "fleet";
  S3Store store(below_fleet);
  std::vector<std::string> expected;
  for (int i = 0; i < 1001; ++i) {
    const std::string key = fmt::format("k{:04}", i);
    ASSERT_TRUE(store.put(key, as_bytes("x")));
    expected.push_back(key + " 1");
  }
  ASSERT_TRUE(store.put("other", as_bytes("x")));
  const std::string odd = "k0998 +&%<é>";
  const http::Response put = answer_to("PUT", "/" + bucket_ + "/fleet/" + http::url_encode(odd), "x",
                                       {{"x-amz-content-sha256", http::sha256(as_bytes("x"))}});
  ASSERT_TRUE(put.ok()) << put.body;
  expected.push_back(odd + " 1");
  std::ranges::sort(expected);
  EXPECT_EQ(keys_of(store, "k"), expected);
}

TEST_F(CephTest, OtherCredentialsAreDenied) {
  S3Options other_secret = options();
  other_secret.secret_access_key += "x";
  S3Options other_id = options();
  other_id.access_key_id += "X";
  using Refused = std::pair<S3Options, const char*>;
  for (const auto& [wrong, code] :
       {Refused(other_secret, "403 SignatureDoesNotMatch"), Refused(other_id, "403 InvalidAccessKeyId")}) {
    S3Store store(wrong);
    for (const Status& refused : {store.put("a", as_bytes("content")), store.remove("a")}) {
      ASSERT_FALSE(refused) << code;
      EXPECT_EQ(refused.error().code, ErrorCode::kDenied);
      EXPECT_THAT(refused.error().text(), HasSubstr(code));
      EXPECT_THAT(refused.error().text(), HasSubstr("check the credentials"));
    }
    const auto got = store.get("a", 100);
    ASSERT_FALSE(got) << code;
    EXPECT_EQ(got.error().code, ErrorCode::kDenied) << "and not kNotFound";
    const auto listed = store.list("");
    ASSERT_FALSE(listed) << code;
    EXPECT_EQ(listed.error().code, ErrorCode::kDenied);
  }
}

// Not kNotFound, of which a restore would say that there is nothing to restore.
TEST_F(CephTest, AMissingBucketIsAnError) {
  S3Options elsewhere = options();
  elsewhere.bucket = "no-such-bucket";
  S3Store store(elsewhere);
  const auto got = store.get("a", 100);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(got.error().text(), HasSubstr("404 NoSuchBucket"));
  EXPECT_THAT(got.error().text(), HasSubstr("create the bucket"));
  EXPECT_EQ(store.put("a", as_bytes("content")).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(store.list("").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(store.remove("a").error().code, ErrorCode::kInvalid);
}

TEST_F(CephTest, AClockThatIsWrongIsSaid) {
  const http::Response refused =
      answer_to("GET", "/" + bucket_ + "/a", "",
                {{"x-amz-content-sha256", http::sha256(as_bytes(""))}, {"X-Amz-Date", "20200101T000000Z"}});
  const Error error = s3_error(refused);
  EXPECT_EQ(error.code, ErrorCode::kDenied) << refused.body;
  EXPECT_THAT(error.message, HasSubstr("RequestTimeTooSkewed"));
  EXPECT_EQ(error.hint, "set the clock of this machine");
}

TEST_F(CephTest, ABodyThatWasDamagedOnItsWayIsNotKept) {
  const http::Response refused = answer_to("PUT", "/" + bucket_ + "/a", "c0ntent",
                                           {{"x-amz-content-sha256", http::sha256(as_bytes("content"))}});
  EXPECT_EQ(s3_error(refused).code, ErrorCode::kUnavailable) << refused.status << refused.body;
  EXPECT_EQ(S3Store(options()).get("a", 100).error().code, ErrorCode::kNotFound);
}

TEST_F(CephTest, AServerThatWasKilledHasWhatItTook) {
  S3Store store(options());
  ASSERT_TRUE(store.put("a", as_bytes("content")));
  server_->kill_gateway();
  EXPECT_EQ(store.put("b", as_bytes("content")).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(store.get("a", 100).error().code, ErrorCode::kUnavailable) << "and not kNotFound";
  server_->start_gateway();
  ASSERT_TRUE(store.put("c", as_bytes("more")));
  EXPECT_EQ(store.get("a", 100).value_or("none"), "content");
  EXPECT_THAT(keys_of(store, ""), ElementsAre("a 7", "c 4"));
}

}  // namespace
}  // namespace plimsoll::objects
