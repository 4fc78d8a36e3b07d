// A data directory filled from texts, and questions to it, answered as texts.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/profile_codec.h"
#include "query/views/top.h"
#include "store/frames/binding_writer.h"
#include "store/ingest.h"
#include "store/model/bindings.h"
#include "tests/profile_fixture.h"
#include "tests/temporary_directory.h"

namespace plimsoll::query {

using plimsoll::testing::add_sample;
using plimsoll::testing::make_profile;
using plimsoll::testing::ProfileSpec;

// When profiles begin that do not say it.
inline const int64_t kProfileStartNs = ProfileSpec().from_ns;

class Fleet {
 public:
  explicit Fleet(const store::BlockLimits& limits = {})
      : ingest_(*store::Ingest::open(path_, {.block_limits = limits})) {}

  void add(const wire::RawProfile& profile) {
    const auto accepted = ingest_->accept(as_bytes(wire::encode(profile)), {});
    ASSERT_TRUE(accepted) << accepted.error().text();
    ASSERT_EQ(accepted->acceptance, store::Acceptance::kNew) << "profiles need different seeds";
    const auto built = ingest_->build_pending();
    ASSERT_TRUE(built) << built.error().text();
    ASSERT_EQ(built->profiles, 1);
  }
  void add(const ProfileSpec& spec) { add(make_profile(spec)); }

  // A machine that registers, and may or may not send profiles.
  void register_machine(const std::string& id) {
    wire::Machine machine;
    machine.set_id(id);
    ASSERT_TRUE(ingest_->with_machines(
        [&](store::LiveMachines& machines) { return machines.register_machine(machine, 1, 0); }));
  }

  // Names locations, by their dictionary IDs, again.
  void bind(const std::vector<store::Binding>& bindings) {
    ASSERT_TRUE(ingest_->write_catalogue(ingest_->blocks()->back(), [&](sqlite::Database& catalogue) {
      return store::BindingWriter(catalogue).bind(bindings, 2);
    }));
  }

  Result<Table> top(const Parameters& parameters) const {
    const auto request = parse_top(parameters, 0);
    if (!request) {
      return propagate(request);
    }
    // What has followed the directory all along answers as what reads all of it now.
    const auto followed = snapshots_->newest();
    const auto read = Snapshot::load(path_);
    if (!followed || !read) {
      return !followed ? propagate(followed) : propagate(read);
    }
    const auto table = query::top(*request, **read);
    const auto same = query::top(*request, **followed);
    EXPECT_EQ(table.has_value(), same.has_value());
    if (table && same) {
      EXPECT_EQ(table->rows, same->rows);
      EXPECT_EQ(table->notes, same->notes);
    }
    return table;
  }

  const std::string& path() const { return path_; }
  store::Ingest& ingest() { return *ingest_; }

 private:
  testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "data";
  std::unique_ptr<store::Ingest> ingest_;
  std::unique_ptr<SnapshotCache> snapshots_ = std::make_unique<SnapshotCache>(path_);
};

// A line for each row: its dimensions' texts, self and total, between spaces, "-" for an empty one: "m1 main 3 10".
// An error's text where there is one.
inline std::string brief(const Result<Table>& table) {
  if (!table) {
    return table.error().text();
  }
  std::string text;
  for (const auto& row : table->rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string space = line.empty() ? "" : " ";
      if (table->columns[i].name.ends_with("margin_kind")) {
        continue;
      }
      if (const auto* name = std::get_if<std::string>(&row[i])) {
        line += space + (name->empty() ? "-" : *name);
      } else if (table->columns[i].name == "self" || table->columns[i].name == "total") {
        line += fmt::format("{}{:.12g}", space, std::get<double>(row[i]));
      }
    }
    text += line + "\n";
  }
  return text;
}

// The CSV with the line ends of a text in a test.
inline std::string csv(const Result<Table>& table) {
  if (!table) {
    return table.error().text();
  }
  std::string text = to_csv(*table);
  std::erase(text, '\r');
  return text;
}

}  // namespace plimsoll::query
