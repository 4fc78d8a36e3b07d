// The machines that have enrolled: which token is whose, and whose counts no more.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/access/access_store.h"

namespace plimsoll::server {

// A machine makes a token of its own and shows it with the one that permits it to enrol. From then on the first is the machine's, for
// good: the second cannot replace it. Any thread may call.
class MachineAccounts {
 public:
  static Result<std::unique_ptr<MachineAccounts>> open(store::AccessStore store);

  // Whose token has this hash (http::token_hash()); nothing: no machine's.
  std::optional<std::string> machine_of(std::string_view token_hash) const;
  bool is_revoked(std::string_view machine_id) const;

  // Again with the same token: nothing more happens. kDenied where the machine has another token, or is revoked. `by`: the name of the token
  // that permits it.
  Status enrol(const std::string& machine_id, const std::string& token_hash, const std::string& by,
               int64_t now_ns);
  // A machine is here that has shown a certificate: from now on no token makes another one of it.
  // A token that was enrolled in its name counts no more.
  Status know(const std::string& machine_id, int64_t now_ns);
  // From now on neither its token nor a certificate in its name counts, and it cannot enrol again. False: no machine of that ID has been
  // here so far.
  Result<bool> revoke(const std::string& machine_id, int64_t now_ns);
  // Forgets what there is of it: it may enrol as if it were new. kNotFound where there is nothing.
  Status readmit(const std::string& machine_id);

 private:
  explicit MachineAccounts(store::AccessStore store) : store_(std::move(store)) {}
  Status keep(store::EnrolledMachine machine);
  std::optional<store::EnrolledMachine> known(std::string_view machine_id) const;
  void publish(store::EnrolledMachine machine);
  void withdraw(const std::string& machine_id);

  std::mutex store_mutex_;    // held by a thread that changes something, while the disk takes its time
  store::AccessStore store_;  // guarded by store_mutex_
  mutable std::mutex mutex_;  // held for moments: every request of a machine takes it
  // Guarded by mutex_; changed only with store_mutex_ held too.
  std::map<std::string, store::EnrolledMachine, std::less<>> machines_;  // by ID
  std::map<std::string, std::string, std::less<>> by_token_hash_;        // to the ID
};

}  // namespace plimsoll::server
