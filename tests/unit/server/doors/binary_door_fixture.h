// A repository behind the routes of binaries, as a client sees it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hex.h"
#include "http/client.h"
#include "http/listener.h"
#include "server/doors/binary_door.h"
#include "symbolizer/repository/repository_files.h"
#include "tests/temporary_directory.h"
#include "tests/unit/symbolizer/repository/sample_binary.h"

namespace plimsoll::server::binary_door_test {

inline const std::string kBuildId = symbolizer::SampleBinary().build_id;
inline const std::string kHex = to_hex(kBuildId);

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

}  // namespace plimsoll::server::binary_door_test
