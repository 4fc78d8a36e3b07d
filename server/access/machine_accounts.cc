#include "server/access/machine_accounts.h"

#include <utility>

namespace plimsoll::server {

Result<std::unique_ptr<MachineAccounts>> MachineAccounts::open(store::AccessStore store) {
  std::unique_ptr<MachineAccounts> accounts(new MachineAccounts(std::move(store)));
  auto machines = accounts->store_.machines();
  if (!machines) {
    return propagate(machines, "reading which machines have enrolled");
  }
  for (store::EnrolledMachine& machine : *machines) {
    if (!machine.token_hash.empty()) {
      accounts->by_token_hash_.emplace(machine.token_hash, machine.id);
    }
    const std::string id = machine.id;
    accounts->machines_.emplace(id, std::move(machine));
  }
  return accounts;
}

std::optional<std::string> MachineAccounts::machine_of(std::string_view token_hash) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_token_hash_.find(token_hash);
  return found == by_token_hash_.end() ? std::nullopt : std::optional(found->second);
}

bool MachineAccounts::is_revoked(std::string_view machine_id) const {
  const std::lock_guard lock(mutex_);
  const auto found = machines_.find(machine_id);
  return found != machines_.end() && found->second.revoked_ns != 0;
}

// On disk first: what is acted on survives a crash.
Status MachineAccounts::keep(store::EnrolledMachine machine) {
  if (auto kept = store_.keep(machine); !kept) {
    return propagate(kept, "keeping what is known of machine {}", machine.id);
  }
  if (!machine.token_hash.empty()) {
    by_token_hash_.insert_or_assign(machine.token_hash, machine.id);
  }
  const std::string id = machine.id;
  machines_.insert_or_assign(id, std::move(machine));
  return {};
}

Status MachineAccounts::enrol(const std::string& machine_id, const std::string& token_hash,
                              const std::string& by, int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  const auto known = machines_.find(machine_id);
  if (known == machines_.end()) {
    const bool is_anothers = by_token_hash_.contains(token_hash);
    return is_anothers
               ? with_hint(fail(ErrorCode::kDenied, "machine {} shows another machine's token", machine_id),
                           "an image was cloned with its daemon's state: remove that")
               : keep({machine_id, token_hash, now_ns, by, 0});
  }
  const auto& [id, machine] = *known;
  if (machine.revoked_ns != 0) {
    return with_hint(fail(ErrorCode::kDenied, "machine {} is revoked", id),
                     "an administrator may plimsoll machines --readmit it");
  }
  return machine.token_hash == token_hash
             ? Status()
             : with_hint(fail(ErrorCode::kDenied,
                              "machine {} is known already, by another token or a certificate", id),
                         "where it was set up anew, an administrator may plimsoll machines --readmit it");
}

Status MachineAccounts::know(const std::string& machine_id, int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  return machines_.contains(machine_id)
             ? Status()
             : keep({.id = machine_id, .enrolled_ns = now_ns, .enrolled_by = "its certificate"});
}

Status MachineAccounts::revoke(const std::string& machine_id, int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  const auto known = machines_.find(machine_id);
  store::EnrolledMachine machine =
      known == machines_.end() ? store::EnrolledMachine{.id = machine_id} : known->second;
  machine.revoked_ns = now_ns;
  return keep(std::move(machine));
}

Status MachineAccounts::readmit(const std::string& machine_id) {
  const std::lock_guard lock(mutex_);
  const auto known = machines_.find(machine_id);
  if (known == machines_.end()) {
    return fail(ErrorCode::kNotFound, "no machine {} has enrolled or is revoked", machine_id);
  }
  if (auto forgotten = store_.forget(machine_id); !forgotten) {
    return propagate(forgotten, "forgetting machine {}", machine_id);
  }
  by_token_hash_.erase(known->second.token_hash);
  machines_.erase(known);
  return {};
}

}  // namespace plimsoll::server
