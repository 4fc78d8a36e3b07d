// A data directory, an object store in memory that it is copied to, and what comes back from there.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "objects/object_store.h"
#include "store/archive/archive.h"
#include "store/care/check.h"
#include "store/care/object_restore.h"
#include "store/directory/data_directory.h"
#include "store/identity/directory_identity.h"
#include "store/objects/manifest.h"
#include "store/objects/write_behind.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/care_fixture.h"

namespace plimsoll::store {

inline constexpr const char* kRowsAddress = "clickhouse://ch.example.com/plimsoll";

// Objects in memory, and requests that fail.
struct KeptObjects {
  std::map<std::string, std::string> objects = {};
  uint64_t requests = 0;
  uint64_t fails_from = UINT64_MAX;  // this request, and all later ones
  bool does_failed = false;          // what fails first is done all the same
  uint64_t puts = 0;
  std::vector<std::string> put_keys = {};
  std::function<void(const std::string& key)> before_get = {};
};

class MemoryStore : public objects::ObjectStore {
 public:
  explicit MemoryStore(std::shared_ptr<KeptObjects> kept) : kept_(std::move(kept)) {}

  Status put(const std::string& key, Bytes content) override {
    if (begin()) {
      kept_->objects[key] = std::string(as_text(content));
      ++kept_->puts;
      kept_->put_keys.push_back(key);
    }
    return end();
  }
  Result<std::string> get(const std::string& key, uint64_t max_bytes) override {
    if (kept_->before_get) {
      kept_->before_get(key);
    }
    begin();
    if (const Status ended = end(); !ended) {
      return propagate(ended);
    }
    const auto object = kept_->objects.find(key);
    if (object == kept_->objects.end()) {
      return fail(ErrorCode::kNotFound, "no object {}", key);
    }
    return object->second.size() <= max_bytes ? Result<std::string>(object->second)
                                              : fail(ErrorCode::kTooLarge, "too large: {}", key);
  }
  Result<std::vector<objects::ObjectInfo>> list(const std::string& prefix) override {
    begin();
    if (const Status ended = end(); !ended) {
      return propagate(ended);
    }
    std::vector<objects::ObjectInfo> listed;
    for (const auto& [key, content] : kept_->objects) {
      if (key.starts_with(prefix)) {
        listed.push_back({key, content.size()});
      }
    }
    return listed;
  }
  Status remove(const std::string& key) override {
    if (begin()) {
      kept_->objects.erase(key);
    }
    return end();
  }

 private:
  // Whether the request is carried out.
  bool begin() {
    const uint64_t number = kept_->requests++;
    return number < kept_->fails_from || (number == kept_->fails_from && kept_->does_failed);
  }
  Status end() const {
    return kept_->requests <= kept_->fails_from ? Status()
                                                : fail(ErrorCode::kUnavailable, "the store does not answer");
  }

  std::shared_ptr<KeptObjects> kept_;
};

class CareObjectsTest : public ::testing::Test {
 protected:
  static void expect_sound(const std::string& path) {
    const auto report = check_store(path);
    ASSERT_TRUE(report) << report.error().text();
    for (const Finding& finding : report->findings) {
      ADD_FAILURE() << finding.file << ": " << finding.what;
    }
  }

  WriteBehind writer(const WriteBehindOptions& options = {}) {
    WriteBehindOptions with_clock = options;
    with_clock.now_ns = [this] { return now_ns_; };
    return WriteBehind(path_, std::make_unique<MemoryStore>(kept_), with_clock);
  }

  // Until nothing is left.
  static Status write_all(WriteBehind& behind) {
    while (true) {
      const auto report = behind.run();
      if (!report || report->is_complete) {
        return report ? Status() : propagate(report);
      }
    }
  }

  Result<ObjectRestoreReport> restored() {
    MemoryStore store(kept_);
    return restore_from_objects(store, "memory", restored_);
  }

  // Whether what the store has comes back; it is gone afterwards.
  void expect_comes_back() {
    const auto report = restored();
    ASSERT_TRUE(report) << report.error().text();
    expect_sound(restored_);
    std::filesystem::remove_all(restored_);
  }

  static void touch(const std::string& path) {
    std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
  }

  Manifest manifest() const { return *parse_manifest(kept_->objects.at(kManifestKey)); }

  // Starts what a server does first: raw profiles become rows.
  static void build_rows(const std::string& path, uint64_t per_block) {
    const auto ingest = Ingest::open(path, {.block_limits = {.max_profiles = per_block}});
    ASSERT_TRUE(ingest) << ingest.error().text();
    while ((*ingest)->build_pending()->profiles > 0) {
    }
  }

  // A directory whose rows are said to be elsewhere, where no test asks for them.
  void make_with_rows_elsewhere() {
    ASSERT_TRUE(DataDirectory::open_for_writing(path_));
    auto identity = read_identity(path_);
    ASSERT_TRUE(identity) << identity.error().text();
    identity->rows = {.address = kRowsAddress, .password_file = "/etc/plimsoll/clickhouse"};
    ASSERT_TRUE(write_identity(path_, *identity));
  }

  std::unique_ptr<Archive> archive() {
    auto opened = Archive::open(path_ + "/archive.db", sqlite::OpenMode::kReadWriteShrinking);
    EXPECT_TRUE(opened) << opened.error().text();
    return opened ? *std::move(opened) : nullptr;
  }

  // Profiles `first` to `last`, of which no rows are made here.
  void accept(uint64_t first, uint64_t last) {
    const auto accepting = archive();
    for (uint64_t seed = first; seed <= last; ++seed) {
      const auto profile = plimsoll::testing::care_profile(seed);
      ASSERT_EQ(accepting->accept(profile.profile_id(), as_bytes(wire::encode(profile)), now_ns_,
                                  Arrival::kUploaded),
                Acceptance::kNew);
    }
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "data";
  std::string restored_ = folder_ / "restored";
  int64_t now_ns_ = 1'700'000'000'000'000'000;
  std::shared_ptr<KeptObjects> kept_ = std::make_shared<KeptObjects>();
};

}  // namespace plimsoll::store
