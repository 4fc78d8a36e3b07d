#include "store/copy/local_parts.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/durable_file.h"
#include "sqlite/database.h"
#include "store/aggregation/local_rows.h"
#include "store/catalogue/catalogue.h"
#include "store/catalogue/file_version.h"
#include "store/catalogue/segment_table.h"
#include "store/copy/part_catalogue.h"
#include "store/copy/part_facts.h"
#include "store/copy/part_names.h"
#include "store/copy/part_segments.h"
#include "store/dictionaries/dictionary_reader.h"

namespace plimsoll::store {
namespace {

Result<std::shared_ptr<const RowSource>> open_rows(const BlockFolder& block, sqlite::Database& catalogue) {
  const auto segments = visible_segments(catalogue);
  if (!segments) {
    return propagate(segments);
  }
  std::vector<std::string> paths;
  for (const SegmentEntry& segment : *segments) {
    paths.push_back(block.segments_path() + "/" + segment.file);
  }
  auto rows = LocalRows::open(paths);
  return rows ? Result<std::shared_ptr<const RowSource>>(std::make_shared<const LocalRows>(std::move(*rows)))
              : propagate(rows);
}

Status make_empty_block(const BlockFolder& block) {
  std::error_code error;
  std::filesystem::remove_all(block.path, error);
  if (!error) {
    std::filesystem::create_directories(block.segments_path(), error);
  }
  return error ? Status(fail_errno(error.value(), "creating {}", block.path)) : Status();
}

Status name_block(const BlockFolder& made, const BlockFolder& block, const std::string& blocks_path) {
  Status named = sync_folder(made.segments_path());
  named = named ? sync_folder(made.path) : named;
  if (!named) {
    return named;
  }
  std::error_code error;
  std::filesystem::rename(made.path, block.path, error);
  return error ? Status(fail_errno(error.value(), "renaming {} to {}", made.path, block.path))
               : sync_folder(blocks_path);
}

}  // namespace

Result<std::vector<BlockFolder>> LocalParts::blocks() const {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(blocks_path_, error), end; !error && entry != end;
       entry.increment(error)) {
    if (block_at(entry->path().string()).number != 0) {
      return list_blocks(blocks_path_);
    }
  }
  return error && error != std::errc::no_such_file_or_directory
             ? Result<std::vector<BlockFolder>>(fail_errno(error.value(), "listing {}", blocks_path_))
             : std::vector<BlockFolder>();
}

Result<BlockFolder> LocalParts::block(int64_t number) const {
  const auto all = blocks();
  if (!all) {
    return propagate(all);
  }
  const auto found = std::ranges::find(*all, number, &BlockFolder::number);
  return found == all->end() ? fail(ErrorCode::kNotFound, "{} has no block {}", blocks_path_, number)
                             : Result<BlockFolder>(*found);
}

Result<std::vector<PartState>> LocalParts::parts() {
  const auto all = blocks();
  if (!all) {
    return propagate(all);
  }
  std::vector<PartState> parts;
  for (const BlockFolder& block : *all) {
    const auto version = file_version(block.catalogue_path());
    if (!version) {
      return propagate(version, "looking at block {}", block.number);
    }
    parts.push_back({.number = block.number, .version = fmt::format("{}-{}", block.generation, *version)});
  }
  return parts;
}

Result<CopiedPart> LocalParts::read(int64_t number) {
  const auto block = this->block(number);
  auto catalogue =
      block ? Catalogue::open(block->catalogue_path(), sqlite::OpenMode::kRead) : propagate(block);
  const auto transaction =
      catalogue ? sqlite::Transaction::begin_read(catalogue->database()) : propagate(catalogue);
  if (!transaction) {
    return propagate(transaction);
  }
  CopiedPart part{.number = number};
  auto rows = open_rows(*block, catalogue->database());
  auto entries = rows ? load_dictionaries(catalogue->database()) : propagate(rows);
  if (!entries) {
    return propagate(entries);
  }
  part.rows = std::move(*rows);
  part.entries = std::move(*entries);
  const Status read = read_part_facts(catalogue->database(), part);
  return read ? Result<CopiedPart>(std::move(part)) : propagate(read);
}

Status LocalParts::read_names(int64_t number, const UseNames& use) {
  const auto block = this->block(number);
  auto catalogue =
      block ? Catalogue::open(block->catalogue_path(), sqlite::OpenMode::kRead) : propagate(block);
  return catalogue ? read_part_names(catalogue->database(), use) : propagate(catalogue);
}

Status LocalParts::write(CopiedPart part, RowCursor& rows, const ReadNames& read_names) {
  const auto there = blocks();
  if (!there) {
    return propagate(there);
  }
  const int64_t newest = there->empty() ? part.number - 1 : there->back().number;
  if (newest >= part.number) {
    return fail(ErrorCode::kConflict, "block {} does not follow block {}", part.number, newest);
  }
  const std::string merged = newest + 1 < part.number ? fmt::format("{:06}-", newest + 1) : "";
  const BlockFolder block =
      block_at(fmt::format("{}/{}{:06}{}", blocks_path_, merged, part.number, part.is_rolled_up ? ".1" : ""));
  if (block.number == 0) {
    return fail(ErrorCode::kInvalid, "no block has the number {}", part.number);
  }
  const BlockFolder made{block.number, block.path + ".tmp", block.generation, block.first};
  Status done = make_empty_block(made);
  const auto segments = done ? write_part_segments(made, part, rows) : propagate(done);
  done =
      segments ? write_part_catalogue(made, part, *segments, read_names, directory_id_) : propagate(segments);
  done = done ? name_block(made, block, blocks_path_) : done;
  return done ? done : propagate(done, "making block {}", part.number);
}

Status LocalParts::drop(int64_t number) {
  const auto block = this->block(number);
  return block ? drop_block(blocks_path_, *block) : propagate(block);
}

}  // namespace plimsoll::store
