#include "bench/store/replay.h"

#include <algorithm>
#include <filesystem>
#include <random>

#include "bench/harness/child.h"
#include "bench/store/generator.h"
#include "store/aggregation/local_rows.h"
#include "store/blocks/block_folder.h"
#include "store/catalogue/catalogue.h"
#include "store/dictionaries/dictionary_reader.h"
#include "store/directory/data_directory.h"
#include "store/model/dictionaries.h"

namespace plimsoll::bench {
namespace {

// Others are text about the files, and what other programs made of them.
bool is_recording(const std::filesystem::path& path) {
  const std::string folder = path.parent_path().filename();
  return (folder == "perf_data" || folder == "pprof" || folder == "autofdo") &&
         path.extension() != ".string" && path.extension() != ".md";
}

Status import_all(const std::string& corpus, const std::string& data) {
  size_t imported = 0;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator entry(corpus, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_regular_file() && is_recording(entry->path())) {
      // Some are damaged, as others will meet them too.
      imported += run_to_end({sibling_program("plimsoll"), "import", "--data", data, entry->path()}) ? 1 : 0;
    }
  }
  return imported > 0 ? Status() : fail(ErrorCode::kNotFound, "nothing below {} could be imported", corpus);
}

StackTree stacks_of(const store::Dictionaries& dictionaries) {
  StackTree tree;
  tree.nodes.assign(dictionaries.stacks.begin(), dictionaries.stacks.end());
  tree.first_stack = 1;
  for (uint32_t location = 0; location < dictionaries.locations.size(); ++location) {
    tree.functions.push_back(location);
    tree.first_frame.push_back(location + 1);
  }
  return tree;
}

Result<std::vector<store::Row>> read_rows(const store::LocalRows& source) {
  std::vector<store::Row> all;
  const auto cursor = source.scan({});
  while (true) {
    const auto rows = cursor->next();
    if (!rows) {
      return propagate(rows);
    }
    if (rows->empty()) {
      std::ranges::sort(all);
      return all;
    }
    all.insert(all.end(), rows->begin(), rows->end());
  }
}

}  // namespace

Result<Recorded> import_recordings(const std::string& corpus, const std::string& folder) {
  const std::string data = folder + "/recorded";
  if (const Status imported = import_all(corpus, data); !imported) {
    return propagate(imported);
  }
  auto directory = store::DataDirectory::open_for_reading(data);
  // An import of this size is one block.
  const auto blocks = directory ? store::list_blocks(directory->blocks_path()) : propagate(directory);
  auto catalogue = blocks ? store::Catalogue::open(blocks->back().catalogue_path(), sqlite::OpenMode::kRead)
                          : propagate(blocks);
  if (!catalogue) {
    return propagate(catalogue);
  }
  std::vector<std::string> paths;
  const Status listed = sqlite::for_each_row(
      catalogue->database().query("SELECT file FROM segment"), [&](const sqlite::Statement& row) {
        paths.push_back(blocks->back().segments_path() + "/" + std::string(row.text(0)));
      });
  const auto dictionaries = listed ? store::load_dictionaries(catalogue->database()) : propagate(listed);
  const auto source = dictionaries ? store::LocalRows::open(paths) : propagate(dictionaries);
  const auto rows = source ? read_rows(*source) : propagate(source);
  if (!rows) {
    return propagate(rows);
  }
  Recorded recorded;
  recorded.events = static_cast<uint32_t>(dictionaries->events.size() - 1);
  recorded.workloads = static_cast<uint32_t>(dictionaries->workloads.size() - 1);
  recorded.stacks = stacks_of(*dictionaries);
  recorded.origins.resize(dictionaries->origins.size());
  for (const store::Row& row : *rows) {
    if (row[store::Column::kStack] != 0) {
      recorded.origins[row[store::Column::kOrigin]].push_back(row);
      ++recorded.rows;
    }
  }
  std::erase_if(recorded.origins, [](const auto& origin) { return origin.empty(); });
  return recorded;
}

void replay(const Recorded& recorded, uint32_t origin, std::vector<store::Row>& rows) {
  std::mt19937_64 random(origin);
  for (store::Row row : recorded.origins[scrambled(origin) % recorded.origins.size()]) {
    row[store::Column::kOrigin] = origin;
    row.hits = std::poisson_distribution<uint64_t>(static_cast<double>(row.hits))(random);
    if (row.hits > 0) {
      rows.push_back(row);
    }
  }
}

}  // namespace plimsoll::bench
