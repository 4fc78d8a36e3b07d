#include "store/replica/directory_copies.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/checksum.h"
#include "base/hex.h"
#include "base/random.h"
#include "store/directory/data_directory.h"
#include "store/identity/directory_identity.h"
#include "store/identity/listed_database.h"

namespace plimsoll::store {
namespace {

constexpr const char* kLive = "live.db";
constexpr const char* kDraws = "draws.db";

constexpr int64_t kMinAgeNs = 5 * kNsPerSecond;
// So that copying takes a tenth of a thread's time at most, however often it is asked for.
constexpr int64_t kAgePerCost = 10;

constexpr size_t kCopyIdBytes = 16;

// A copy is read by one file descriptor: what SQLite would have in files beside it has to be in it.
constexpr const char* kCloseLive = "PRAGMA journal_mode=DELETE;";
// The seed tells which machines will be drawn.
constexpr const char* kCloseDraws =
    "PRAGMA secure_delete=ON; BEGIN; DELETE FROM seed; DELETE FROM stop_log; DELETE FROM writer; COMMIT; "
    "PRAGMA "
    "journal_mode=DELETE;";

struct Moment {
  sqlite::Transaction live;
  sqlite::Transaction draws;
};

// The draws cannot change between the two first reads: so both databases are as they were at that of `live`.
Result<Moment> same_moment(sqlite::Database& live, sqlite::Database& draws) {
  auto writer = sqlite::Database::open(draws.path(), sqlite::OpenMode::kReadWrite);
  const auto lock = writer ? sqlite::Transaction::begin(*writer) : propagate(writer);
  auto of_live = lock ? sqlite::Transaction::begin_read(live) : propagate(lock);
  auto of_draws = of_live ? sqlite::Transaction::begin_read(draws) : propagate(of_live);
  return of_draws ? Result<Moment>(Moment{std::move(*of_live), std::move(*of_draws)}) : propagate(of_draws);
}

Status expect_of_directory(sqlite::Database& database, const std::string& data_dir, std::string_view name,
                           std::string_view directory_id) {
  const auto id = directory_id_of(database);
  if (!id) {
    return propagate(id);
  }
  return *id == directory_id ? Status() : foreign_database(data_dir, name, *id, directory_id);
}

// 0: there is no such file.
uint64_t size_of(const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<uint64_t>(bytes);
}

}  // namespace

std::string DirectoryCopies::path_of(std::string_view name) const {
  return fmt::format("{}/{}", data_dir_, name);
}

Result<DirectoryCopies::Found> DirectoryCopies::get(Wanted wanted,
                                                    const std::function<Status(uint64_t)>& check_room) {
  const int64_t now_ns = monotonic_ns_();
  const std::lock_guard making(making_);
  std::shared_ptr<const DirectoryCopy> known;
  {
    const std::lock_guard lock(mutex_);
    known = newest_;
  }
  if (known != nullptr) {
    const auto changed = has_changed();
    if (!changed) {
      return propagate(changed, "looking for changes of {} and {}", path_of(kLive), path_of(kDraws));
    }
    // One that another caller has had made meanwhile is as good as one that is made now.
    const int64_t age_ns = *changed ? std::max<int64_t>(now_ns - current_ns_, 0) : 0;
    const bool is_recent = age_ns < std::max(kMinAgeNs, kAgePerCost * cost_ns_);
    if (age_ns == 0 || (wanted == Wanted::kRecent && is_recent)) {
      return Found{std::move(known), age_ns};
    }
  }
  const uint64_t bytes = size_of(path_of(kLive)) + size_of(path_of(kDraws));
  if (const Status room = check_room ? check_room(bytes) : Status(); !room) {
    return propagate(room, "copying {} and {}", path_of(kLive), path_of(kDraws));
  }
  auto taken = take();
  if (!taken) {
    return propagate(taken, "copying {} and {}", path_of(kLive), path_of(kDraws));
  }
  keep(*taken);
  return Found{*std::move(taken), 0};
}

std::shared_ptr<const DirectoryCopy> DirectoryCopies::find(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  for (const auto& copy : {newest_, before_last_}) {
    if (copy != nullptr && copy->id == id) {
      return copy;
    }
  }
  return nullptr;
}

void DirectoryCopies::keep(std::shared_ptr<const DirectoryCopy> copy) {
  const std::lock_guard lock(mutex_);
  before_last_ = std::exchange(newest_, std::move(copy));
}

Result<bool> DirectoryCopies::has_changed() {
  const auto live = version_of(live_, kLive);
  const auto draws = live ? version_of(draws_, kDraws) : propagate(live);
  return draws ? Result<bool>(*live != live_.version || *draws != draws_.version) : propagate(draws);
}

Result<int64_t> DirectoryCopies::version_of(Watched& watched, std::string_view name) const {
  if (!watched.database) {
    auto opened = sqlite::Database::open(path_of(name), sqlite::OpenMode::kRead);
    if (!opened) {
      return propagate(opened);
    }
    watched.database.emplace(*std::move(opened));
  }
  return watched.database->integer("PRAGMA data_version", 0);
}

Result<std::shared_ptr<const DirectoryCopy>> DirectoryCopies::take() {
  const auto identity = read_identity(data_dir_);
  if (!identity) {
    return propagate(identity);
  }
  // Before the moment: what is committed in between counts as a change, and is copied twice.
  const auto live_version = version_of(live_, kLive);
  const auto draws_version = live_version ? version_of(draws_, kDraws) : propagate(live_version);
  if (!draws_version) {
    return propagate(draws_version);
  }
  const int64_t start_ns = monotonic_ns_();
  auto live = sqlite::Database::open(path_of(kLive), sqlite::OpenMode::kRead);
  auto draws = live ? sqlite::Database::open(path_of(kDraws), sqlite::OpenMode::kRead) : propagate(live);
  if (!draws) {
    return propagate(draws);
  }
  auto taken = std::make_shared<DirectoryCopy>();
  taken->id = to_hex(random_bytes(kCopyIdBytes));
  taken->directory_format = static_cast<uint32_t>(kDirectoryFormat);
  taken->directory_id = identity->id;
  taken->rows_address = identity->rows.address;
  taken->rows_insert_quorum = static_cast<uint32_t>(identity->rows.insert_quorum);
  taken->rows_shards = identity->rows.shards;
  const auto moment = same_moment(*live, *draws);
  taken->taken_ns = wall_now_ns();
  Status done = moment ? expect_of_directory(*live, data_dir_, kLive, identity->id) : propagate(moment);
  done = done ? expect_of_directory(*draws, data_dir_, kDraws, identity->id) : done;
  if (!done) {
    return propagate(done);
  }
  auto of_live = copy_database(*live, kLive, kCloseLive);
  auto of_draws = of_live ? copy_database(*draws, kDraws, kCloseDraws) : propagate(of_live);
  if (!of_draws) {
    return propagate(of_draws);
  }
  taken->files.push_back(*std::move(of_live));
  taken->files.push_back(*std::move(of_draws));
  live_.version = *live_version;
  draws_.version = *draws_version;
  current_ns_ = start_ns;
  cost_ns_ = monotonic_ns_() - start_ns;
  return std::shared_ptr<const DirectoryCopy>(std::move(taken));
}

// `last` is run on the copy when it is complete.
Result<DirectoryCopy::File> DirectoryCopies::copy_database(sqlite::Database& database,
                                                           const std::string& name, const char* last) const {
  const std::string path = path_of("copied.fleet." + name);
  const auto remove_all = [&path] {
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
      ::unlink((path + suffix).c_str());
    }
  };
  remove_all();  // what a process has left that was killed
  auto copied = [&]() -> Result<DirectoryCopy::File> {
    if (const Status written = database.copy_to(path); !written) {
      return propagate(written);
    }
    {
      auto made = sqlite::Database::open(path, sqlite::OpenMode::kReadWrite);
      const Status closed = made ? made->run(last) : propagate(made);
      if (!closed) {
        return propagate(closed);
      }
    }
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info{};
    if (!fd.valid() || ::fstat(fd.get(), &info) != 0) {
      return fail_errno(errno, "opening {}", path);
    }
    auto hash = content_hash_of_file(fd, path, UINT64_MAX);
    if (!hash) {
      return propagate(hash);
    }
    return DirectoryCopy::File{.name = name,
                               .fd = std::make_shared<UniqueFd>(std::move(fd)),
                               .bytes = static_cast<uint64_t>(info.st_size),
                               .content_hash = *std::move(hash)};
  }();
  remove_all();
  return copied;
}

}  // namespace plimsoll::store
