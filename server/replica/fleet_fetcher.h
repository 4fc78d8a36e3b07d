// Fetches copies of the primary server's machines and draws (server/doors/directory_door.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "http/client.h"
#include "proto/directory.pb.h"
#include "store/replica/copied_directory.h"

namespace plimsoll::server {

struct FetcherSettings {
  http::ClientOptions client;
  std::string folder;                       // gets a folder of its own for each copy
  uint64_t max_bytes = uint64_t{64} << 30;  // of a copy
};

// One thread at a time.
class FleetFetcher {
 public:
  struct Fetched {
    std::shared_ptr<store::CopiedDirectory> copy;  // null: the caller has the newest
    int64_t age_ns = 0;  // how long before the request the newest was current, to the second
  };

  explicit FleetFetcher(FetcherSettings settings);

  // The newest copy unless that is `known` (null: none). `wants_all`: it has all that was committed at the primary when this was called. Files
  // go to the disk while they arrive, and one that `known` has is copied from there; a copy is there as a whole, checked, or not at all.
  // Where a newer copy takes the place of one that is being fetched, that one is fetched.
  Result<Fetched> fetch(const store::CopiedDirectory* known, bool wants_all);

 private:
  Result<Fetched> fetch_once(const store::CopiedDirectory* known, bool wants_all);
  Result<std::shared_ptr<store::CopiedDirectory>> fetch_files(const store::CopiedDirectory* known,
                                                              const wire::DirectoryCopy& facts);
  Status fetch_file(const store::CopiedDirectory* known, const wire::DirectoryCopy& facts,
                    const wire::DirectoryCopy::File& file, const std::string& path);

  const FetcherSettings settings_;
  http::Client client_;
};

}  // namespace plimsoll::server
