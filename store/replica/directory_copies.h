// Copies of what questions need of a data directory beside its rows, for processes on other machines (store/replica/copied_directory.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/unique_fd.h"
#include "sqlite/database.h"

namespace plimsoll::store {

// live.db and draws.db as of one moment: a draw is of machines that are there, with the weights that it was made with. Without what only
// the writer needs (the seed of future draws, the log of stops). Immutable; the files have no names, and are gone with the last that holds
// them.
struct DirectoryCopy {
  struct File {
    std::string name;  // "live.db"
    std::shared_ptr<const UniqueFd> fd;
    uint64_t bytes = 0;
    std::string content_hash;  // XXH3-128
  };
  std::string id;        // random, in hexadecimal
  int64_t taken_ns = 0;  // wall clock
  uint32_t directory_format = 0;
  std::string directory_id = {};
  std::string rows_address = {};
  uint32_t rows_insert_quorum = 0;
  std::vector<std::string> rows_shards = {};
  std::vector<File> files = {};
};

// Of the directory that this process writes. Any thread. The newest copy is kept, which takes as much disk as the databases, and the one before
// it, for those that are fetching it.
class DirectoryCopies {
 public:
  enum class Wanted : uint8_t {
    kRecent,  // some seconds old, or ten times as old as it took to make: what has changed since may be missing
    kNewest,  // has all that was committed when it was asked for
  };
  struct Found {
    std::shared_ptr<const DirectoryCopy> copy;
    int64_t age_ns = 0;  // how long before the call it was current; 0: it has all that was there then
  };

  explicit DirectoryCopies(std::string data_dir, std::function<int64_t()> monotonic_ns = monotonic_now_ns)
      : data_dir_(std::move(data_dir)), monotonic_ns_(std::move(monotonic_ns)) {}

  // Makes a copy where that is needed, which takes as long as reading and writing the databases; `check_room` is asked before. Others that ask
  // meanwhile wait for it. Writers of the databases are not kept waiting, but for those of draws, for milliseconds.
  Result<Found> get(Wanted wanted, const std::function<Status(uint64_t bytes)>& check_room = {});

  // Null: newer ones have taken its place.
  std::shared_ptr<const DirectoryCopy> find(std::string_view id) const;

 private:
  // A connection that sees whether others have committed since it looked last.
  struct Watched {
    std::optional<sqlite::Database> database = {};
    int64_t version = 0;
  };

  std::string path_of(std::string_view name) const;
  Result<bool> has_changed();
  Result<std::shared_ptr<const DirectoryCopy>> take();
  Result<int64_t> version_of(Watched& watched, std::string_view name) const;
  Result<DirectoryCopy::File> copy_database(sqlite::Database& database, const std::string& name,
                                            const char* last) const;
  void keep(std::shared_ptr<const DirectoryCopy> copy);

  const std::string data_dir_;
  const std::function<int64_t()> monotonic_ns_;

  std::mutex making_;  // held while a copy is made
  Watched live_;       // protected by making_, as all below
  Watched draws_;
  int64_t current_ns_ = 0;  // the newest copy has what was committed by then, by the monotonic clock
  int64_t cost_ns_ = 0;     // what making it took

  mutable std::mutex mutex_;                          // held for moments
  std::shared_ptr<const DirectoryCopy> newest_;       // protected by mutex_; null: there is none yet
  std::shared_ptr<const DirectoryCopy> before_last_;  // likewise
};

}  // namespace plimsoll::store
