// A data directory that changes while a question reads it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "query/snapshot/snapshot.h"
#include "store/contents/local_source.h"

namespace plimsoll::query {

class HookedSource : public store::LocalSource {
 public:
  HookedSource(const std::string& data_dir, store::BeforeOpening hook)
      : LocalSource(data_dir), hook_(std::move(hook)) {}

  Result<store::Contents> newest(const store::TimeSpans& times) override {
    return LocalSource::newest(times, hook_);
  }

 private:
  store::BeforeOpening hook_;
};

// Calls `hook` with the files of segments after their list was read, and before they are opened.
inline Result<std::shared_ptr<const Snapshot>> load_hooked(const std::string& data_dir,
                                                           store::BeforeOpening hook) {
  return Snapshot::load(std::make_unique<HookedSource>(data_dir, std::move(hook)),
                        store::open_fleet(data_dir), store::all_times());
}

}  // namespace plimsoll::query
