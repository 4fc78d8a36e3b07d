// What machines are asked for of their binaries, and what is taken from them.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/checksum.h"
#include "base/hex.h"
#include "base/time.h"
#include "formats/gzip.h"
#include "http/client.h"
#include "http/listener.h"
#include "server/doors/binary_door.h"
#include "server/doors/wanted_build_set.h"
#include "tests/unit/elf/part_of.h"
#include "tests/unit/server/doors/binary_door_fixture.h"
#include "tests/unit/symbolizer/repository/sample_binary.h"

namespace plimsoll::server::binary_door_test {
namespace {

using store::SymbolQuality;
using symbolizer::BinaryKind;
using symbolizer::image_of;

// As daemons do it.
class MachineBinariesTest : public BinaryDoorTest {
 protected:
  MachineBinariesTest() {
    wanted_.set({kBuildId, "another build ID"});
    start(elf::BinaryPart::kWholeFile);
  }

  void start(elf::BinaryPart content) {
    BinaryDoorOptions options{.max_file_bytes = kMaxBytes, .machine_content = content};
    options.added = [this] { ++added_; };
    options.monotonic_ns = [this] { return monotonic_ns_; };
    routes_ = machine_binary_routes(*repository_, wanted_, options);
    listener_ = *http::Listener::start({}, routes_);
  }

  http::Response ask(std::string_view lines, const std::string& content = "code") {
    http::Client client({.base_url = listener_->address()});
    return client
        .send("POST", "/fleet/v1/binaries/wanted?content=" + content, lines, "application/octet-stream")
        .value_or(http::Response{.status = 0});
  }

  bool put_into_repository(std::string_view image) {
    auto staged = repository_->stage();
    return staged && staged->write(as_bytes(image)) &&
           repository_->add(*std::move(staged), {.source = "alice", .now_ns = 1});
  }

  // What a machine is answered that offers the sample.
  std::string answer_to(const std::string& machine) {
    http::Request request{.method = "POST", .path = "/fleet/v1/binaries/wanted", .body = kHex};
    request.peer = "192.0.2.1:40312";
    request.caller = {.role = http::Role::kMachine, .name = machine};
    return routes_.at(0).handle(request).body;
  }

  WantedBuildSet wanted_;
  int64_t monotonic_ns_ = 0;
};

TEST_F(MachineBinariesTest, OnlyWhatSymbolsWouldHelpIsWanted) {
  EXPECT_EQ(ask(kHex + "\n" + to_hex(std::string("unknown")) + "\n").body, kHex + " code\n");
  EXPECT_EQ(ask(kHex).body, kHex + " code\n");
  EXPECT_EQ(ask("").body, "");
  EXPECT_EQ(ask("../../etc/passwd\n").status, 400);
  std::string many;
  for (int i = 0; i <= 1000; ++i) {
    many += "00112233\n";
  }
  EXPECT_EQ(ask(many).status, 400);
  EXPECT_EQ(ask(std::string(1 << 20, '0')).status, 413);
  const std::string path = "/fleet/v1/binaries/" + kHex;
  EXPECT_EQ(
      put(formats::gzip(as_bytes(image_of({}))).value_or(""), path, {{"Content-Encoding", "gzip"}}).status,
      201);
  EXPECT_EQ(added_, 1);
  EXPECT_EQ(repository_->find(kBuildId)->files.at(0).source, "unauthenticated");
  EXPECT_EQ(ask(kHex).body, "") << "it is there";
  EXPECT_EQ(put(image_of({}), path).status, 409) << "it is not wanted any more";
}

TEST_F(MachineBinariesTest, OneMachineOfAFleetIsAskedForABuild) {
  EXPECT_EQ(answer_to("web-1"), kHex + " code\n");
  EXPECT_EQ(answer_to("web-2"), "");
  EXPECT_EQ(answer_to("web-1"), kHex + " code\n") << "it may have been restarted";
  monotonic_ns_ += 600 * kNsPerSecond;
  EXPECT_EQ(answer_to("web-2"), kHex + " code\n") << "the first has not sent it";
  EXPECT_EQ(answer_to("web-1"), "");
}

TEST_F(MachineBinariesTest, ABuildArrivesOnceAtATime) {
  const http::Route& put = routes_.at(1);
  const auto upload_of = [](const std::string& build_id) {
    return http::Request{.method = "PUT", .path = "/fleet/v1/binaries/" + to_hex(build_id)};
  };
  auto first = put.begin_body(upload_of(kBuildId));
  ASSERT_TRUE(first) << first.error().text();
  const auto second = put.begin_body(upload_of(kBuildId));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  EXPECT_TRUE(put.begin_body(upload_of("another build ID")));
  first->reset();  // the connection is cut
  EXPECT_TRUE(put.begin_body(upload_of(kBuildId)));
  EXPECT_EQ(put.threads, http::Threads::kBackground) << "or it would delay profiles";
}

TEST_F(MachineBinariesTest, NoMoreThanBothPermitIsWanted) {
  start(elf::BinaryPart::kDebugSections);
  EXPECT_EQ(ask(kHex, "symbols").body, kHex + " symbols\n");
  EXPECT_EQ(ask(kHex, "debug").body, kHex + " debug\n");
  EXPECT_EQ(ask(kHex, "code").body, kHex + " debug\n") << "the server wants no code";
  EXPECT_EQ(ask(kHex, "everything").status, 400);
  const std::string path = "/fleet/v1/binaries/" + kHex;
  EXPECT_EQ(put(image_of({}), path).status, 409) << "all of it";
  EXPECT_EQ(put(image_of({}), path + "?content=code").status, 409);
  EXPECT_EQ(put(image_of({}), path + "?content=debug").status, 409) << "an executable is no part of it";
  EXPECT_EQ(put(image_of({.kind = BinaryKind::kDebug}), path + "?content=debug").status, 409)
      << "debug files are for people to add";
  EXPECT_FALSE(repository_->find(kBuildId));
  EXPECT_EQ(ask(kHex, "debug").body, kHex + " debug\n") << "other machines may do better";
}

TEST_F(MachineBinariesTest, PartsOfABinaryAreKeptAndAskedForOnce) {
  start(elf::BinaryPart::kDebugSections);
  const std::string path = "/fleet/v1/binaries/" + kHex + "?content=";
  const std::string stripped = image_of({.quality = SymbolQuality::kSymtab});
  const std::string symbols = *elf::part_of(stripped, elf::BinaryPart::kSymbolsOnly);
  EXPECT_EQ(put(formats::gzip(as_bytes(symbols)).value_or(""), path + "symbols").status, 201);
  EXPECT_EQ(added_, 1);
  EXPECT_TRUE(repository_->find(kBuildId)->files.at(0).is_part);
  EXPECT_EQ(ask(kHex, "symbols").body, "") << "they are there";
  EXPECT_EQ(ask(kHex, "debug").body, kHex + " debug\n") << "it may have more";
  const std::string debug = *elf::part_of(stripped, elf::BinaryPart::kDebugSections);
  EXPECT_EQ(put(debug, path + "debug").status, 200) << "known: there is no more in it";
  EXPECT_EQ(ask(kHex, "debug").body, "") << "nor in that of any other machine";
  EXPECT_EQ(put(debug, path + "debug").status, 409);
  EXPECT_EQ(repository_->find(kBuildId)->quality(), SymbolQuality::kSymtab);
  // After a restart one machine sends it again, and then none.
  start(elf::BinaryPart::kDebugSections);
  EXPECT_EQ(ask(kHex, "debug").body, kHex + " debug\n");
  const std::string full = *elf::part_of(image_of({}), elf::BinaryPart::kDebugSections);
  EXPECT_EQ(put(full, path + "debug").status, 201);
  start(elf::BinaryPart::kDebugSections);
  EXPECT_EQ(ask(kHex, "debug").body, "") << "it has all symbols";
}

// The symbols of the build are kept, so that a conflict might be with these.
TEST_F(MachineBinariesTest, AFileThatIsRefusedForItselfKeepsNoOtherMachineFromSendingABetterOne) {
  start(elf::BinaryPart::kDebugSections);
  const std::string path = "/fleet/v1/binaries/" + kHex + "?content=";
  const std::string stripped = image_of({.quality = SymbolQuality::kSymtab});
  ASSERT_EQ(put(*elf::part_of(stripped, elf::BinaryPart::kSymbolsOnly), path + "symbols").status, 201);
  const std::string of_another =
      *elf::part_of(image_of({.build_id = "another build ID"}), elf::BinaryPart::kDebugSections);
  EXPECT_EQ(put(of_another, path + "debug").status, 409);
  EXPECT_EQ(ask(kHex, "debug").body, kHex + " debug\n") << "the file was of another build";
  EXPECT_EQ(put(image_of({}), path + "debug").status, 409);
  EXPECT_EQ(ask(kHex, "debug").body, kHex + " debug\n") << "the file was an executable";
  std::string other_bytes = *elf::part_of(stripped, elf::BinaryPart::kDebugSections);
  other_bytes.replace(other_bytes.rfind(elf::kSampleHash), elf::kSampleHash.size(), "hash of another!");
  EXPECT_EQ(put(other_bytes, path + "debug").status, 409);
  EXPECT_EQ(ask(kHex, "debug").body, "") << "of this build there is as much already";
}

TEST_F(MachineBinariesTest, CodeIsWantedOfBuildsWithAllSymbolsToo) {
  wanted_.set({}, {kBuildId});
  ASSERT_TRUE(put_into_repository(image_of({.kind = BinaryKind::kDebug})));
  EXPECT_EQ(ask(kHex, "code").body, kHex + " code\n");
  EXPECT_EQ(ask(kHex, "debug").body, "") << "its symbols are there";
  EXPECT_EQ(put(image_of({}), "/fleet/v1/binaries/" + kHex + "?content=code").status, 201);
  EXPECT_EQ(ask(kHex, "code").body, "");
}

TEST_F(MachineBinariesTest, AnUploadGoesOnForItsMachineAlone) {
  start(elf::BinaryPart::kDebugSections);
  const std::string part = *elf::part_of(image_of({}), elf::BinaryPart::kDebugSections);
  const http::Route& put = routes_.at(1);
  const http::Route& where = routes_.at(2);
  http::Request request{.method = "PUT", .path = "/fleet/v1/binaries/" + kHex};
  request.caller = {.role = http::Role::kMachine, .name = "web-1"};
  request.query = {{"content", "debug"}, {"digest", to_hex(content_hash(as_bytes(part)))}};
  {
    const auto sink = put.begin_body(request);
    ASSERT_TRUE(sink && (*sink)->take(as_bytes(part.substr(0, 100))));
  }
  EXPECT_EQ(where.right, http::Right::kMachine);
  EXPECT_EQ(where.handle(request).body, "100\n");
  http::Request other = request;
  other.caller.name = "web-2";
  EXPECT_EQ(where.handle(other).body, "0\n");
  other = request;
  other.query.at(0).second = "symbols";
  EXPECT_EQ(where.handle(other).body, "0\n") << "another part";
  request.query.emplace_back("offset", "100");
  request.sink = *put.begin_body(request);
  ASSERT_TRUE(request.sink->take(as_bytes(part.substr(100))));
  EXPECT_EQ(put.handle(request).status, 201);
  EXPECT_EQ(repository_->find(kBuildId)->quality(), SymbolQuality::kFull);
  request.sink = nullptr;
  EXPECT_EQ(arriving(), 0);
}

// It cannot go on: what is left of it would take the place of one that can.
TEST_F(MachineBinariesTest, AnUploadThatIsNotWantedAnyMoreAtItsEndIsNotKept) {
  const std::string image = image_of({});
  const http::Route& put = routes_.at(1);
  const http::Route& where = routes_.at(2);
  http::Request request{.method = "PUT", .path = "/fleet/v1/binaries/" + kHex};
  request.caller = {.role = http::Role::kMachine, .name = "web-1"};
  request.query = {{"content", "code"}, {"digest", to_hex(content_hash(as_bytes(image)))}};
  request.sink = *put.begin_body(request);
  ASSERT_TRUE(request.sink->take(as_bytes(image)));
  ASSERT_TRUE(put_into_repository(image)) << "someone adds it meanwhile";
  EXPECT_EQ(arriving(), 1);
  EXPECT_EQ(put.handle(request).status, 409);
  request.sink = nullptr;
  EXPECT_EQ(where.handle(request).body, "0\n");
  EXPECT_EQ(arriving(), 0);
}

TEST_F(MachineBinariesTest, ABinaryIsTakenUnderItsOwnBuildIdAlone) {
  EXPECT_EQ(put(image_of({}), "/fleet/v1/binaries/" + to_hex(std::string("another build ID"))).status, 409);
  EXPECT_EQ(put(image_of({}), "/fleet/v1/binaries/00112233").status, 409) << "it is not wanted";
  EXPECT_EQ(put(image_of({.kind = BinaryKind::kDebug}), "/fleet/v1/binaries/" + kHex).status, 409)
      << "debug files are for people to add";
  EXPECT_FALSE(repository_->find(kBuildId));
  EXPECT_EQ(put(image_of({}), "/fleet/v1/binaries/..").status, 400);
  EXPECT_EQ(put("no ELF file", "/fleet/v1/binaries/" + kHex).status, 400);
  EXPECT_EQ(put("", "/fleet/v1/binaries/" + kHex).status, 400);
  EXPECT_EQ(put(std::string(kMaxBytes + 1, 'x'), "/fleet/v1/binaries/" + kHex).status, 413);
  EXPECT_EQ(added_, 0);
  EXPECT_EQ(arriving(), 0);
}

}  // namespace
}  // namespace plimsoll::server::binary_door_test
