// A small data directory of everything: blocks, merged segments, branch records, names, symbols of a kernel, draws, accounts.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "proto/profile_codec.h"
#include "store/access/access_store.h"
#include "store/compaction/compactor.h"
#include "store/draws/draw_store.h"
#include "store/ingest.h"
#include "store/live/live_machines.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {

inline wire::RawProfile care_profile(uint64_t seed) {
  wire::RawProfile profile = make_profile(
      {.seed = seed,
       .machine = "m" + std::to_string(seed % 3),
       .from_ns = static_cast<int64_t>(seed) * 10'000'000'000,
       .events = {{.name = "cycles", .scale = 1000}, {.name = "page-faults"}},
       .job = seed % 2 == 0 ? "db" : "web",
       .stacks = "main;parse;lex@lex.cc:12 30\nmain;read " + std::to_string(seed) +
                 "\nthread=io event=page-faults main;outer>inner 4\nmain;f" + std::to_string(seed) + " 2\n",
       .branches = "main;parse 7 2\n"});
  wire::Binary kernel;
  kernel.set_identity_kind(wire::GNU_BUILD_ID);
  kernel.set_identity("kernel");
  kernel.set_path("[kernel]");
  add_sample(profile, kernel, wire::KERNEL, 0x1000 + seed, 5);
  if (seed % 4 == 1) {
    profile.mutable_kernel_symbols()->add_images()->set_binary(0);
  }
  return profile;
}

// Profiles `first` to `last`, `per_block` in each block, one by one, so that there are segments to merge.
inline void fill_care_directory(const std::string& path, uint64_t first, uint64_t last, uint64_t per_block) {
  auto ingest = store::Ingest::open(path, {.block_limits = {.max_profiles = per_block}});
  ASSERT_TRUE(ingest) << ingest.error().text();
  ASSERT_TRUE((*ingest)->directory().open_draws());
  ASSERT_TRUE((*ingest)->directory().open_access());
  {
    auto accounts =
        *store::AccessStore::open((*ingest)->directory().access_path(), sqlite::OpenMode::kReadWrite);
    ASSERT_TRUE(accounts.keep(
        {.id = "m1", .token_hash = "ab", .enrolled_ns = 3, .enrolled_by = "rack", .revoked_ns = 4}));
  }
  for (uint64_t seed = first; seed <= last; ++seed) {
    ASSERT_TRUE((*ingest)->accept(as_bytes(wire::encode(care_profile(seed))), {}));
    ASSERT_TRUE((*ingest)->build_pending());
  }
  const auto compactor = *store::Compactor::open(**ingest, store::CompactionLimits());
  ASSERT_TRUE(compactor->merge_all());
}

}  // namespace plimsoll::testing
