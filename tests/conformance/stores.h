// The stores that the conformance suite of Source and Symbols runs on.
#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "proto/profile_codec.h"
#include "store/building/batch_builder.h"
#include "store/ingest.h"
#include "store/store.h"
#include "tests/conformance/memory_store.h"

namespace plimsoll::testing {

// Takes profiles; its blocks end with so many of them.
class TestedStore {
 public:
  TestedStore() = default;
  TestedStore(const TestedStore&) = delete;
  TestedStore& operator=(const TestedStore&) = delete;
  virtual ~TestedStore() = default;

  virtual Status add(const wire::RawProfile& profile) = 0;
  virtual store::Source& source() = 0;
  virtual store::Symbols& symbols() = 0;
  // The first block, of several: it can be read no more; or it goes.
  virtual Status damage_first() = 0;
  virtual Status drop_first() = 0;
};

// Builds profiles into a sink, a batch of each.
class ProfileAdder {
 public:
  explicit ProfileAdder(store::Sink& sink) : sink_(sink), builder_(sink) {}

  Status add(const wire::RawProfile& profile) {
    const auto place = builder_.begin(true);
    const Status added = place ? builder_.add(profile, ++sequence_) : propagate(place);
    const Status committed = added ? sink_.commit(builder_.take()) : added;
    if (committed) {
      builder_.settle();
    }
    return committed;
  }

 private:
  store::Sink& sink_;
  store::BatchBuilder builder_;
  int64_t sequence_ = 0;
};

class TestedMemoryStore : public TestedStore {
 public:
  explicit TestedMemoryStore(uint64_t max_profiles) : store_(max_profiles) {}

  Status add(const wire::RawProfile& profile) override { return adder_.add(profile); }
  store::Source& source() override { return store_; }
  store::Symbols& symbols() override { return store_; }
  Status damage_first() override {
    store_.damage(0);
    return {};
  }
  Status drop_first() override {
    store_.drop(0);
    return {};
  }

 private:
  MemoryStore store_;
  ProfileAdder adder_{store_.sink()};
};

// A data directory.
class TestedLocalStore : public TestedStore {
 public:
  TestedLocalStore(const std::string& folder, uint64_t max_profiles)
      : data_dir_(folder + "/data"),
        ingest_(*store::Ingest::open(data_dir_, {.block_limits = {.max_profiles = max_profiles}})) {}

  Status add(const wire::RawProfile& profile) override {
    const auto accepted = ingest_->accept(as_bytes(wire::encode(profile)), {});
    const auto built = accepted ? ingest_->build_pending() : propagate(accepted);
    return built ? Status() : propagate(built);
  }
  store::Source& source() override { return *source_; }
  store::Symbols& symbols() override { return *symbols_; }
  Status damage_first() override {
    const auto blocks = ingest_->blocks();
    if (blocks) {
      // A source that has read the block already need not look again.
      std::ofstream(blocks->front().catalogue_path(), std::ios::binary) << "torn";
      source_ = store::open_source(data_dir_);
    }
    return blocks ? Status() : propagate(blocks);
  }
  Status drop_first() override {
    const auto blocks = ingest_->blocks();
    return blocks ? ingest_->drop_block(blocks->front()) : propagate(blocks);
  }

 private:
  const std::string data_dir_;
  std::unique_ptr<store::Ingest> ingest_;
  std::unique_ptr<store::Source> source_ = store::open_source(data_dir_);
  std::unique_ptr<store::Symbols> symbols_ = store::symbols_of(*ingest_);
};

struct StoreImplementation {
  std::string name;
  uint64_t max_profiles = UINT64_MAX;  // of a block
  // It may keep files in `folder`.
  std::function<std::unique_ptr<TestedStore>(const std::string& folder)> make;
  // Why this machine has not what it needs, for GTEST_SKIP(); empty: it has.
  std::string (*why_missing)() = [] { return std::string(); };
  // Whether contents that a caller has keep the rows of blocks that are dropped; else these fail with kUnavailable.
  bool keeps_dropped_rows = true;

  bool has_many_blocks() const { return max_profiles != UINT64_MAX; }
};

// Those of a test program, which are defined in a source of their own: the suite is compiled for each.
std::vector<StoreImplementation> store_implementations();

inline void PrintTo(const StoreImplementation& implementation, std::ostream* out) {
  *out << implementation.name;
}

inline StoreImplementation memory_store(const std::string& name, uint64_t max_profiles) {
  return {.name = name, .max_profiles = max_profiles, .make = [=](const std::string&) {
            return std::make_unique<TestedMemoryStore>(max_profiles);
          }};
}

inline StoreImplementation local_store(const std::string& name, uint64_t max_profiles) {
  return {.name = name, .max_profiles = max_profiles, .make = [=](const std::string& folder) {
            return std::make_unique<TestedLocalStore>(folder, max_profiles);
          }};
}

}  // namespace plimsoll::testing
