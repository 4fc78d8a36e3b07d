// A data directory that changes while a question reads it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "query/snapshot/snapshot.h"
#include "store/contents/local_source.h"

namespace plimsoll::query {

// Calls `hook` with the files of segments after their list was read, and before they are opened.
inline Result<std::shared_ptr<const Snapshot>> load_hooked(const std::string& data_dir,
                                                           store::BeforeOpening hook) {
  auto source =
      std::make_unique<store::LocalSource>(data_dir, store::default_series_bytes(), std::move(hook));
  return Snapshot::load(std::move(source), store::open_fleet(data_dir), store::all_times());
}

}  // namespace plimsoll::query
