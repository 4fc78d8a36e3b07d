// A daemon that sends binaries to a server over connections that are cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/hex.h"
#include "base/time.h"
#include "daemon/binaries/binary_uploader.h"
#include "http/client.h"
#include "http/listener.h"
#include "server/doors/binary_door.h"
#include "symbolizer/repository/repository_files.h"
#include "tests/temporary_directory.h"
#include "tests/unit/symbolizer/repository/sample_binary.h"

namespace plimsoll::server::binary_resume_test {
namespace {

using symbolizer::BinaryKind;

// Gives so many bytes of a body to another sink, and then fails, as where the connection is lost.
class CutSink : public http::BodySink {
 public:
  CutSink(std::shared_ptr<http::BodySink> to, uint64_t bytes, std::atomic<int>& cuts)
      : to_(std::move(to)), bytes_left_(bytes), cuts_(cuts) {}

  Status take(Bytes piece) override {
    const Bytes taken = piece.first(std::min<uint64_t>(piece.size(), bytes_left_));
    bytes_left_ -= taken.size();
    Status done = to_->take(taken);
    if (done && taken.size() < piece.size()) {
      ++cuts_;
      to_ = nullptr;
      done = fail(ErrorCode::kUnavailable, "the connection is cut");
    }
    return done;
  }

  const std::shared_ptr<http::BodySink>& to() const { return to_; }

 private:
  std::shared_ptr<http::BodySink> to_;
  uint64_t bytes_left_;
  std::atomic<int>& cuts_;
};

class BinaryResume : public ::testing::Test {
 protected:
  BinaryResume() {
    std::filesystem::create_directories(folder_ / "bin");
    BinaryDoorOptions options{.machine_content = elf::BinaryPart::kWholeFile};
    options.monotonic_ns = [this] { return now_ns_.load(); };
    auto routes = machine_binary_routes(*repository_, wanted_, options);
    http::Route& put = routes.at(1);
    put.begin_body = [this, begin = put.begin_body](
                         const http::Request& request) -> Result<std::shared_ptr<http::BodySink>> {
      auto to = begin(request);
      if (!to) {
        return propagate(to);
      }
      return std::make_shared<CutSink>(*std::move(to), bytes_before_cut_.load(), cuts_);
    };
    put.handle = [handle = put.handle](const http::Request& request) {
      http::Request whole = request;
      whole.sink = dynamic_cast<CutSink&>(*request.sink).to();
      return handle(whole);
    };
    listener_ = *http::Listener::start({}, std::move(routes));
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::unique_ptr<symbolizer::BinaryRepository> repository_ =
      *symbolizer::BinaryRepository::open(folder_.path(), {});
  WantedBuildSet wanted_;
  std::atomic<int64_t> now_ns_ = kNsPerHour;
  std::atomic<uint64_t> bytes_before_cut_ = std::numeric_limits<uint64_t>::max();
  std::atomic<int> cuts_ = 0;
  std::unique_ptr<http::Listener> listener_;
};

TEST_F(BinaryResume, TransfersThatAreCutAThousandTimesArriveWhole) {
  constexpr int kCuts = 1000;
  std::mt19937_64 random(29);
  for (int build = 0; cuts_ < kCuts; ++build) {
    const std::string build_id = fmt::format("resumed build {}", build);
    std::string filler(20'000, '\0');
    std::ranges::generate(filler, [&random] { return static_cast<char>('a' + random() % 16); });
    const std::string image = symbolizer::image_of({.build_id = build_id, .filler = filler});
    std::ofstream(folder_ / "bin/program", std::ios::binary) << image;
    wanted_.set({build_id});
    binaries::BinaryUploader uploader({.paths = {folder_ / "bin/*"},
                                       .content = elf::BinaryPart::kWholeFile,
                                       .max_bytes_per_second = 0,
                                       .monotonic_ns = [this] { return now_ns_.load(); }});
    wire::RawProfile profile;
    wire::Binary& binary = *profile.add_binaries();
    binary.set_identity_kind(wire::GNU_BUILD_ID);
    binary.set_identity(build_id);
    binary.set_path(folder_ / "bin/program");
    uploader.note(profile);
    http::Client client({.base_url = listener_->address()});
    for (int attempt = 0; !repository_->find(build_id); ++attempt) {
      ASSERT_LT(attempt, 1000) << "it gets no further";
      bytes_before_cut_ = 1 + random() % 6000;
      now_ns_ += 600 * kNsPerSecond;
      for (int step = 0; step < 4 && uploader.due_ns() <= now_ns_; ++step) {
        // An error is what is expected of most.
        static_cast<void>(uploader.step(client, client));
      }
    }
    EXPECT_EQ(read_file(symbolizer::kept_path(folder_.path(), build_id, BinaryKind::kExecutable), 1 << 20)
                  .value_or(""),
              image);
  }
  const std::filesystem::directory_iterator arriving(symbolizer::incoming_path(folder_.path()));
  EXPECT_EQ(std::distance(begin(arriving), end(arriving)), 0);
}

}  // namespace
}  // namespace plimsoll::server::binary_resume_test
