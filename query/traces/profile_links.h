// From the calls of a trace to profiles of what ran them: by what profiles carry of a replica, else by its machine.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "query/snapshot/snapshot.h"

namespace plimsoll::query {

// Profiles of these times; empty: there are none to look into.
using SnapshotOfTimes = std::function<Result<std::shared_ptr<const Snapshot>>(const store::TimeSpans& times)>;

// Whether a name can stand in a command line as it is: names come from senders of spans, and commands are pasted into shells.
bool is_plain_name(std::string_view name);

// A replica of a trace has the name that its sender gives it: service.instance.id, a pod's name or UID, or a container's ID. The same name
// is the instance of a profile (docs/identity.md), or a label of its processes, where they are named alike.
class ProfileLinks {
 public:
  using Replicas = std::set<std::string, std::less<>>;
  // Only these are looked for.
  explicit ProfileLinks(Replicas replicas = {}) : replicas_(std::move(replicas)) {}

  // What there is in profiles; `encoded`: as store/model/label_set.h has them.
  void add_instance(std::string_view instance);
  void add_labels(std::string_view encoded);
  void add(const store::Dictionaries& dictionaries);

  // For --where of a question about profiles: "instance=NAME", else "label:pod=NAME", else the label whose key comes first, else
  // "hostname=MACHINE". Empty where neither is known, or would not be plain.
  std::string predicate_for(std::string_view replica, std::string_view machine) const;

 private:
  // The dimension of a replica, the best known last: (1, "label:POD_NAME").
  std::map<std::string, std::pair<int, std::string>, std::less<>> dimensions_;
  Replicas replicas_;
};

}  // namespace plimsoll::query
