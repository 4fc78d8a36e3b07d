#include "daemon/spool/spool_counts.h"

#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <type_traits>

#include "base/byte_reader.h"
#include "base/checksum.h"
#include "base/file.h"

namespace plimsoll::spool {
namespace {

constexpr uint64_t kMagic = 0x544E434C4F4F5053;  // "SPOOLCNT"
constexpr uint64_t kVersion = 1;
constexpr size_t kSlots = 2;
// Slots do not share a block of the disk: a torn write of one leaves the other alone.
constexpr size_t kSlotBytes = 4096;

struct Slot {
  uint64_t magic = kMagic;
  uint64_t version = kVersion;
  uint64_t generation = 0;
  uint64_t first_sequence = 0;
  uint64_t next_sequence = 0;
  uint64_t removing_first = 0;
  uint64_t removing_last = 0;
  int64_t counted_since_ns = 0;
  std::array<uint64_t, kFates> counts{};
  uint64_t checksum = 0;  // of all before it
};
static_assert(std::has_unique_object_representations_v<Slot>, "padding would make the checksum random");

std::string_view bytes_of(const Slot& slot) {
  return {reinterpret_cast<const char*>(&slot), sizeof slot};
}

uint64_t checksum_of(const Slot& slot) {
  return checksum64(as_bytes(bytes_of(slot).substr(0, offsetof(Slot, checksum))));
}

Slot slot_of(const SpoolRecord& record, uint64_t generation) {
  Slot slot{.generation = generation,
            .first_sequence = record.first_sequence,
            .next_sequence = record.next_sequence,
            .removing_first = record.removing_first,
            .removing_last = record.removing_last,
            .counted_since_ns = record.counted_since_ns,
            .counts = record.counts.by_fate};
  slot.checksum = checksum_of(slot);
  return slot;
}

SpoolRecord record_of(const Slot& slot) {
  return {.first_sequence = slot.first_sequence,
          .next_sequence = slot.next_sequence,
          .removing_first = slot.removing_first,
          .removing_last = slot.removing_last,
          .counted_since_ns = slot.counted_since_ns,
          .counts = {slot.counts}};
}

// Whole slots only.
std::optional<Slot> newest_slot(Bytes content) {
  std::optional<Slot> newest;
  for (size_t i = 0; i < kSlots; ++i) {
    ByteReader reader(content);
    reader.seek(i * kSlotBytes);
    const auto slot = reader.read<Slot>();
    const bool is_whole = reader.ok() && slot.magic == kMagic && slot.checksum == checksum_of(slot);
    if (is_whole && (!newest || slot.generation > newest->generation)) {
      newest = slot;
    }
  }
  return newest;
}

// Both slots' blocks are written, so that the disk has given them.
std::string new_content(int64_t now_ns) {
  const Slot slot = slot_of({.counted_since_ns = now_ns}, 0);
  std::string content(kSlots * kSlotBytes, '\0');
  return content.replace(0, sizeof slot, bytes_of(slot));
}

}  // namespace

Result<CountsFile> CountsFile::open(const std::string& path, int64_t now_ns, const FileCalls& calls) {
  std::error_code error;
  const bool is_new = !std::filesystem::exists(path, error);
  if (is_new) {
    if (auto written = write_file_durably(path, as_bytes(new_content(now_ns)), calls); !written) {
      return propagate(written);
    }
  }
  CountsFile file(path, UniqueFd(::open(path.c_str(), O_WRONLY | O_CLOEXEC)), calls);
  if (!file.fd_.valid()) {
    return fail_errno(errno, "opening {}", path);
  }
  file.is_new_ = is_new;
  if (auto read = file.read(); !read) {
    return propagate(read);
  }
  return file;
}

Status CountsFile::read() {
  const auto content = read_file(path_, kSlots * kSlotBytes);
  if (!content) {
    return propagate(content);
  }
  const auto slot = newest_slot(as_bytes(*content));
  if (!slot) {
    return fail(ErrorCode::kCorrupt, "{} is damaged: neither of its two records has its checksum", path_);
  }
  if (slot->version != kVersion) {
    return fail(ErrorCode::kUnsupported, "{} has version {}; this program reads {}", path_, slot->version,
                kVersion);
  }
  generation_ = slot->generation;
  record_ = record_of(*slot);
  return {};
}

Status CountsFile::write(const SpoolRecord& record) {
  // After a failed write the same slot is written again: the other one holds the last record that is on disk.
  const uint64_t generation = generation_ + 1;
  const Slot slot = slot_of(record, generation);
  const auto offset = static_cast<off_t>(generation % kSlots * kSlotBytes);
  ssize_t written = 0;
  do {
    written = calls_->pwrite(fd_.get(), &slot, sizeof slot, offset);
  } while (written < 0 && errno == EINTR);
  if (written < 0) {
    return fail_errno(errno, "writing {}", path_);
  }
  if (static_cast<size_t>(written) != sizeof slot) {
    return fail(ErrorCode::kIo, "writing {}: only {} of {} bytes were taken", path_, written, sizeof slot);
  }
  if (calls_->fsync(fd_.get()) != 0) {
    return fail_errno(errno, "syncing {}", path_);
  }
  generation_ = generation;
  record_ = record;
  return {};
}

}  // namespace plimsoll::spool
