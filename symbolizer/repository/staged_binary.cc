#include "symbolizer/repository/staged_binary.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "base/hex.h"
#include "base/random.h"
#include "base/time.h"

namespace plimsoll::symbolizer {

Result<StagedBinary> StagedBinary::create(const std::string& folder, uint64_t max_bytes,
                                          std::shared_ptr<RepositoryRoom> room, const FileCalls& calls) {
  const std::string path = fmt::format("{}/{}.tmp", folder, to_hex(random_bytes(8)));
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) {
    return fail_errno(errno, "creating {}", path);
  }
  return StagedBinary(path, std::move(fd), max_bytes, std::move(room), calls);
}

StagedBinary::~StagedBinary() {
  if (!path_.empty()) {
    calls_->unlink(path_.c_str());
  }
  if (room_ != nullptr) {
    room_->give_back(bytes_);
  }
}

Status StagedBinary::write(Bytes piece) {
  if (piece.size() > max_bytes_ - bytes_) {
    return with_hint(
        fail(ErrorCode::kTooLarge, "the binary is larger than its limit of {} bytes", max_bytes_),
        "raise binaries.max_file_bytes of the server's configuration, or compress its debug "
        "sections (objcopy --compress-debug-sections)");
  }
  if (const Status taken = room_->take(piece.size()); !taken) {
    return taken;
  }
  const Status written = write_all(piece);
  if (!written) {
    room_->give_back(piece.size());
    return written;
  }
  bytes_ += piece.size();
  return {};
}

Status StagedBinary::write_all(Bytes piece) {
  while (!piece.empty()) {
    const ssize_t written = calls_->write(fd_.get(), piece.data(), piece.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      return fail_errno(errno, "writing {}", path_);
    }
    piece = piece.subspan(static_cast<size_t>(written));
  }
  return {};
}

Result<MappedFile> StagedBinary::map() const {
  return MappedFile::map(fd_, path_, max_bytes_);
}

Result<int64_t> StagedBinary::modified_ns() const {
  struct stat info{};
  if (::fstat(fd_.get(), &info) != 0) {
    return fail_errno(errno, "examining {}", path_);
  }
  return info.st_mtim.tv_sec * kNsPerSecond + info.st_mtim.tv_nsec;
}

Status StagedBinary::move_to(const std::string& path) {
  if (calls_->fsync(fd_.get()) != 0) {
    return fail_errno(errno, "syncing {}", path_);
  }
  if (calls_->rename(path_.c_str(), path.c_str()) != 0) {
    return fail_errno(errno, "renaming {} to {}", path_, path);
  }
  path_.clear();
  return sync_folder(std::filesystem::path(path).parent_path().string(), *calls_);
}

}  // namespace plimsoll::symbolizer
