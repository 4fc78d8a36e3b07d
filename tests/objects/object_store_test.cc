// Objects on an S3 server that checks signatures, and in a folder.
#include "objects/object_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/durable_file.h"
#include "objects/s3_answers.h"
#include "objects/s3_store.h"
#include "tests/objects/object_checks.h"
#include "tests/objects/s3_server.h"
#include "tests/temporary_directory.h"

namespace plimsoll::objects {
namespace {

using plimsoll::testing::expect_keeps_objects;
using plimsoll::testing::keys_of;
using plimsoll::testing::S3Fault;
using plimsoll::testing::S3Server;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ObjectStoreTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(S3Server::write_credentials(credentials_)); }

  StoreAddress address(const std::string& text) const {
    return {.address = text,
            .endpoint = server_.endpoint(),
            .region = S3Server::kRegion,
            .credentials_file = credentials_};
  }
  S3Options options() const {
    return {.endpoint = server_.endpoint(),
            .bucket = S3Server::kBucket,
            .region = S3Server::kRegion,
            .access_key_id = S3Server::kKeyId,
            .secret_access_key = S3Server::kSecret,
            .first_pause_ns = 2};
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string credentials_ = folder_ / "credentials";
  S3Server server_;
};

TEST_F(ObjectStoreTest, AFolderKeepsObjects) {
  std::filesystem::create_directory(folder_ / "objects");
  auto store = open_object_store({.address = "file://" + (folder_ / "objects")});
  ASSERT_TRUE(store) << store.error().text();
  expect_keeps_objects(**store);
}

// As where its file system is not mounted.
TEST_F(ObjectStoreTest, AFolderThatIsNotThereIsUnavailable) {
  auto store = open_object_store({.address = "file://" + (folder_ / "objects")});
  ASSERT_TRUE(store) << store.error().text();
  const Status put = (*store)->put("a", as_bytes("content"));
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(put.error().text(), HasSubstr("mount its file system"));
  EXPECT_EQ((*store)->get("a", 100).error().code, ErrorCode::kUnavailable) << "and not kNotFound";
  EXPECT_EQ((*store)->list("").error().code, ErrorCode::kUnavailable);
  EXPECT_EQ((*store)->remove("a").error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "objects"));
}

TEST_F(ObjectStoreTest, FoldersOfObjectsAreForTheirUserAlone) {
  std::filesystem::create_directory(folder_ / "objects");
  auto store = open_object_store({.address = "file://" + (folder_ / "objects")});
  ASSERT_TRUE(store) << store.error().text();
  ASSERT_TRUE((*store)->put("files/blocks/a", as_bytes("content")));
  for (const char* const path : {"objects/files", "objects/files/blocks"}) {
    EXPECT_EQ(std::filesystem::status(folder_ / path).permissions(), std::filesystem::perms::owner_all)
        << path;
  }
}

TEST_F(ObjectStoreTest, ObjectsOverTheLimitAreRefused) {
  std::filesystem::create_directory(folder_ / "objects");
  auto folder = open_object_store({.address = "file://" + (folder_ / "objects")});
  auto s3 = open_object_store(address("s3://profiles"));
  ASSERT_TRUE(folder && s3);
  const std::string too_large(kMaxObjectBytes + 1, 'x');
  for (ObjectStore* const store : {folder->get(), s3->get()}) {
    EXPECT_EQ(store->put("a", as_bytes(too_large)).error().code, ErrorCode::kTooLarge);
  }
}

TEST_F(ObjectStoreTest, AnS3ServerTakesEachRequestAsSigned) {
  auto store = open_object_store(address("s3://profiles/fleet/a"));
  ASSERT_TRUE(store) << store.error().text();
  expect_keeps_objects(**store);
  EXPECT_TRUE(server_.objects().contains("fleet/a/other/large"));
}

TEST_F(ObjectStoreTest, WithoutAPrefixTheBucketIsTheStore) {
  auto store = open_object_store(address("s3://profiles/"));
  ASSERT_TRUE(store) << store.error().text();
  expect_keeps_objects(**store);
  EXPECT_TRUE(server_.objects().contains("other/large"));
}

TEST_F(ObjectStoreTest, ListsOfSeveralPagesAreWhole) {
  S3Store store(options());
  server_.set_page_objects(3);
  server_.change([](auto& objects) {
    for (int i = 0; i < 10; ++i) {
      objects[fmt::format("k{}", i)] = "x";
    }
  });
  EXPECT_EQ(keys_of(store, "k").size(), 10);
}

TEST_F(ObjectStoreTest, AListThatDoesNotEndIsAnError) {
  server_.set_page_objects(1);
  server_.change([](auto& objects) {
    for (int i = 0; i < 10; ++i) {
      objects[fmt::format("k{}", i)] = "x";
    }
  });
  for (const auto& [pages, listed] : {std::pair<int, size_t>(4, 100), std::pair<int, size_t>(100, 4)}) {
    S3Options limited = options();
    limited.max_list_pages = pages;
    limited.max_listed_objects = listed;
    S3Store store(limited);
    server_.fail_by({});
    const auto keys = store.list("k");
    ASSERT_FALSE(keys);
    EXPECT_EQ(keys.error().code, ErrorCode::kCorrupt);
    EXPECT_THAT(keys.error().text(), HasSubstr("no end after 4 objects in 4 pages"));
    EXPECT_EQ(server_.requests(), 4);
  }
}

TEST_F(ObjectStoreTest, WhatMayHelpIsTriedAgain) {
  S3Store store(options());
  for (const S3Fault fault : {S3Fault::kRefused, S3Fault::kLostAnswer}) {
    server_.fail_by([fault](uint64_t number) { return number % 3 == 2 ? S3Fault::kNone : fault; });
    ASSERT_TRUE(store.put("a", as_bytes("content")));
    EXPECT_EQ(store.get("a", 100).value_or("none"), "content");
    EXPECT_THAT(keys_of(store, ""), ElementsAre("a 7"));
    ASSERT_TRUE(store.remove("a"));
    EXPECT_EQ(server_.requests(), 12);
  }
}

TEST_F(ObjectStoreTest, AFailureThatStaysIsUnavailable) {
  S3Store store(options());
  server_.fail_by([](uint64_t) { return S3Fault::kRefused; });
  const Status put = store.put("a", as_bytes("content"));
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(put.error().text(), HasSubstr("putting the object a: the object store answers 503 SlowDown"));
  EXPECT_EQ(server_.requests(), 4);
}

TEST_F(ObjectStoreTest, AnotherSecretIsRefusedOnce) {
  S3Options other = options();
  other.secret_access_key += "x";
  S3Store store(other);
  const auto got = store.get("a", 100);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kDenied);
  EXPECT_THAT(got.error().text(), HasSubstr("check the credentials"));
}

TEST_F(ObjectStoreTest, AnotherRegionIsRefused) {
  S3Options elsewhere = options();
  elsewhere.region = "us-east-1";
  S3Store store(elsewhere);
  const Status put = store.put("a", as_bytes("content"));
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, ErrorCode::kDenied);
  EXPECT_THAT(put.error().text(), HasSubstr("and the region"));
  EXPECT_TRUE(server_.objects().empty());
}

TEST_F(ObjectStoreTest, AddressesThatCannotBeRightAreRefused) {
  const auto code_of = [](const StoreAddress& wrong) {
    const auto opened = open_object_store(wrong);
    return opened ? ErrorCode::kIo : opened.error().code;
  };
  for (const char* const text : {"", "s3://", "s3://a b", "s3://a/../b", "file://", "file://a", "file:///",
                                 "https://s3.example.com/a"}) {
    EXPECT_EQ(code_of(address(text)), ErrorCode::kInvalid) << text;
  }
  StoreAddress wrong = address("s3://profiles");
  wrong.endpoint = "s3.example.com";
  EXPECT_EQ(code_of(wrong), ErrorCode::kInvalid);
  for (const char* const endpoint : {"https://user:secret@s3.example.com", "https://s3.example.com?a",
                                     "https://s3.example.com#a", "https://s3.example.com a"}) {
    wrong.endpoint = endpoint;
    const auto opened = open_object_store(wrong);
    ASSERT_FALSE(opened) << endpoint;
    EXPECT_EQ(opened.error().code, ErrorCode::kInvalid) << endpoint;
    EXPECT_THAT(opened.error().text(), ::testing::Not(HasSubstr("secret"))) << endpoint;
  }
  wrong.endpoint = "http://s3.example.com";
  wrong.ca = folder_ / "ca.pem";
  EXPECT_EQ(code_of(wrong), ErrorCode::kInvalid) << "nothing would be signed by that authority";
  wrong = address("s3://profiles");
  wrong.region = "a/b";
  EXPECT_EQ(code_of(wrong), ErrorCode::kInvalid);
  wrong = address("s3://profiles");
  for (const char* const text : {"", "ID\n", "ID with spaces\nsecret\n", "A:B\nsecret\n"}) {
    ASSERT_TRUE(write_file_durably(credentials_, as_bytes(text)));
    EXPECT_EQ(code_of(wrong), ErrorCode::kInvalid) << text;
  }
  wrong.credentials_file = folder_ / "none";
  EXPECT_EQ(code_of(wrong), ErrorCode::kNotFound);
  wrong.credentials_file.clear();
  EXPECT_EQ(code_of(wrong), ErrorCode::kInvalid);
}

TEST(S3AnswersTest, WhatIsNoListIsCorrupt) {
  for (const char* const text :
       {"", "<html></html>", "<ListBucketResult><Contents><Key>a</Key>", "<ListBucketResult></Other>",
        "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>x</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size></Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>99999999999999999999</Size></Contents></"
        "ListBucketResult>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"}) {
    const auto page = parse_list(text);
    ASSERT_FALSE(page) << text;
    EXPECT_EQ(page.error().code, ErrorCode::kCorrupt) << text;
  }
}

// A proxy's "404 Not Found" must not make a full store an empty one.
TEST(S3AnswersTest, OnlyAMissingKeyIsNotFound) {
  const auto error_of = [](unsigned status, const std::string& body) {
    return s3_error({.status = status, .content_type = "text/html", .body = body});
  };
  EXPECT_EQ(error_of(404, "<Error><Code>NoSuchKey</Code></Error>").code, ErrorCode::kNotFound);
  EXPECT_EQ(error_of(404, "<Error><Code>NoSuchBucket</Code></Error>").code, ErrorCode::kInvalid);
  const Error of_proxy = error_of(404, "<html>404 Not Found</html>");
  EXPECT_EQ(of_proxy.code, ErrorCode::kInvalid);
  EXPECT_THAT(of_proxy.hint, HasSubstr("check the endpoint"));
  const Error elsewhere = error_of(301, "<Error><Code>PermanentRedirect</Code></Error>");
  EXPECT_EQ(elsewhere.code, ErrorCode::kInvalid);
  EXPECT_THAT(elsewhere.hint, HasSubstr("the bucket is elsewhere"));
  const std::string wrong_region = "<Error><Code>AuthorizationHeaderMalformed</Code></Error>";
  EXPECT_THAT(error_of(400, wrong_region).hint, HasSubstr("the region"));
  EXPECT_EQ(error_of(503, "").code, ErrorCode::kUnavailable);
}

// The same request may arrive as it was sent the next time.
TEST(S3AnswersTest, ABodyThatWasDamagedOnItsWayIsSentAgain) {
  for (const char* const code :
       {"BadDigest", "IncompleteBody", "RequestTimeout", "XAmzContentSHA256Mismatch"}) {
    const std::string body = fmt::format("<Error><Code>{}</Code><Message></Message></Error>", code);
    const Error error = s3_error({.status = 400, .content_type = "application/xml", .body = body});
    EXPECT_EQ(error.code, ErrorCode::kUnavailable) << code;
    EXPECT_EQ(error.message, fmt::format("the object store answers 400 {}", code));
  }
}

TEST(S3AnswersTest, EntitiesAreTheirCharacters) {
  const auto page = parse_list(
      "<ListBucketResult><Contents><Key>a&amp;lt;&lt;b</Key><Size>5</Size></Contents></ListBucketResult>");
  ASSERT_TRUE(page) << page.error().text();
  ASSERT_EQ(page->objects.size(), 1);
  EXPECT_EQ(page->objects[0].key, "a&lt;<b");
  EXPECT_EQ(page->objects[0].bytes, 5);
}

}  // namespace
}  // namespace plimsoll::objects
