// The repository of binaries of a data directory: executables and debug files by build ID, wherever they came from.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/durable_file.h"
#include "base/result.h"
#include "symbolizer/repository/binary_record.h"
#include "symbolizer/repository/repository_room.h"
#include "symbolizer/repository/staged_binary.h"

namespace plimsoll::symbolizer {

struct RepositoryLimits {
  uint64_t max_bytes = uint64_t{20} << 30;      // of all files, those that are arriving among them
  uint64_t max_file_bytes = uint64_t{4} << 30;  // of one
  int64_t max_age_ns = 90LL * 86'400 * 1'000'000'000;
  size_t max_builds = 200'000;  // the smallest take more of the disk than they have bytes, and memory each
};

struct BinaryOrigin {
  std::string source = {};  // KeptFile::source
  BinaryLabels labels = {};
  int64_t now_ns = 0;  // wall clock
  // Where the caller says which build it is; another one in the file is kConflict. Empty: whatever the file says; sources require it.
  std::string build_id = {};
  // Where the caller says what it is, likewise.
  std::optional<BinaryKind> kind = {};
  // False: an archive is refused as any other file that is no ELF file.
  bool may_be_sources = true;
  // Another debug file than a part (elf/binary_part.h) is kConflict.
  bool must_be_part = false;
  // Where the caller says what content_hash() (base/checksum.h) of it is; other content is kCorrupt.
  std::string content_hash = {};
};

// Of a file that was added.
enum class AddOutcome : uint8_t {
  kAdded,     // the first of its kind
  kReplaced,  // it is better than the one that was there; sources: it differs
  kKnown,     // the same file is kept already
  kWorse,     // the one that is kept has better symbols, and stays
};
// "added", "replaced", "known", "worse".
std::string_view name_of(AddOutcome outcome);

struct AddedBinary {
  AddOutcome outcome = AddOutcome::kAdded;
  std::string build_id = {};
  KeptFile file = {};  // the one that is kept now

  // Whether there may be names now that there were not before.
  bool has_new_symbols() const { return is_new() && file.kind != BinaryKind::kSources; }
  bool is_new() const { return outcome == AddOutcome::kAdded || outcome == AddOutcome::kReplaced; }
};

// Whether BinaryRepository::add() refused a file because one of the same build and kind is kept with other
// bytes and as many symbols. Other conflicts say nothing of what is kept.
bool is_of_same_build(const Error& error);

struct TrimReport {
  uint64_t builds = 0;
  uint64_t bytes = 0;
};

// For the process that holds the lock of the data directory. Any thread.
class BinaryRepository {
 public:
  // Creates the folders where they are missing, removes what a crash left half written, and notes files that came just before a crash: all
  // of those are read. Borrows `calls`.
  static Result<std::unique_ptr<BinaryRepository>> open(const std::string& data_dir,
                                                        const RepositoryLimits& limits,
                                                        const FileCalls& calls = FileCalls::system());

  BinaryRepository(const BinaryRepository&) = delete;
  BinaryRepository& operator=(const BinaryRepository&) = delete;
  ~BinaryRepository() = default;

  // For a file that arrives. Its bytes count against the limit of all files while it is there. kUnavailable where there is no room for
  // `declared_bytes` now; none is set aside for them.
  Result<StagedBinary> stage(uint64_t declared_bytes = 0) const;

  // Keeps a file by the build ID that it has inside, and sources by the origin's: durable when this returns, and seen either whole or not at all. A file with fewer symbols
  // never replaces one with more; other sources replace those that are there. kConflict where the same build has other bytes with as many symbols: what is there stays.
  Result<AddedBinary> add(StagedBinary staged, const BinaryOrigin& origin);

  std::optional<BinaryRecord> find(std::string_view build_id) const;

  // Whether a file of it may be on disk already, and find() does not tell yet.
  bool is_arriving(std::string_view build_id) const;

  // Removes builds that are not among `used`: those that came longer ago than the limit, then the oldest, until the others fit. `used` has
  // build IDs as rows have them, which perf may have cut (elf::is_build).
  Result<TrimReport> trim(const std::set<std::string>& used, int64_t now_ns);

  // Whether trim() would remove anything, were none of them used: what is used need not be known otherwise.
  bool has_surplus(int64_t now_ns) const;

  // Of kept files.
  uint64_t bytes() const { return room_->kept_bytes(); }
  const std::string& data_dir() const { return data_dir_; }

 private:
  using Records = std::map<std::string, BinaryRecord, std::less<>>;

  BinaryRepository(std::string data_dir, const RepositoryLimits& limits, const FileCalls& calls)
      : data_dir_(std::move(data_dir)),
        limits_(limits),
        calls_(calls),
        room_(std::make_shared<RepositoryRoom>(limits.max_bytes)) {}
  Status make_folders() const;
  Status remove_leftovers() const;
  Status recover();
  Status recover_build(const std::string& build_id);
  Result<bool> recover_file(BinaryRecord& record, BinaryKind kind) const;
  Result<std::optional<KeptFile>> read_kept(const std::string& build_id, BinaryKind kind,
                                            int64_t modified_ns) const;
  void link_by_cut_id(const BinaryRecord& record) const;
  Status keep_record(BinaryRecord record);
  Status remove_build(const BinaryRecord& record);
  Result<AddedBinary> place(StagedBinary staged, const BinaryFacts& facts, BinaryRecord record,
                            const BinaryOrigin& origin);
  void set_arriving(std::string_view build_id);
  Status make_folder_of(std::string_view build_id) const;
  // Whether the oldest unused builds are to make room.
  bool is_nearly_full() const {
    return bytes() > limits_.max_bytes / 10 * 9 || builds() > limits_.max_builds / 10 * 9;
  }
  size_t builds() const;
  static bool is_used(std::string_view build_id, const std::set<std::string>& used);

  const std::string data_dir_;
  const RepositoryLimits limits_;
  const FileCalls& calls_;
  const std::shared_ptr<RepositoryRoom> room_;
  std::mutex adding_;  // held by a thread that changes files
  mutable std::mutex mutex_;
  // Guarded by mutex_; changed only with adding_ held too.
  Records records_;
  std::string arriving_;  // a build ID; empty: none is
};

}  // namespace plimsoll::symbolizer
