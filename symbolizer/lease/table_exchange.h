// Between a server's Symbolizer and the requests of symbolizer workers: builds are leased out, and tables come back (docs/symbolizing.md).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/unique_fd.h"
#include "symbolizer/lease/lease_book.h"
#include "symbolizer/repository/repository.h"
#include "symbolizer/search/file_search.h"
#include "symbolizer/worker/remote_tables.h"

namespace plimsoll::symbolizer {

struct ExchangeSettings {
  LeaseLimits limits = {};
  SymbolRoots roots = {};  // of the server's own search
  uint64_t max_table_bytes = uint64_t{1} << 30;
  // Of tables that the Symbolizer has not taken yet: they are files without a name.
  size_t max_delivered = 256;
  uint64_t max_delivered_bytes = uint64_t{4} << 30;
  // Called once a table has come, by the thread that brought it.
  std::function<void()> delivered = {};
  std::function<int64_t()> monotonic_ns = &monotonic_now_ns;
};

// What workers lease: builds with DWARF whose files are all in the repository. A table of theirs is kept if it is of full DWARF, and then
// for good. Everything else the server makes itself: without DWARF that is soon done, and for what other files are needed besides
// (dwz, split DWARF) it looks among its own. Any thread; RemoteTables is for one of them.
class TableExchange : public RemoteTables {
 public:
  // Borrows the repository.
  TableExchange(const BinaryRepository& repository, ExchangeSettings settings);

  bool has_workers() const override;
  bool is_coming(std::string_view identity) const override { return repository_.is_arriving(identity); }
  bool may_offer(const WantedBinary& wanted) override;
  void offer(const WantedBinary& wanted) override;
  bool has(std::string_view identity) const override;
  bool begin_here(std::string_view identity) override;
  std::optional<MappedTable> take(std::string_view identity) override;
  void end_here(std::string_view identity) override;

  // Of workers. Texts are printable, and short (kMaxWorkerBytes, kMaxReasonBytes).
  Result<std::vector<Lease>> lease(std::string_view worker, size_t max_builds);
  bool renew(const LeaseClaim& claim);
  LeaseAnswer check(const LeaseClaim& claim);
  LeaseAnswer fail_lease(const LeaseClaim& claim, std::string_view reason, bool is_final);
  LeaseAnswer give_back(const LeaseClaim& claim);

  // kUnavailable where too many tables wait to be taken for one more.
  Status expect_room() const;
  // A table, as the worker has sent it: checked completely, and then taken or not needed. kCorrupt where it is damaged, not of that build, or not of
  // full DWARF: it counts as a failure of the worker, and another gets the build.
  Result<LeaseAnswer> deliver(const LeaseClaim& claim, const UniqueFd& file);

  std::vector<WorkerAccount> workers();
  int64_t lease_ns() const { return settings_.limits.lease_ns; }
  uint64_t max_table_bytes() const { return settings_.max_table_bytes; }
  const BinaryRepository& repository() const { return repository_; }

 private:
  Result<MappedTable> checked_table(const LeaseClaim& claim, const UniqueFd& file) const;
  LeaseAnswer keep(const LeaseClaim& claim, MappedTable table);
  bool has_full_table(std::string_view build_id) const;
  bool lies_elsewhere(const WantedBinary& wanted) const;
  // Those that no worker took in time.
  void drop_old_tables();

  const BinaryRepository& repository_;
  const ExchangeSettings settings_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  LeaseBook book_;
  std::map<std::string, MappedTable, std::less<>> delivered_;  // by build ID
  uint64_t delivered_bytes_ = 0;
};

inline constexpr size_t kMaxWorkerBytes = 128;
inline constexpr size_t kMaxReasonBytes = 1000;

}  // namespace plimsoll::symbolizer
