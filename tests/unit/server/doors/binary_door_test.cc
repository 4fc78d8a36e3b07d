// Binaries over HTTP: uploads that go to disk while they arrive, and what a debuginfod is asked for.
#include "server/doors/binary_door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/time.h"
#include "formats/gzip.h"
#include "query/table/table.h"
#include "server/doors/unfinished_uploads.h"
#include "symbolizer/repository/repository_files.h"
#include "tests/unit/elf/part_of.h"
#include "tests/unit/server/doors/binary_door_fixture.h"
#include "tests/unit/symbolizer/repository/sample_binary.h"
#include "tests/unit/symbolizer/repository/sample_sources.h"

namespace plimsoll::server::binary_door_test {
namespace {

using store::SymbolQuality;
using symbolizer::BinaryKind;
using symbolizer::image_of;
using ::testing::HasSubstr;

TEST_F(BinaryDoorTest, AddsWhatIsPut) {
  const http::Response added = put(image_of({}), "/api/v1/binaries/app?revision=4f2c");
  EXPECT_EQ(added.status, 201) << added.body;
  const auto table = query::from_json(added.body);
  ASSERT_TRUE(table) << added.body;
  EXPECT_EQ(table->rows.at(0).at(0), query::Value(kHex));
  EXPECT_EQ(table->rows.at(0).at(4), query::Value("added"));
  EXPECT_EQ(added_, 1);
  EXPECT_EQ(put(image_of({})).status, 200) << "known";
  EXPECT_EQ(put(image_of({.quality = SymbolQuality::kNone})).status, 200) << "worse";
  EXPECT_EQ(put(image_of({.filler = "other bytes"})).status, 409);
  EXPECT_EQ(added_, 1) << "nothing else is new";
  const auto record = repository_->find(kBuildId);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->files.at(0).source, "unauthenticated: app");
  EXPECT_EQ(record->labels.at(0).second, "4f2c");
  EXPECT_EQ(arriving(), 0);
}

TEST_F(BinaryDoorTest, TakesGzip) {
  const std::string image = image_of({.filler = std::string(100'000, 'x')});
  const std::string packed = formats::gzip(as_bytes(image)).value_or("");
  EXPECT_EQ(put(packed, "/api/v1/binaries/", {{"Content-Encoding", "gzip"}}).status, 201);
  EXPECT_EQ(get("/buildid/" + kHex + "/executable").body, image);
  EXPECT_EQ(put(packed, "/api/v1/binaries/", {{"Content-Encoding", "br"}}).status, 415);
}

TEST_F(BinaryDoorTest, RefusesWhatIsTooLargeBeforeAndAfterDecompression) {
  EXPECT_EQ(put(std::string(kMaxBytes + 1, 'x')).status, 413);
  const std::string bomb = formats::gzip(as_bytes(std::string(64 << 20, '\0'))).value_or("");
  ASSERT_LT(bomb.size(), kMaxBytes);
  EXPECT_EQ(put(bomb, "/api/v1/binaries/", {{"Content-Encoding", "gzip"}}).status, 413);
  EXPECT_EQ(arriving(), 0);
  EXPECT_EQ(repository_->bytes(), 0);
}

TEST_F(BinaryDoorTest, RefusesWhatIsNoBinaryOrNotTheOneThatItIsCalled) {
  EXPECT_EQ(put("").status, 400);
  EXPECT_EQ(put("not an ELF file").status, 400);
  EXPECT_EQ(put(image_of({}), "/api/v1/binaries/?build_id=00112233").status, 409);
  EXPECT_EQ(put(image_of({}), "/api/v1/binaries/?build_id=../../etc").status, 400);
  EXPECT_EQ(put(image_of({}), "/api/v1/binaries/?colour=red").status, 400);
  EXPECT_EQ(put(image_of({}), "/api/v1/binaries/?revision=" + std::string(300, 'x')).status, 413);
  room_ = fail(ErrorCode::kUnavailable, "the disk is nearly full");
  EXPECT_EQ(put(image_of({})).status, 503);
  EXPECT_EQ(arriving(), 0);
  EXPECT_EQ(added_, 0);
}

TEST_F(BinaryDoorTest, AsksForRoomAgainWhileItReceivesAndDecompresses) {
  const std::string image = image_of({.filler = std::string(kMaxBytes - (100 << 10), 'x')});
  max_room_checks_ = 1;
  const std::string packed = formats::gzip(as_bytes(image)).value_or("");
  EXPECT_EQ(put(packed).status, 503) << "the first time for the body, then for what it is decompressed to";
  EXPECT_EQ(room_checks_, 2);
  EXPECT_EQ(declared_bytes_, packed.size());
  EXPECT_EQ(arriving(), 0);

  constexpr uint64_t kManyBytes = uint64_t{4} << 20;
  const auto large_files =
      *symbolizer::BinaryRepository::open(folder_.path(), {.max_file_bytes = kManyBytes});
  int checks = 0;
  const auto routes =
      binary_routes(*large_files, {.max_file_bytes = kManyBytes, .check_room = [&checks](uint64_t) {
                                     ++checks;
                                     return Status();
                                   }});
  auto sink = *routes.at(0).begin_body({.method = "PUT", .path = "/api/v1/binaries/"});
  const std::string piece(64 << 10, 'x');
  for (uint64_t bytes = 0; bytes < kManyBytes; bytes += piece.size()) {
    ASSERT_TRUE(sink->take(as_bytes(piece)));
  }
  EXPECT_EQ(checks, 4) << "before it, and behind each MiB that was followed by more";
}

TEST_F(BinaryDoorTest, AnUploadThatIsCutAnywhereLeavesNothing) {
  const auto route = std::ranges::find(routes_, "PUT", &http::Route::method);
  ASSERT_NE(route, routes_.end());
  const std::string image = image_of({.filler = std::string(20'000, 'x')});
  std::mt19937_64 random(17);
  for (int i = 0; i < 1000; ++i) {
    http::Request request{.method = "PUT", .path = "/api/v1/binaries/"};
    auto sink = route->begin_body(request);
    ASSERT_TRUE(sink) << sink.error().text();
    request.sink = *std::move(sink);
    std::string_view rest = std::string_view(image).substr(0, random() % image.size());
    while (!rest.empty()) {
      const size_t size = 1 + random() % rest.size();
      ASSERT_TRUE(request.sink->take(as_bytes(rest.substr(0, size))));
      rest.remove_prefix(size);
    }
    // Half of them are taken for whole, as those of a client that declared too little.
    if (random() % 2 == 0) {
      EXPECT_GE(route->handle(request).status, 400);
    }
  }
  EXPECT_EQ(arriving(), 0);
  EXPECT_EQ(repository_->bytes(), 0);
}

// Or from its start, where the server has lost what it had.
TEST_F(BinaryDoorTest, AnUploadThatIsCutAnywhereGoesOnWhereItEnded) {
  constexpr int kCuts = 1000;
  int64_t now_ns = 0;
  BinaryDoorOptions options{.max_file_bytes = kMaxBytes};
  options.monotonic_ns = [&now_ns] { return now_ns; };
  const auto routes = binary_routes(*repository_, options);
  const http::Route& put_route = routes.at(0);
  const http::Route& offset_route = routes.at(2);
  std::mt19937_64 random(23);
  int cuts = 0;
  for (int build = 0; cuts < kCuts; ++build) {
    const std::string build_id = fmt::format("cut build {}", build);
    const std::string image =
        image_of({.build_id = build_id,
                  .filler = to_hex(std::to_string(random())) + std::string(random() % 20'000, 'x')});
    const std::string body = build % 2 == 0 ? image : formats::gzip(as_bytes(image)).value_or("");
    http::Request request{.method = "PUT", .path = "/api/v1/binaries/"};
    request.query = {{"digest", to_hex(content_hash(as_bytes(image)))}};
    const uint64_t cuts_before_end = cuts + 1 + random() % 8;
    for (uint64_t sent = 0; sent < body.size();) {
      if (random() % 16 == 0) {
        now_ns += 26 * kNsPerHour;
        sent = 0;
      }
      ASSERT_EQ(offset_route.handle(request).body, fmt::format("{}\n", sent));
      http::Request upload = request;
      upload.query.emplace_back("offset", std::to_string(sent));
      auto sink = put_route.begin_body(upload);
      ASSERT_TRUE(sink) << sink.error().text();
      upload.sink = *std::move(sink);
      std::string_view rest = std::string_view(body).substr(sent);
      if (static_cast<uint64_t>(cuts) < cuts_before_end) {
        ++cuts;
        rest = rest.substr(0, random() % rest.size());
      }
      sent += rest.size();
      while (!rest.empty()) {
        const size_t size = 1 + random() % rest.size();
        ASSERT_TRUE(upload.sink->take(as_bytes(rest.substr(0, size))));
        rest.remove_prefix(size);
      }
      EXPECT_FALSE(repository_->find(build_id)) << "it is not whole";
      EXPECT_FALSE(
          std::filesystem::exists(symbolizer::kept_path(folder_.path(), build_id, BinaryKind::kExecutable)));
      if (sent == body.size()) {
        const http::Response taken = put_route.handle(upload);
        EXPECT_EQ(taken.status, 201) << taken.body;
      }
    }
    EXPECT_EQ(read_file(symbolizer::kept_path(folder_.path(), build_id, BinaryKind::kExecutable), kMaxBytes)
                  .value_or(""),
              image);
  }
  EXPECT_EQ(arriving(), 0);
}

TEST_F(BinaryDoorTest, WhatFollowsOnAnUploadIsChecked) {
  const std::string image = image_of({.filler = std::string(1000, 'x')});
  const std::string digest = to_hex(content_hash(as_bytes(image)));
  const std::string path = "/api/v1/binaries/?digest=" + digest;
  const auto route = std::ranges::find(routes_, "PUT", &http::Route::method);
  http::Request request{.method = "PUT", .path = "/api/v1/binaries/"};
  request.query = {{"digest", digest}};
  const auto cut_after = [&](size_t bytes) {
    auto sink = route->begin_body(request);
    ASSERT_TRUE(sink && (*sink)->take(as_bytes(image.substr(0, bytes))));
  };
  EXPECT_EQ(put(image, path + "&offset=5").status, 409) << "nothing is here";
  EXPECT_EQ(put(image, "/api/v1/binaries/?offset=5").status, 400) << "of which upload?";
  EXPECT_EQ(put(image, "/api/v1/binaries/?digest=abc").status, 400);
  EXPECT_EQ(put(image, path + "&offset=-1").status, 400);
  EXPECT_EQ(put(image + "more", path).status, 400) << "not what was stated";
  cut_after(100);
  const auto wrong = [&](const std::string& offset) {
    http::Request following = request;
    following.query.emplace_back("offset", offset);
    const auto sink = route->begin_body(following);
    return sink ? ErrorCode::kIo : sink.error().code;
  };
  EXPECT_EQ(wrong("99"), ErrorCode::kConflict);
  EXPECT_EQ(wrong("101"), ErrorCode::kConflict);
  EXPECT_EQ(arriving(), 1) << "what is here stays";
  EXPECT_FALSE(repository_->find(kBuildId));
  cut_after(50);  // from its start again
  EXPECT_EQ(wrong("100"), ErrorCode::kConflict);
  EXPECT_EQ(arriving(), 1);
  EXPECT_EQ(put(image, path).status, 201);
}

TEST_F(BinaryDoorTest, UnfinishedUploadsAreBounded) {
  int64_t now_ns = 0;
  UnfinishedUploads unfinished([&now_ns] { return now_ns; },
                               {.max_uploads = 5, .max_per_sender = 2, .max_bytes = 1000, .max_age_ns = 100});
  const auto keep = [&](const std::string& sender, const std::string& upload, size_t bytes) {
    auto staged = repository_->stage();
    ASSERT_TRUE(staged && staged->write(as_bytes(std::string(bytes, 'x'))));
    unfinished.keep(sender, upload, *std::move(staged));
  };
  keep("a", "1", 100);
  keep("a", "2", 100);
  keep("a", "3", 100);
  EXPECT_EQ(unfinished.bytes("a", "1"), 0) << "two of a sender";
  EXPECT_EQ(unfinished.bytes("a", "3"), 100);
  EXPECT_EQ(unfinished.bytes("b", "3"), 0) << "another's";
  keep("b", "1", 0);
  keep("b", "2", 1001);
  EXPECT_EQ(arriving(), 2) << "nothing, and too much, are not kept";
  keep("b", "3", 850);
  EXPECT_EQ(unfinished.bytes("a", "2"), 0) << "the oldest makes room";
  EXPECT_EQ(unfinished.bytes("a", "3"), 100);
  EXPECT_EQ(arriving(), 2);
  for (const char* sender : {"c", "d", "e", "f"}) {
    keep(sender, "1", 10);
  }
  EXPECT_EQ(arriving(), 5);
  EXPECT_EQ(unfinished.bytes("a", "3"), 0);
  now_ns = 60;
  keep("f", "1", 20);
  EXPECT_EQ(unfinished.bytes("f", "1"), 20) << "in the place of the one before";
  now_ns = 101;
  EXPECT_EQ(unfinished.bytes("e", "1"), 0) << "too old";
  EXPECT_EQ(arriving(), 1);
  const auto taken = unfinished.take("f", "1");
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(taken->bytes(), 20);
  EXPECT_EQ(unfinished.take("f", "1"), nullptr);
}

TEST_F(BinaryDoorTest, HasARightOfItsOwn) {
  for (const http::Route& route : routes_) {
    const bool is_upload = route.path == "/api/v1/binaries/";
    EXPECT_EQ(route.right, is_upload ? http::Right::kAddBinary : http::Right::kRead) << route.method;
  }
}

TEST_F(BinaryDoorTest, ServesFilesAsADebuginfodDoes) {
  const std::string executable = image_of({.quality = SymbolQuality::kDynsym});
  ASSERT_EQ(put(executable).status, 201);
  EXPECT_EQ(get("/buildid/" + kHex + "/debuginfo").status, 404) << "a stripped file has none";
  const std::string debug = image_of({.kind = BinaryKind::kDebug});
  ASSERT_EQ(put(debug).status, 201);
  const http::Response served = get("/buildid/" + kHex + "/debuginfo");
  EXPECT_EQ(served.status, 200);
  EXPECT_EQ(served.body, debug);
  EXPECT_EQ(served.header("X-DEBUGINFOD-SIZE"), std::to_string(debug.size()));
  EXPECT_EQ(served.header("X-DEBUGINFOD-FILE"), kHex + ".debug");
  EXPECT_EQ(get("/buildid/" + kHex + "/executable").body, executable);
  EXPECT_EQ(get("/buildid/" + kHex + "/section/.debug_line").body, "lines");
  EXPECT_EQ(get("/buildid/" + kHex + "/section/.dynstr").body, std::string("\0work\0", 6))
      << "of the executable";
  EXPECT_EQ(get("/buildid/" + kHex + "/section/.nothing").status, 404);
  EXPECT_EQ(get("/buildid/" + kHex + "/debuginfo", {{"X-DEBUGINFOD-MAXSIZE", "10"}}).status, 406);
}

TEST_F(BinaryDoorTest, ServesAWholeFileInPlaceOfItsPart) {
  const std::string executable = image_of({});
  const std::string part = *elf::part_of(executable, elf::BinaryPart::kSymbolsOnly);
  ASSERT_EQ(put(part).status, 201);
  EXPECT_EQ(get("/buildid/" + kHex + "/debuginfo").body, part);
  EXPECT_EQ(get("/buildid/" + kHex + "/executable").status, 404) << "its code is not here";
  EXPECT_EQ(get("/buildid/" + kHex + "/section/.text").status, 404);
  ASSERT_EQ(put(executable).status, 201);
  EXPECT_EQ(get("/buildid/" + kHex + "/debuginfo").body, executable);
}

TEST_F(BinaryDoorTest, ServesTheSourcesThatWereUploadedAndNothingElse) {
  const std::string path = "/buildid/" + kHex + "/source";
  EXPECT_EQ(get(path + "/build/a.c").status, 404);
  const std::string sources = symbolizer::source_archive_of(
      {{"build/a.c", "int a;\n"}, {"build/x+y z.h", "int b;\n"}, {"empty.h", ""}});
  EXPECT_EQ(put(sources).status, 400) << "of which build?";
  ASSERT_EQ(put(formats::gzip(as_bytes(sources)).value_or(""), "/api/v1/binaries/?build_id=" + kHex).status,
            201);
  EXPECT_EQ(added_, 0) << "no names come of them";
  const http::Response served = get(path + "/build/a.c");
  EXPECT_EQ(served.status, 200);
  EXPECT_EQ(served.body, "int a;\n");
  EXPECT_EQ(served.header("X-DEBUGINFOD-SIZE"), "7");
  EXPECT_EQ(served.header("X-DEBUGINFOD-FILE"), "build/a.c");
  EXPECT_EQ(get(path + "/build/lib/../a.c").body, "int a;\n");
  EXPECT_EQ(get(path + "/build%2Fx%2By%20z.h").body, "int b;\n") << "as debuginfod-find writes it";
  EXPECT_EQ(get(path + "/empty.h").status, 200);
  for (const char* hostile : {"/etc/passwd", "/../../../../etc/passwd", "/build/a.c/../../../etc/passwd",
                              "/build", "/build/", "", "/", "/%2e%2e/%2e%2e/etc/passwd"}) {
    EXPECT_EQ(get(path + hostile).status, 404) << hostile;
  }
  EXPECT_EQ(get("/buildid/" + kHex + "/executable").status, 404);
  EXPECT_EQ(
      put(symbolizer::source_archive_of({{"../a.c", "x"}}), "/api/v1/binaries/?build_id=" + kHex).status,
      400);
  EXPECT_EQ(arriving(), 0);
}

TEST_F(BinaryDoorTest, AnExecutableThatWasNotStrippedIsItsOwnDebugFile) {
  ASSERT_EQ(put(image_of({})).status, 201);
  EXPECT_EQ(get("/buildid/" + kHex + "/debuginfo").body, image_of({}));
}

TEST_F(BinaryDoorTest, AFileThatIsReplacedOrDroppedWhileItIsSentStaysWhole) {
  const auto route = std::ranges::find(routes_, "GET", &http::Route::method);
  ASSERT_NE(route, routes_.end());
  const auto begun = [&] {
    return route->handle({.method = "GET", .path = "/buildid/" + kHex + "/executable"});
  };
  const auto content_of = [](const http::Response& response) {
    return response.file ? read_at(*response.file->fd, "sent", response.file->offset, response.file->bytes)
                         : Result<std::string>(response.body);
  };
  const std::string poor = image_of({.quality = SymbolQuality::kSymtab});
  ASSERT_EQ(put(poor).status, 201);
  const http::Response before = begun();
  ASSERT_EQ(put(image_of({})).status, 201) << "replaced";
  const http::Response after = begun();
  ASSERT_TRUE(repository_->trim({}, std::numeric_limits<int64_t>::max()));
  EXPECT_EQ(begun().status, 404);
  EXPECT_EQ(content_of(before).value_or(""), poor);
  EXPECT_EQ(content_of(after).value_or(""), image_of({}));
}

TEST_F(BinaryDoorTest, ChecksBuildIdsStrictly) {
  ASSERT_EQ(put(image_of({})).status, 201);
  std::string upper = kHex;
  std::ranges::transform(upper, upper.begin(),
                         [](char c) { return c >= 'a' ? static_cast<char>(c - 32) : c; });
  const auto route = std::ranges::find(routes_, "GET", &http::Route::method);
  ASSERT_NE(route, routes_.end());
  for (const std::string& path :
       {std::string("/buildid/"), "/buildid/" + kHex, "/buildid/" + kHex + "/",
        "/buildid/" + kHex + "/source/a.c", "/buildid/" + kHex.substr(1) + "/debuginfo",
        "/buildid/" + kHex + "0/debuginfo", "/buildid/" + kHex + "/section/",
        "/buildid/" + kHex.substr(0, 6) + "/debuginfo", "/buildid/" + kHex + "00/debuginfo",
        std::string("/buildid/../../binaries/debuginfo"), std::string("/buildid/../executable"),
        "/buildid/" + std::string(200, 'a') + "/debuginfo", "/buildid/" + upper + "/executable"}) {
    const http::Response refused = route->handle({.method = "GET", .path = path});
    EXPECT_EQ(refused.status, 404) << path;
    EXPECT_EQ(refused.content_type, "text/plain; charset=utf-8") << path;
    EXPECT_THAT(refused.body, HasSubstr("\n")) << path;
    EXPECT_FALSE(refused.file) << path;
  }
}

}  // namespace
}  // namespace plimsoll::server::binary_door_test
