// Binaries over HTTP: uploads that go to disk while they arrive, and what a debuginfod is asked for.
#include "server/doors/binary_door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/hex.h"
#include "formats/gzip.h"
#include "http/client.h"
#include "http/listener.h"
#include "query/table/table.h"
#include "symbolizer/repository/repository_files.h"
#include "tests/temporary_directory.h"
#include "tests/unit/symbolizer/repository/sample_binary.h"

namespace plimsoll::server::binary_door_test {
namespace {

using store::SymbolQuality;
using symbolizer::BinaryKind;
using symbolizer::image_of;
using symbolizer::SampleBinary;
using ::testing::HasSubstr;

const std::string kBuildId = SampleBinary().build_id;
const std::string kHex = to_hex(kBuildId);

class BinaryDoorTest : public ::testing::Test {
 protected:
  BinaryDoorTest() {
    BinaryDoorOptions options{.max_file_bytes = kMaxBytes};
    options.check_room = [this](uint64_t bytes) {
      declared_bytes_ = room_checks_ == 0 ? bytes : declared_bytes_;
      ++room_checks_;
      return room_checks_ <= max_room_checks_ ? room_ : fail(ErrorCode::kUnavailable, "the disk fills");
    };
    options.added = [this] { ++added_; };
    auto listener = http::Listener::start({}, binary_routes(*repository_, options));
    EXPECT_TRUE(listener) << listener.error().text();
    listener_ = *std::move(listener);
    routes_ = binary_routes(*repository_, options);
  }

  http::Response put(std::string_view body, const std::string& path = "/api/v1/binaries/",
                     const http::Fields& headers = {}) {
    http::Client client({.base_url = listener_->address()});
    const auto answer = client.send("PUT", path, body, "application/octet-stream", headers);
    EXPECT_TRUE(answer) << answer.error().text();
    return answer.value_or(http::Response());
  }

  http::Response get(const std::string& path, const http::Fields& headers = {}) {
    http::Client client({.base_url = listener_->address()});
    const auto answer = client.send("GET", path, {}, {}, headers);
    EXPECT_TRUE(answer) << answer.error().text();
    return answer.value_or(http::Response());
  }

  size_t arriving() const {
    const std::filesystem::directory_iterator files(symbolizer::incoming_path(folder_.path()));
    return static_cast<size_t>(std::distance(begin(files), end(files)));
  }

  static constexpr uint64_t kMaxBytes = 1 << 20;

  plimsoll::testing::TemporaryDirectory folder_;
  std::unique_ptr<symbolizer::BinaryRepository> repository_ =
      *symbolizer::BinaryRepository::open(folder_.path(), {.max_file_bytes = kMaxBytes});
  Status room_;
  int room_checks_ = 0;
  uint64_t declared_bytes_ = 0;  // that the first check was asked for
  int max_room_checks_ = 1'000'000;
  int added_ = 0;
  std::unique_ptr<http::Listener> listener_;
  std::vector<http::Route> routes_;
};

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

TEST_F(BinaryDoorTest, HasARightOfItsOwn) {
  for (const http::Route& route : routes_) {
    EXPECT_EQ(route.right, route.method == "PUT" ? http::Right::kAddBinary : http::Right::kRead);
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
