// access.db: machines that have enrolled, and who has asked for what.
//
// A database of its own: daemons and people write it while rows are built, and what it holds outlives the catalogue, which can be made
// again. Of tokens it has the SHA-256 alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sqlite/database.h"
#include "store/access/access_log.h"

namespace plimsoll::store {

struct EnrolledMachine {
  std::string id = {};
  std::string token_hash = {};  // in hexadecimal; empty: it has none, being known by a certificate
  int64_t enrolled_ns = 0;
  std::string enrolled_by = {};  // the name of the token that permitted it
  int64_t revoked_ns = 0;        // 0: it is not
};

// Stands for callers beyond the limit of separate entries. Unknown callers are "unauthenticated".
inline constexpr const char* kOtherCallers = "(others)";

// When something is written. How much time has passed since the last time is by a clock that cannot be set.
struct WrittenAt {
  int64_t now_ns = 0;  // wall clock
  int64_t passed_ns = 0;
};

// What is left of what was asked for: no more than each of these. Time counts where the wall clock says that it has passed and the server has
// run for it, so that a clock that is set ahead deletes nothing.
struct KeptRequests {
  int64_t all_ns = 0;                // since they last came
  int64_t refused_strangers_ns = 0;  // the same, of what was refused to those two
  int64_t max_rows = 0;              // the oldest go first
};

// One connection: one thread at a time.
class AccessStore {
 public:
  static Result<AccessStore> open(const std::string& path, sqlite::OpenMode mode);
  // For reading; nothing where there is no file: its directory has had no server that kept it.
  static Result<std::optional<AccessStore>> open_if_there(const std::string& path);

  Result<std::vector<EnrolledMachine>> machines();
  // Adds it, or puts it in place of that with its ID. On disk when it returns.
  Status keep(const EnrolledMachine& machine);
  Status forget(std::string_view machine_id);

  // All or none of them; then what is not to be kept any more is deleted. On disk when it returns.
  Status add(const std::vector<AskedFor>& asked, WrittenAt written, const KeptRequests& kept);
  // The newest first, `limit` at most, those that last came at `since_ns` or later.
  Result<std::vector<AskedFor>> newest(size_t limit, int64_t since_ns);
  // Those that asked last first, of requests that last came at `since_ns` or later. Reads all of these.
  Result<std::vector<CallerUse>> callers(size_t limit, int64_t since_ns);

 private:
  explicit AccessStore(sqlite::Database database) : database_(std::move(database)) {}
  Status create_tables();
  Status delete_old(int64_t now_ns, int64_t served_ns, const KeptRequests& kept);

  sqlite::Database database_;
};

}  // namespace plimsoll::store
