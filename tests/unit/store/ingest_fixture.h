// A data directory that is written, and all that it shows.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "proto/profile_codec.h"
#include "store/dictionaries/dictionary_reader.h"
#include "store/frames/binding_reader.h"
#include "store/ingest.h"
#include "store/model/bindings.h"
#include "tests/profile_fixture.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/segment_fixture.h"

namespace plimsoll::store {

// Everything a data directory shows, by name: "event app thread root;...;leaf" -> hits.
using View = std::map<std::string, uint64_t>;

class IngestTest : public ::testing::Test {
 protected:
  std::unique_ptr<Ingest> open() {
    auto ingest = Ingest::open(path_);
    EXPECT_TRUE(ingest) << ingest.error().text();
    return std::move(*ingest);
  }

  static Result<Accepted> accept(Ingest& ingest, const wire::RawProfile& profile) {
    return ingest.accept(as_bytes(wire::encode(profile)), {});
  }

  static BuildReport build(Ingest& ingest) {
    const auto report = ingest.build_pending();
    EXPECT_TRUE(report) << report.error().text();
    return report.value_or(BuildReport{});
  }

  Catalogue catalogue() {
    auto catalogue = Catalogue::open(path_ + "/blocks/000001/catalogue.db", sqlite::OpenMode::kRead);
    EXPECT_TRUE(catalogue) << catalogue.error().text();
    return std::move(*catalogue);
  }

  int64_t number(const std::string& sql) {
    Catalogue reader = catalogue();
    return reader.database().integer(sql, -1).value_or(-2);
  }

  std::string text(const std::string& sql) {
    Catalogue reader = catalogue();
    auto row = reader.database().query(sql);
    return row && row->step().value_or(false) ? std::string(row->text(0)) : "(none)";
  }

  std::vector<std::string> segment_files() {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(path_ + "/blocks/000001/segments")) {
      files.push_back(entry.path().filename().string());
    }
    std::ranges::sort(files);
    return files;
  }

  std::vector<Row> visible_rows() {
    Catalogue reader = catalogue();
    std::vector<Row> rows;
    auto file = reader.database().query("SELECT file FROM segment ORDER BY file");
    while (file && file->step().value_or(false)) {
      const auto read = read_rows(path_ + "/blocks/000001/segments/" + std::string(file->text(0)));
      EXPECT_TRUE(read) << read.error().text();
      rows.insert(rows.end(), read->begin(), read->end());
    }
    return rows;
  }

  View view() {
    Catalogue reader = catalogue();
    const auto entries = *load_dictionaries(reader.database());
    const auto bindings = *BindingReader::load(reader.database());
    View view;
    for (const Row& row : visible_rows()) {
      std::string stack;
      for (uint32_t node = row[Column::kStack]; node != 0; node = entries.stacks[node].parent) {
        const auto frames = bindings.of(entries.stacks[node].location);
        const std::string name = frames.empty() ? "?" : bindings.functions[frames.front().function];
        stack = stack.empty() ? name : fmt::format("{};{}", name, stack);
      }
      view[fmt::format(
          "{} {} {} {} {}", entries.machines[entries.origins[row[Column::kOrigin]].machine].machine_id,
          entries.events[row[Column::kEvent]].name, entries.workloads[row[Column::kWorkload]].app,
          entries.threads[row[Column::kThread]], stack)] += row.hits;
    }
    return view;
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "data";
};

}  // namespace plimsoll::store
