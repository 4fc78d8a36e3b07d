#include "capture/identity/binaries.h"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>

#include "base/checksum.h"
#include "base/time.h"

namespace plimsoll::identity {
namespace {

// Hashing reads the whole file: about 0.1 s for one of this size that is in memory.
constexpr uint64_t kMaxHashedBytes = uint64_t{512} << 20;
// More inodes than this have come and gone: starting afresh bounds memory, and costs reading each file once
// more.
constexpr size_t kMaxFiles = 20'000;

std::unique_ptr<BinaryInfo> vdso_info() {
  const auto bytes = elf::own_vdso_bytes();
  const auto image = bytes ? elf::LoadedImage::from_file(elf::read_at_of(*bytes)) : propagate(bytes);
  if (!image || image->build_id().empty()) {
    return nullptr;
  }
  auto info = std::make_unique<BinaryInfo>();
  info->identity_kind = wire::GNU_BUILD_ID;
  info->identity = image->build_id();
  info->path = kVdso;
  info->segments = image->segments();
  return info;
}

}  // namespace

wire::Binary binary_message(const BinaryInfo& info) {
  wire::Binary binary;
  binary.set_identity_kind(info.identity_kind);
  binary.set_identity(info.identity);
  binary.set_path(info.path);
  binary.set_compiler(info.built.compiler);
  binary.set_revision(info.built.revision);
  binary.set_builder(info.built.builder);
  return binary;
}

BinaryTable::BinaryTable(const ImageSource& images, size_t max_binaries, int64_t recheck_ns,
                         HashLimits hashes)
    : images_(images),
      max_binaries_(max_binaries),
      recheck_ns_(recheck_ns),
      hash_limits_(hashes),
      vdso_(vdso_info()) {}

bool BinaryTable::may_hash(uint64_t bytes) {
  if (!images_.are_of_this_machine()) {
    return true;
  }
  const int64_t now_ns = monotonic_now_ns();
  const int64_t passed_ns = hashable_ns_ == 0 ? 0 : std::min(now_ns - hashable_ns_, kNsPerHour);
  const auto refilled = static_cast<uint64_t>(static_cast<double>(passed_ns) / kNsPerSecond *
                                              static_cast<double>(hash_limits_.bytes_per_s));
  if (hashable_ns_ == 0 || refilled > 0) {
    hashable_bytes_ = std::min(hash_limits_.burst_bytes, hashable_bytes_ + refilled);
    hashable_ns_ = now_ns;
  }
  return bytes <= hashable_bytes_;
}

BinaryTable::Identity BinaryTable::identity_of(const OpenedImage& opened) {
  if (!opened.image.build_id().empty()) {
    return {wire::GNU_BUILD_ID, opened.image.build_id().substr(0, 64)};
  }
  struct stat attributes{};
  if (opened.fd == nullptr || ::fstat(opened.fd->get(), &attributes) != 0) {
    return {};  // its memory holds only a part
  }
  const auto bytes = static_cast<uint64_t>(attributes.st_size);
  if (bytes > kMaxHashedBytes) {
    return {};
  }
  if (!may_hash(bytes)) {
    return {.bytes_to_hash = bytes};
  }
  hashable_bytes_ -= std::min(bytes, hashable_bytes_);
  const auto hash = content_hash_of_file(*opened.fd, opened.name, kMaxHashedBytes);
  return hash && !hash->empty() ? Identity{wire::CONTENT_HASH, *hash} : Identity{};
}

BinaryTable::Known& BinaryTable::entry(wire::IdentityKind kind, std::string_view identity,
                                       const MappedFileHint& hint) {
  // An unknown binary is told apart by its path and file; the first byte keeps the kinds from meeting.
  const std::string key =
      std::string(1, static_cast<char>(kind)) +
      (kind == wire::IDENTITY_UNKNOWN ? fmt::format("{}/{}/{} {}", hint.file.device_major,
                                                    hint.file.device_minor, hint.file.inode, hint.path)
                                      : std::string(identity));
  Known& known = by_identity_[key];
  if (known.info == nullptr) {
    known.info = std::make_unique<BinaryInfo>();
    known.info->identity_kind = kind;
    known.info->identity = identity;
    known.info->path = printable(hint.path);
  }
  return known;
}

BinaryInfo* BinaryTable::by_identity(wire::IdentityKind kind, std::string_view identity,
                                     const MappedFileHint& hint) {
  return entry(kind, identity, hint).info.get();
}

bool BinaryTable::is_worth_a_look(Known& known) {
  constexpr uint64_t kFirstTries = 4;
  const int64_t now_ns = monotonic_now_ns();
  ++known.misses;
  const bool is_due = known.misses <= kFirstTries || std::has_single_bit(known.misses) ||
                      now_ns - known.tried_ns >= kNsPerSecond;
  known.tried_ns = is_due ? now_ns : known.tried_ns;
  return is_due;
}

const BinaryInfo* BinaryTable::read(const MappedFileHint& hint, uint64_t& bytes_to_hash) {
  bytes_to_hash = 0;
  const auto opened = images_.open(hint);
  if (!opened) {
    const auto kind = hint.build_id.empty() ? wire::IDENTITY_UNKNOWN : wire::GNU_BUILD_ID;
    return by_identity(kind, hint.build_id, hint);
  }
  const Identity identity = identity_of(*opened);
  BinaryInfo* info = by_identity(identity.kind, identity.bytes, hint);
  bytes_to_hash = identity.bytes_to_hash;
  info->segments = opened->image.segments();
  info->file = hint.file;
  info->is_go = opened->image.is_go();
  info->built = elf::read_build_facts(opened->image);
  return info;
}

const BinaryInfo* BinaryTable::vdso(const MappedFileHint& hint) {
  const bool is_own = hint.build_id.empty() ? images_.are_of_this_machine()
                                            : vdso_ != nullptr && vdso_->identity == hint.build_id;
  if (is_own) {
    return vdso_.get();
  }
  return by_identity(hint.build_id.empty() ? wire::IDENTITY_UNKNOWN : wire::GNU_BUILD_ID, hint.build_id,
                     hint);
}

const BinaryInfo* BinaryTable::find_or_read(const MappedFileHint& hint) {
  uint64_t unused = 0;
  if (!hint.build_id.empty()) {
    Known& known = entry(wire::GNU_BUILD_ID, hint.build_id, hint);
    return known.info->segments.empty() && is_worth_a_look(known) ? read(hint, unused) : known.info.get();
  }
  if (hint.file.inode == 0 && !hint.is_without_build_id) {
    return read(hint, unused);
  }
  if (by_file_.size() > kMaxFiles) {
    by_file_.clear();
  }
  KnownFile& known = by_file_[{std::string(hint.path), hint.file, hint.generation}];
  const bool may_be_hashed_now = known.bytes_to_hash > 0 && may_hash(known.bytes_to_hash);
  if (known.info == nullptr || may_be_hashed_now || !is_current(known, hint)) {
    known.info = read(hint, known.bytes_to_hash);
    known.changed_ns = images_.changed_ns(hint);
    known.looked_ns = monotonic_now_ns();
  }
  return known.info;
}

bool BinaryTable::is_current(KnownFile& known, const MappedFileHint& hint) const {
  const int64_t now_ns = monotonic_now_ns();
  if (now_ns - known.looked_ns < recheck_ns_) {
    return true;
  }
  known.looked_ns = now_ns;
  const int64_t changed_ns = images_.changed_ns(hint);
  const bool is_within_reach_now = known.info->segments.empty() && changed_ns != 0;
  return !is_within_reach_now && (changed_ns == 0 || changed_ns == known.changed_ns);
}

std::vector<const BinaryInfo*> BinaryTable::forget_unused(const std::set<const BinaryInfo*>& used) {
  std::vector<const BinaryInfo*> forgotten;
  // Files may stand for any of them; each is read once more.
  by_file_.clear();
  std::erase_if(by_identity_, [&](const auto& entry) {
    const BinaryInfo* const info = entry.second.info.get();
    const bool is_unused = !used.contains(info);
    if (is_unused) {
      forgotten.push_back(info);
    }
    return is_unused;
  });
  return forgotten;
}

}  // namespace plimsoll::identity
