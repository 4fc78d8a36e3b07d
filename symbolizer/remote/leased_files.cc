#include "symbolizer/remote/leased_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>

#include "base/checksum.h"
#include "base/unique_fd.h"
#include "elf/build_id.h"
#include "symbolizer/remote/pause.h"

namespace plimsoll::symbolizer {
namespace {

constexpr int kMaxTries = 6;
constexpr std::chrono::milliseconds kFirstPause{250};

class FileSink : public http::BodySink {
 public:
  FileSink(const UniqueFd& fd, uint64_t max_bytes, const std::stop_token& stop)
      : fd_(fd), max_bytes_(max_bytes), stop_(stop) {}

  Status take(Bytes piece) override {
    if (stop_.stop_requested()) {
      return fail(ErrorCode::kUnavailable, "the file is not needed any more");
    }
    if (piece.size() > max_bytes_ - bytes_) {
      return fail(ErrorCode::kCorrupt, "the file has more than the {} bytes that were announced", max_bytes_);
    }
    while (!piece.empty()) {
      const ssize_t written = ::write(fd_.get(), piece.data(), piece.size());
      if (written < 0 && errno == EINTR) {
        continue;
      }
      if (written < 0) {
        return fail_errno(errno, "writing a file of a leased build");
      }
      bytes_ += static_cast<uint64_t>(written);
      piece = piece.subspan(static_cast<size_t>(written));
    }
    return {};
  }

  uint64_t bytes() const { return bytes_; }

 private:
  const UniqueFd& fd_;
  const uint64_t max_bytes_;
  const std::stop_token& stop_;
  uint64_t bytes_ = 0;
};

}  // namespace

bool WorkerRoom::take(uint64_t bytes, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const bool has_room =
      freed_.wait(lock, stop, [&] { return bytes <= max_bytes_ - std::min(taken_, max_bytes_); });
  taken_ += has_room ? bytes : 0;
  return has_room;
}

void WorkerRoom::give_back(uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    taken_ -= bytes;
  }
  freed_.notify_all();
}

Result<LeasedFiles> LeasedFiles::create(std::string folder) {
  std::error_code error;
  if (!std::filesystem::create_directory(folder, error)) {
    return error ? fail_errno(error.value(), "creating {}", folder)
                 : fail(ErrorCode::kConflict, "creating {}: it is there already", folder);
  }
  return LeasedFiles(std::move(folder));
}

LeasedFiles::~LeasedFiles() {
  if (!folder_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
}

Status LeasedFiles::fetch(const wire::LeasedBinary& binary, LeaseClient& client,
                          const std::stop_token& stop) {
  const std::filesystem::path entry = elf::build_id_entry(folder_, binary.build_id());
  std::error_code error;
  std::filesystem::create_directories(entry.parent_path(), error);
  if (error) {
    return fail_errno(error.value(), "creating {}", entry.parent_path().string());
  }
  for (const wire::LeasedBinary::File& file : binary.files()) {
    if (const Status fetched = fetch_file(binary, file, client, stop); !fetched) {
      return fetched;
    }
  }
  return {};
}

Status LeasedFiles::fetch_file(const wire::LeasedBinary& binary, const wire::LeasedBinary::File& file,
                               LeaseClient& client, const std::stop_token& stop) const {
  const std::string path =
      elf::build_id_entry(folder_, binary.build_id()) + (file.is_debug() ? ".debug" : "");
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) {
    return fail_errno(errno, "creating {}", path);
  }
  FileSink sink(fd, file.size_bytes(), stop);
  Status fetched = fail(ErrorCode::kUnavailable, "the worker stops");
  // The server may restart, or have answered with 429.
  std::chrono::milliseconds pause(0);
  for (int i = 0; i < kMaxTries && pause_for(pause, stop); ++i) {
    fetched = client.fetch(binary, file.is_debug(), sink.bytes(), sink);
    if (fetched || fetched.error().code != ErrorCode::kUnavailable) {
      break;
    }
    pause = std::max(2 * pause, kFirstPause);
  }
  if (!fetched) {
    return fetched;
  }
  const auto hash = content_hash_of_file(fd, path, file.size_bytes());
  if (!hash) {
    return propagate(hash);
  }
  return *hash == file.content_hash()
             ? Status()
             : fail(ErrorCode::kCorrupt, "a file of the build has other content than was announced");
}

}  // namespace plimsoll::symbolizer
