#include "daemon/identity/binaries.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/checksum.h"
#include "base/file.h"

namespace plimsoll::identity {
namespace {

constexpr uint64_t kMaxBinaryBytes = uint64_t{4} << 30;
// Hashing reads the whole file: about 0.1 s for one of this size that is not in memory.
constexpr uint64_t kMaxHashedBytes = uint64_t{512} << 20;
// More inodes than this have come and gone: starting afresh bounds memory, and costs reading each file once
// more.
constexpr size_t kMaxFiles = 50'000;

struct FileContent {
  wire::IdentityKind kind = wire::IDENTITY_UNKNOWN;
  std::string identity;
  std::vector<elf::Segment> segments;
};

std::vector<elf::Segment> load_segments(const elf::ElfFile& file) {
  std::vector<elf::Segment> loaded;
  for (const elf::Segment& segment : file.segments()) {
    if (segment.type == PT_LOAD) {
      loaded.push_back(segment);
    }
  }
  return loaded;
}

Result<FileContent> read_content(const std::string& path, uint64_t expected_inode) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) {
    return fail_errno(errno, "opening {}", path);
  }
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0 || (expected_inode != 0 && info.st_ino != expected_inode)) {
    return fail(ErrorCode::kNotFound, "{} is another file than the mapped one", path);
  }
  const auto mapped = MappedFile::map(fd, path, kMaxBinaryBytes);
  if (!mapped) {
    return propagate(mapped);
  }
  const auto file = elf::ElfFile::parse(mapped->bytes());
  if (!file) {
    return propagate(file, "reading {}", path);
  }
  FileContent content;
  content.segments = load_segments(*file);
  if (!file->build_id().empty()) {
    content.kind = wire::GNU_BUILD_ID;
    content.identity = file->build_id().substr(0, 64);
  } else if (mapped->bytes().size() <= kMaxHashedBytes) {
    content.kind = wire::CONTENT_HASH;
    content.identity = content_hash(mapped->bytes());
  }
  return content;
}

std::unique_ptr<BinaryInfo> vdso_info() {
  const auto file = elf::own_vdso();
  if (!file || file->build_id().empty()) {
    return nullptr;
  }
  auto info = std::make_unique<BinaryInfo>();
  info->identity_kind = wire::GNU_BUILD_ID;
  info->identity = file->build_id();
  info->path = "[vdso]";
  info->segments = load_segments(*file);
  return info;
}

}  // namespace

BinaryTable::BinaryTable(const ProcFs& proc_fs) : proc_fs_(proc_fs), vdso_(vdso_info()) {}

BinaryInfo* BinaryTable::by_identity(wire::IdentityKind kind, std::string_view identity,
                                     std::string_view path) {
  // An unknown binary is told apart by its path alone; the first byte keeps the kinds from meeting.
  const std::string key =
      std::string(1, static_cast<char>(kind)) + std::string(kind == wire::IDENTITY_UNKNOWN ? path : identity);
  auto& info = by_identity_[key];
  if (info == nullptr) {
    info = std::make_unique<BinaryInfo>();
    info->identity_kind = kind;
    info->identity = identity;
    info->path = printable(path);
  }
  return info.get();
}

const BinaryInfo* BinaryTable::read(const MappedFileHint& hint) {
  auto content = read_content(proc_fs_.path_in_root(hint.pid, hint.path), hint.inode);
  const bool is_mapped_one = content && (hint.build_id.empty() || content->identity == hint.build_id);
  if (!is_mapped_one) {
    const auto kind = hint.build_id.empty() ? wire::IDENTITY_UNKNOWN : wire::GNU_BUILD_ID;
    return by_identity(kind, hint.build_id, hint.path);
  }
  BinaryInfo* info = by_identity(content->kind, content->identity, hint.path);
  info->segments = std::move(content->segments);
  return info;
}

const BinaryInfo* BinaryTable::find_or_read(const MappedFileHint& hint) {
  if (!hint.build_id.empty()) {
    const BinaryInfo* known = by_identity(wire::GNU_BUILD_ID, hint.build_id, hint.path);
    return known->segments.empty() ? read(hint) : known;
  }
  if (hint.inode == 0) {
    return read(hint);
  }
  if (by_file_.size() > kMaxFiles) {
    by_file_.clear();
  }
  auto& known = by_file_[{std::string(hint.path), hint.inode}];
  if (known == nullptr) {
    known = read(hint);
  }
  return known;
}

}  // namespace plimsoll::identity
