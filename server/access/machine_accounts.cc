#include "server/access/machine_accounts.h"

#include <utility>

#include "base/log.h"
#include "base/printable.h"

namespace plimsoll::server {

Result<std::unique_ptr<MachineAccounts>> MachineAccounts::open(store::AccessStore store) {
  std::unique_ptr<MachineAccounts> accounts(new MachineAccounts(std::move(store)));
  auto machines = accounts->store_.machines();
  if (!machines) {
    return propagate(machines, "reading the enrolled machines");
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

std::optional<store::EnrolledMachine> MachineAccounts::known(std::string_view machine_id) const {
  const std::lock_guard lock(mutex_);
  const auto found = machines_.find(machine_id);
  return found == machines_.end() ? std::nullopt : std::optional(found->second);
}

// On disk first: what is acted on survives a crash.
Status MachineAccounts::keep(store::EnrolledMachine machine) {
  if (auto kept = store_.keep(machine); !kept) {
    return propagate(kept, "storing machine {}", machine.id);
  }
  publish(std::move(machine));
  return {};
}

void MachineAccounts::publish(store::EnrolledMachine machine) {
  const std::lock_guard lock(mutex_);
  store::EnrolledMachine& published = machines_[machine.id];
  by_token_hash_.erase(published.token_hash);
  if (!machine.token_hash.empty()) {
    by_token_hash_.insert_or_assign(machine.token_hash, machine.id);
  }
  published = std::move(machine);
}

void MachineAccounts::withdraw(const std::string& machine_id) {
  const std::lock_guard lock(mutex_);
  const auto found = machines_.find(machine_id);
  if (found != machines_.end()) {
    by_token_hash_.erase(found->second.token_hash);
    machines_.erase(found);
  }
}

Status MachineAccounts::enrol(const std::string& machine_id, const std::string& token_hash,
                              const std::string& by, int64_t now_ns) {
  const std::lock_guard store_lock(store_mutex_);
  const auto machine = known(machine_id);
  if (!machine) {
    return machine_of(token_hash)
               ? with_hint(
                     fail(ErrorCode::kDenied, "machine {} sent another machine's token", machine_id),
                     "a disk image was cloned with the daemon's state: remove daemon.state_dir on the clone")
               : keep({machine_id, token_hash, now_ns, by, 0});
  }
  if (machine->revoked_ns != 0) {
    return with_hint(fail(ErrorCode::kDenied, "machine {} is revoked", machine_id),
                     "an administrator can readmit it: plimsoll machines --readmit ID");
  }
  return machine->token_hash == token_hash
             ? Status()
             : with_hint(
                   fail(ErrorCode::kDenied,
                        "machine {} is enrolled already, with another token or a certificate", machine_id),
                   "if it was reinstalled, an administrator can readmit it: plimsoll machines --readmit ID");
}

Status MachineAccounts::know(const std::string& machine_id, int64_t now_ns) {
  const std::lock_guard store_lock(store_mutex_);
  auto machine = known(machine_id);
  if (!machine) {
    return keep({.id = machine_id, .enrolled_ns = now_ns, .enrolled_by = "its certificate"});
  }
  if (machine->token_hash.empty()) {
    return {};
  }
  log_warning("machine {} has a certificate: its token, enrolled by {}, is no longer valid", machine_id,
              printable(machine->enrolled_by));
  machine->token_hash.clear();
  machine->enrolled_by = "its certificate";
  return keep(*std::move(machine));
}

Result<bool> MachineAccounts::revoke(const std::string& machine_id, int64_t now_ns) {
  const std::lock_guard store_lock(store_mutex_);
  auto machine = known(machine_id).value_or(store::EnrolledMachine{.id = machine_id});
  const bool has_been_here = machine.enrolled_ns != 0;
  machine.revoked_ns = now_ns;
  const Status kept = keep(std::move(machine));
  return kept ? Result<bool>(has_been_here) : propagate(kept);
}

Status MachineAccounts::readmit(const std::string& machine_id) {
  const std::lock_guard store_lock(store_mutex_);
  if (!known(machine_id)) {
    return fail(ErrorCode::kNotFound, "no machine {} is enrolled or revoked", machine_id);
  }
  if (auto forgotten = store_.forget(machine_id); !forgotten) {
    return propagate(forgotten, "removing machine {}", machine_id);
  }
  withdraw(machine_id);
  return {};
}

}  // namespace plimsoll::server
