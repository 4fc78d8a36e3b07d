// Which builds symbolizer workers have leased from a server, and until when. A lease keeps two from doing the same work; it guards nothing, since
// a build has the same table on every worker: a book that is lost with its process costs time alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "symbolizer/repository/binary_facts.h"

namespace plimsoll::symbolizer {

struct LeaseLimits {
  int64_t lease_ns = 30 * kNsPerSecond;  // from its begin, or its newest renewal
  int64_t max_lent_ns =
      3600 * kNsPerSecond;  // from a build's first lease: then the server makes the table itself
  int64_t offer_ttl_ns =
      900 * kNsPerSecond;  // of offers that are not repeated, and of tables that are not taken
  int64_t worker_ttl_ns = 600 * kNsPerSecond;
  // From a build's first offer, while workers ask: they go before the server, whose processors have other things to do. What they do not get
  // to by then the server does as well.
  int64_t grace_ns = 5 * kNsPerSecond;
  size_t max_offers = 1000;
  size_t max_leases = 1024;
  size_t max_leases_of_worker = 32;
  size_t max_workers = 64;
  unsigned max_leases_of_build = 20;
  unsigned max_failures_of_build = 3;
};

// A file of the repository that a table is made of.
struct LeasedFile {
  BinaryKind kind = BinaryKind::kExecutable;
  uint64_t size_bytes = 0;
  std::string content_hash = {};  // as in BinaryFacts
};

struct Lease {
  std::string id = {};
  std::string build_id = {};  // bytes
  std::vector<LeasedFile> files = {};
};

// What a worker names when it speaks of a lease.
struct LeaseClaim {
  std::string_view worker;
  std::string_view id;
  std::string_view build_id;
};

enum class LeaseAnswer : uint8_t {
  kWanted,     // the lease is known, if perhaps over, and nothing has come for the build
  kNotNeeded,  // the build has its table, or the server makes it, or it is not known any more
  kNotLeased,  // the build is wanted, and that worker never had that lease
};

// Of one worker since the server's start. Forgotten some time after its newest request.
struct WorkerAccount {
  std::string name = {};
  int64_t newest_request_ns = 0;  // monotonic
  size_t leases = 0;              // now
  uint64_t tables = 0;            // accepted
  uint64_t failures = 0;          // that it said itself
  uint64_t refused = 0;           // tables that were not what they were to be
  uint64_t expired = 0;           // leases that it neither renewed nor answered
  std::string newest_failure = {};
};

// One thread at a time. Times are of one monotonic clock, and never go back. Offers and the server's own calls cost a look-up, those of
// workers time in proportion to the builds in the book.
class LeaseBook {
 public:
  // `id_prefix` tells the leases of one book from those of another process.
  LeaseBook(const LeaseLimits& limits, std::string id_prefix)
      : limits_(limits), id_prefix_(std::move(id_prefix)) {}

  // Whether a worker has asked lately.
  bool has_workers(int64_t now_ns) const;

  // Whether the build is in the book; it then stays for another while, and keeps its place among those that are repeated with it.
  bool repeat_offer(std::string_view build_id, int64_t now_ns);
  // Workers get builds in the order in which they are offered. False where there is no room for more.
  bool offer(std::string_view build_id, std::vector<LeasedFile> files, int64_t now_ns);

  // Before the server makes a table itself, or takes one that has come. False while a worker has the build, or may soon take it: the server leaves it
  // alone.
  bool begin_here(std::string_view build_id, int64_t now_ns);
  // The build is done.
  void end_here(std::string_view build_id);
  // Whether a table has come that was not taken yet.
  bool is_delivered(std::string_view build_id) const;
  // Between begin_here() and end_here().
  bool is_here(std::string_view build_id) const;

  // As many builds as there are, the limits permit and `max_builds` says. kUnavailable: there are too many workers.
  Result<std::vector<Lease>> lease(std::string_view worker, size_t max_builds, int64_t now_ns);

  // Makes a lease last again. False: it is over, and its work not needed.
  bool renew(const LeaseClaim& claim, int64_t now_ns);
  // Of a lease by which a worker fetches files, or brings a table.
  LeaseAnswer check(const LeaseClaim& claim, int64_t now_ns);

  // Where the answer is kWanted: the table has come; the worker could not make it, and if `is_final` none can; what it brought was refused;
  // it does not want to go on.
  LeaseAnswer deliver(const LeaseClaim& claim, int64_t now_ns);
  LeaseAnswer fail_lease(const LeaseClaim& claim, std::string_view reason, bool is_final, int64_t now_ns);
  LeaseAnswer refuse_table(const LeaseClaim& claim, std::string_view reason, int64_t now_ns);
  LeaseAnswer give_back(const LeaseClaim& claim, int64_t now_ns);

  // By name.
  std::vector<WorkerAccount> workers(int64_t now_ns);
  size_t offers() const;

 private:
  enum class State : uint8_t {
    kOffered,
    kLeased,
    kDelivered,  // its table waits for the server's pass
    kHere,       // the server is at it
    kLeft,       // to the server: no worker gets it any more
  };
  struct Item {
    State state = State::kOffered;
    std::vector<LeasedFile> files = {};
    uint64_t place = 0;
    int64_t first_offered_ns = 0;
    int64_t offered_ns = 0;       // the newest time
    int64_t first_leased_ns = 0;  // 0: never
    int64_t lease_ends_ns = 0;
    int64_t delivered_ns = 0;
    unsigned failures = 0;
    std::vector<std::pair<std::string, std::string>> leases = {};  // ID and worker, the newest last
  };
  struct Failure {
    uint64_t WorkerAccount::* count;
    std::string_view reason;
    unsigned weight;  // of max_failures_of_build
  };
  using Items = std::map<std::string, Item, std::less<>>;

  // Ends leases that are over, and forgets what is no longer offered or taken.
  void expire(int64_t now_ns);
  void expire(Item& item, int64_t now_ns);
  bool has_asked_within(int64_t time_ns, int64_t now_ns) const;
  bool may_be_lent(const Item& item, int64_t now_ns) const;
  // To workers if they may have it still, else to the server.
  void put_back(Item& item, int64_t now_ns) const;
  Item* wanted_item(const LeaseClaim& claim, int64_t now_ns, LeaseAnswer& answer);
  WorkerAccount* account_of(std::string_view worker, int64_t now_ns);
  size_t leases_of(std::string_view worker) const;
  LeaseAnswer end_without_table(const LeaseClaim& claim, const Failure& failure, int64_t now_ns);

  const LeaseLimits limits_;
  const std::string id_prefix_;
  Items items_;  // by build ID
  std::map<std::string, WorkerAccount, std::less<>> workers_;
  uint64_t next_place_ = 0;
  uint64_t next_lease_ = 0;
};

}  // namespace plimsoll::symbolizer
