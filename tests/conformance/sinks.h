// The implementations of Sink that the conformance suite runs on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "store/directory/data_directory.h"
#include "store/local/local_blocks.h"
#include "store/store.h"
#include "tests/conformance/memory_sink.h"
#include "tests/conformance/shown.h"
#include "tests/store/file_layer.h"

namespace plimsoll::testing {

class TestedSink {
 public:
  TestedSink() = default;
  TestedSink(const TestedSink&) = delete;
  TestedSink& operator=(const TestedSink&) = delete;
  virtual ~TestedSink() = default;

  virtual store::Sink& sink() = 0;
  // As a process that starts finds what the one before it has left. The sink is another one then.
  virtual Status reopen() = 0;
  // As readers see it.
  virtual Result<Shown> shown() = 0;
  // Until stop_failing() what is called fails at a step of that number, from 0, if it has as many.
  virtual void fail_at(uint64_t step) = 0;
  virtual void stop_failing() = 0;
  // How many of a commit's steps make it fail, at least.
  virtual int min_failing_steps() const = 0;
};

class TestedMemorySink : public TestedSink {
 public:
  explicit TestedMemorySink(uint64_t max_profiles) : sink_(max_profiles) {}

  store::Sink& sink() override { return sink_; }
  Status reopen() override { return {}; }
  Result<Shown> shown() override { return sink_.shown(); }
  void fail_at(uint64_t step) override {
    sink_.set_failure(step == 0   ? MemorySink::Failure::kBefore
                      : step == 1 ? MemorySink::Failure::kAfter
                                  : MemorySink::Failure::kNone);
  }
  void stop_failing() override { sink_.set_failure(MemorySink::Failure::kNone); }
  int min_failing_steps() const override { return 2; }

 private:
  MemorySink sink_;
};

// A data directory, read through the door for questions.
class TestedLocalSink : public TestedSink {
 public:
  TestedLocalSink(std::string folder, uint64_t max_profiles, FileFault::Kind failure)
      : folder_(std::move(folder)), max_profiles_(max_profiles), failure_(failure) {}

  store::Sink& sink() override { return blocks_->newest(); }

  Status reopen() override {
    blocks_.reset();
    source_.reset();
    if (directory_ == nullptr) {
      auto directory = store::DataDirectory::open_for_writing(data_dir());
      if (!directory) {
        return propagate(directory);
      }
      directory_ = std::make_unique<store::DataDirectory>(std::move(*directory));
    }
    auto blocks = store::LocalBlocks::open(directory_->blocks_path(), {.max_profiles = max_profiles_},
                                           [] { return int64_t{1'700'000'000} * 1'000'000'000; });
    if (!blocks) {
      return propagate(blocks);
    }
    blocks_ = std::move(*blocks);
    source_ = store::open_source(data_dir());
    return blocks_->remove_leftovers();
  }

  Result<Shown> shown() override {
    const auto contents = source_->newest(store::all_times());
    if (!contents) {
      return propagate(contents);
    }
    auto shown = shown_of(*contents);
    const Status facts = shown ? add_facts(*shown) : propagate(shown);
    return facts ? std::move(shown) : propagate(facts);
  }

  void fail_at(uint64_t step) override { FileLayer::fail(folder_, {.kind = failure_, .first = step}); }
  void stop_failing() override { FileLayer::only_skip_syncs(); }
  // The segment is written, synced and named; what fails of the catalogue's journal is tried again.
  int min_failing_steps() const override { return 3; }

 private:
  std::string data_dir() const { return folder_ + "/data"; }

  // What no question is about.
  Status add_facts(Shown& shown) {
    const auto folders = blocks_->list();
    Status added = folders ? Status() : propagate(folders);
    for (size_t place = 0; added && place < folders->size(); ++place) {
      auto catalogue = store::Catalogue::open((*folders)[place].catalogue_path(), sqlite::OpenMode::kRead);
      added = catalogue ? add_facts(catalogue->database(), shown) : propagate(catalogue);
    }
    return added;
  }

  static Status add_facts(sqlite::Database& catalogue, Shown& shown) {
    const auto binary_of = [](const sqlite::Statement& row) {
      return store::BinaryEntry{static_cast<wire::IdentityKind>(row.integer(0)), row.blob(1),
                                std::string(row.text(2))};
    };
    Status added = sqlite::for_each_row(
        catalogue.query("SELECT archive_sequence, reason FROM unbuildable"),
        [&](const sqlite::Statement& row) {
          shown.facts.insert(fact_of(store::SetAside{row.integer(0), std::string(row.text(1))}));
        });
    added = added ? sqlite::for_each_row(
                        catalogue.query("SELECT identity_kind, identity, path, content FROM kernel_symbols "
                                        "JOIN binary ON binary.id = kernel_symbols.binary"),
                        [&](const sqlite::Statement& row) {
                          shown.facts.insert(fact_of_symbols(binary_of(row), row.blob(3)));
                        })
                  : added;
    return added ? sqlite::for_each_row(
                       catalogue.query("SELECT identity_kind, identity, path, machine_id FROM binary_machine "
                                       "JOIN binary ON binary.id = binary_machine.binary"),
                       [&](const sqlite::Statement& row) {
                         add_machine_fact(binary_of(row), std::string(row.text(3)), shown);
                       })
                 : added;
  }

  const std::string folder_;
  const uint64_t max_profiles_;
  const FileFault::Kind failure_;
  // Once: it would miss the profiles of the batches in its archive, where no sink looks for them.
  std::unique_ptr<store::DataDirectory> directory_;
  std::unique_ptr<store::LocalBlocks> blocks_;
  std::unique_ptr<store::Source> source_;
};

struct SinkImplementation {
  std::string name;
  uint64_t max_profiles = UINT64_MAX;  // of an epoch
  // It may keep files in `folder`.
  std::function<std::unique_ptr<TestedSink>(const std::string& folder)> make;
  // Why this machine has not what it needs, for GTEST_SKIP(); empty: it has.
  std::string (*why_missing)() = [] { return std::string(); };
};

// Those of a test program, which are defined in a source of their own: the suite is compiled for each.
std::vector<SinkImplementation> sink_implementations();

inline void PrintTo(const SinkImplementation& implementation, std::ostream* out) {
  *out << implementation.name;
}

inline SinkImplementation memory_sink(const std::string& name, uint64_t max_profiles) {
  return {.name = name, .max_profiles = max_profiles, .make = [=](const std::string&) {
            return std::make_unique<TestedMemorySink>(max_profiles);
          }};
}

inline SinkImplementation local_sink(const std::string& name, uint64_t max_profiles,
                                     FileFault::Kind failure) {
  return {.name = name, .max_profiles = max_profiles, .make = [=](const std::string& folder) {
            return std::make_unique<TestedLocalSink>(folder, max_profiles, failure);
          }};
}

}  // namespace plimsoll::testing
