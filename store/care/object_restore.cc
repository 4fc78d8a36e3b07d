#include "store/care/object_restore.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/durable_file.h"
#include "base/hex.h"
#include "base/unique_fd.h"
#include "sqlite/database.h"
#include "store/archive/archive.h"
#include "store/blocks/block_folder.h"
#include "store/care/new_directory.h"
#include "store/catalogue/catalogue.h"
#include "store/directory/bound_databases.h"
#include "store/identity/directory_identity.h"
#include "store/objects/manifest.h"
#include "store/objects/object_files.h"
#include "store/objects/profile_pack.h"

namespace plimsoll::store {
namespace {

constexpr int kMaxManifests = 20;
// A pack is full, and then one profile of the largest size is added.
constexpr uint64_t kMaxPackBytes = uint64_t{2} << 30;
constexpr std::string_view kArchiveName = "archive.db";

Result<Manifest> read_manifest(objects::ObjectStore& store) {
  const auto text = store.get(kManifestKey, objects::kMaxObjectBytes);
  if (!text && text.error().code == ErrorCode::kNotFound) {
    return with_hint(
        fail(ErrorCode::kNotFound, "there is no data directory: it has no object \"{}\"", kManifestKey),
        "check the address and its prefix");
  }
  auto manifest = text ? parse_manifest(*text) : propagate(text);
  if (manifest && !(manifest->files.contains("FORMAT") && manifest->files.contains("identity"))) {
    return fail(ErrorCode::kCorrupt, "the manifest names no FORMAT and no identity");
  }
  return manifest;
}

class ObjectRestorer {
 public:
  ObjectRestorer(objects::ObjectStore& store, std::string to, const ShowProgress& show)
      : store_(store), to_(std::move(to)), show_(show) {
    progress_.activity = "restoring";
  }

  // Of one manifest. A server that goes on writing removes objects an hour after a later one; then that one is taken.
  Status run() {
    for (int attempt = 1;; ++attempt) {
      auto manifest = read_manifest(store_);
      if (!manifest) {
        return propagate(manifest);
      }
      const bool is_another = *manifest != manifest_;
      manifest_ = *std::move(manifest);
      Status made = make();
      if (made || !is_missing_) {
        return made;
      }
      if (!is_another || attempt == kMaxManifests) {
        return with_hint(fail(ErrorCode::kCorrupt, "the object store lacks what its manifest names: {}",
                              made.error().message),
                         "find out what removes objects there: a rule of the bucket, or another server");
      }
    }
  }

  const ObjectRestoreReport& report() const { return report_; }

 private:
  Status make() {
    is_missing_ = false;
    Status made = fetch_files();
    made = made ? remove_others() : made;
    made = made ? make_newest_block() : made;
    return made ? make_archive() : made;
  }

  Status get(const std::string& path, const StoredFile& file, const WritePiece& write) {
    Status got = get_file(store_, path, file, write);
    is_missing_ = !got && got.error().code == ErrorCode::kNotFound;
    return got;
  }

  Status fetch_files() {
    progress_.bytes_done = 0;
    progress_.bytes_of_all = 0;
    for (const auto& [path, file] : manifest_.files) {
      progress_.bytes_of_all += file.bytes;
    }
    for (const auto& [path, file] : manifest_.files) {
      // Packs go into the archive, later.
      if (const Status fetched = pack_at(path) ? Status() : fetch_file(path, file); !fetched) {
        return propagate(fetched, "restoring {}", path);
      }
    }
    Status made = make_folder(to_ + "/blocks");
    for (const auto& [number, block] : manifest_.blocks) {
      made = made ? make_folder(fmt::format("{}/blocks/{}/segments", to_, block.name)) : made;
    }
    return made;
  }

  Status fetch_file(const std::string& path, const StoredFile& file) {
    const std::string to = fmt::format("{}/{}", to_, path);
    start(path);
    if (!is_fetched(to, file)) {
      Status fetched = make_folder(std::filesystem::path(to).parent_path().string());
      fetched =
          fetched ? write_pieces_durably(to, [&](const WritePiece& write) { return get(path, file, write); })
                  : fetched;
      if (!fetched) {
        return fetched;
      }
    }
    add_bytes(file.bytes);
    return {};
  }

  // By a call before this one.
  static bool is_fetched(const std::string& to, const StoredFile& file) {
    const UniqueFd fd(::open(to.c_str(), O_RDONLY | O_CLOEXEC));
    const auto hash = fd.valid() ? content_hash_of_file(fd, to, file.bytes) : Result<std::string>("");
    return hash && to_hex(*hash) == file.hash;
  }

  bool belongs(const std::string& path) const {
    return manifest_.files.contains(path) || path == "lock" || path == "unfinished" ||
           path.starts_with(kArchiveName);
  }

  // What a call before this one has left of another manifest, or has made.
  Status remove_others() {
    std::set<std::string> blocks;
    for (const auto& [number, block] : manifest_.blocks) {
      blocks.insert("blocks/" + block.name);
    }
    std::vector<std::string> others;
    std::error_code error;
    for (std::filesystem::recursive_directory_iterator entry(to_, error), end; !error && entry != end;
         entry.increment(error)) {
      const std::string path = entry->path().lexically_relative(to_).string();
      const bool is_other_block = path.starts_with("blocks/") && entry.depth() == 1 && !blocks.contains(path);
      if (is_other_block) {
        entry.disable_recursion_pending();
      }
      if (is_other_block || (!entry->is_directory() && !belongs(path))) {
        others.push_back(entry->path().string());
      }
    }
    for (const std::string& path : others) {
      if (!error) {
        std::filesystem::remove_all(path, error);
      }
    }
    return error ? Status(fail_errno(error.value(), "removing what is left in {}", to_)) : Status();
  }

  // The one that takes rows was not copied.
  Status make_newest_block() {
    const std::string blocks_path = to_ + "/blocks";
    const auto identity = read_identity(to_);
    if (!identity) {
      return propagate(identity);
    }
    if (manifest_.blocks.empty()) {
      const auto made = make_first_block(blocks_path);
      auto catalogue = made ? sqlite::Database::open(made->catalogue_path(), sqlite::OpenMode::kReadWrite)
                            : propagate(made);
      return catalogue ? give_directory_id(*catalogue, identity->id) : propagate(catalogue);
    }
    const auto& [number, block] = *manifest_.blocks.rbegin();
    auto before =
        Catalogue::open(fmt::format("{}/{}/catalogue.db", blocks_path, block.name), sqlite::OpenMode::kRead);
    const auto made = before ? make_block(blocks_path, number + 1, before->database()) : propagate(before);
    return made ? Status() : propagate(made);
  }

  static Status remove_archive(const std::string& path) {
    std::error_code error;
    for (const char* const suffix : {"", "-wal", "-shm"}) {
      if (!error) {
        std::filesystem::remove(path + suffix, error);
      }
    }
    return error ? Status(fail_errno(error.value(), "removing {}", path)) : Status();
  }

  // Whether what a call before this one has put into the archive goes on in the packs of this manifest: that call may have had another store,
  // or the same one before its directory was replaced. Histories that part never meet: the newest profile says which one it is.
  Result<bool> archive_goes_on(const std::string& path, const std::string& directory_id) {
    auto database = sqlite::Database::open(path, sqlite::OpenMode::kReadWrite);
    const auto found_id = database ? directory_id_of(*database) : propagate(database);
    const auto newest = found_id ? database->integer("SELECT coalesce(max(sequence), 0) FROM ledger", 0)
                                 : propagate(found_id);
    const auto archive = newest ? Archive::open(path, sqlite::OpenMode::kRead) : propagate(newest);
    const auto id = archive ? (*archive)->id_of(*newest) : propagate(archive);
    // One that was not made to its end is made again.
    if (!id || *found_id != directory_id) {
      return false;
    }
    if (*newest == 0) {
      return true;
    }
    for (const std::string& name : manifest_.paths_below("packs/")) {
      const auto range = pack_at(name);
      if (range && range->first <= *newest && *newest <= range->last) {
        return has_profile(name, *range, *newest, *id);
      }
    }
    return false;
  }

  // Whether the profile of that number in a pack has that ID.
  Result<bool> has_profile(const std::string& name, const PackRange& range, int64_t sequence,
                           const std::string& id) {
    const StoredFile& file = manifest_.files.at(name);
    if (sequence == range.last) {
      return file.version == 0 || file.version == fingerprint_of_id(id);  // 0: of an older version
    }
    const auto profiles = fetch_pack(name, file);
    if (!profiles) {
      return propagate(profiles, "restoring {}", name);
    }
    const auto found = std::ranges::find(*profiles, sequence, &ArchivedProfile::sequence);
    return found != profiles->end() && found->id == id;
  }

  // With all raw profiles. Those that no block has rows of become rows when a server is started.
  Status make_archive() {
    const std::string path = fmt::format("{}/{}", to_, kArchiveName);
    auto identity = read_identity(to_);
    if (!identity) {
      return propagate(identity);
    }
    if (identity->rows.address != manifest_.rows) {
      return fail(ErrorCode::kCorrupt, "the manifest and the identity name different places of the rows");
    }
    const auto goes_on = is_there(path) ? archive_goes_on(path, identity->id) : Result<bool>(false);
    Status made = goes_on ? Status() : propagate(goes_on);
    if (made && !*goes_on) {
      made = remove_archive(path);
      made = made ? make_again(to_, kArchiveName, *identity) : made;
    }
    auto database = made ? sqlite::Database::open(path, sqlite::OpenMode::kReadWrite) : propagate(made);
    // Numbers go on behind those of the blocks, whichever manifest a call before this one had.
    made = database ? database->execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'ledger'",
                                        manifest_.built_up_to())
                    : propagate(database);
    const auto known =
        made ? database->integer("SELECT coalesce(max(sequence), 0) FROM ledger", 0) : propagate(made);
    const auto archive =
        known ? Archive::open(path, sqlite::OpenMode::kReadWriteShrinking) : propagate(known);
    if (!archive) {
      return propagate(archive);
    }
    for (const auto& [name, file] : manifest_.files) {
      const auto range = pack_at(name);
      // The last one says when its newest profile came.
      const bool is_needed = range && (range->last > *known || &file == last_pack());
      if (const Status put = is_needed ? put_back(**archive, name, file) : Status(); !put) {
        return propagate(put, "restoring {}", name);
      }
    }
    made = note_restored(to_);
    return made ? count_waiting(*database) : made;
  }

  const StoredFile* last_pack() const {
    const std::vector<std::string> packs = manifest_.paths_below("packs/");
    return packs.empty() ? nullptr : &manifest_.files.at(packs.back());
  }

  Result<std::vector<ArchivedProfile>> fetch_pack(const std::string& name, const StoredFile& file) {
    if (file.bytes > kMaxPackBytes) {
      return fail(ErrorCode::kTooLarge, "the pack has {} bytes", file.bytes);
    }
    std::string content;
    const Status fetched = get(name, file, [&](Bytes piece) -> Status {
      content += as_text(piece);
      return {};
    });
    return fetched ? parse_pack(as_bytes(content)) : propagate(fetched);
  }

  Status put_back(Archive& archive, const std::string& name, const StoredFile& file) {
    start(name);
    const auto profiles = fetch_pack(name, file);
    const Status put = profiles ? archive.put_back(*profiles) : propagate(profiles);
    if (!put) {
      return put;
    }
    report_.newest_received_ns =
        profiles->empty() ? report_.newest_received_ns : profiles->back().received_ns;
    add_bytes(file.bytes);
    return {};
  }

  Status count_waiting(sqlite::Database& database) {
    const auto waiting =
        database.integer("SELECT count(*) FROM raw_profile WHERE sequence > ?", 0, manifest_.built_up_to());
    if (!waiting) {
      return propagate(waiting);
    }
    // What rows elsewhere are of is known to their database alone.
    report_.profiles_to_rebuild = manifest_.has_rows_elsewhere() ? 0 : static_cast<uint64_t>(*waiting);
    report_.rows = manifest_.rows;
    report_.written_ns = manifest_.written_ns;
    return {};
  }

  void start(const std::string& name) {
    progress_.file = name;
    add_bytes(0);
  }

  void add_bytes(uint64_t bytes) {
    progress_.bytes_done += bytes;
    if (show_) {
      show_(progress_);
    }
  }

  objects::ObjectStore& store_;
  const std::string to_;
  const ShowProgress& show_;
  CareProgress progress_;
  Manifest manifest_;
  bool is_missing_ = false;  // an object that the manifest names
  ObjectRestoreReport report_;
};

}  // namespace

Result<ObjectRestoreReport> restore_from_objects(objects::ObjectStore& store, const std::string& from,
                                                 const std::string& data_dir, const ShowProgress& show) {
  const std::string to = without_slashes(data_dir);
  if (const Status is_free = expect_nothing_at(to); !is_free) {
    return propagate(is_free, "restoring {} from {}", data_dir, from);
  }
  // Before a folder is made for it.
  if (const auto manifest = read_manifest(store); !manifest) {
    return propagate(manifest, "restoring {} from {}", data_dir, from);
  }
  ObjectRestoreReport report;
  const auto fill = [&](const std::string& temporary) -> Status {
    ObjectRestorer restorer(store, temporary, show);
    Status filled = restorer.run();
    report = restorer.report();
    return filled;
  };
  auto checked = make_directory(to, from, Leftovers::kKeep, fill, show);
  if (!checked) {
    const bool may_help = checked.error().code == ErrorCode::kUnavailable && checked.error().hint.empty();
    auto failed = propagate(checked, "restoring {} from {}", data_dir, from);
    return may_help
               ? with_hint(std::move(failed), "run the command again: it goes on with what it has fetched")
               : failed;
  }
  report.check = *std::move(checked);
  return report;
}

}  // namespace plimsoll::store
