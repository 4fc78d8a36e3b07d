#include "store/contents/block_series.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/run_both.h"
#include "base/stop_scope.h"
#include "store/contents/joined_rows.h"

namespace plimsoll::store {
namespace {

uint64_t next_lineage() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

BlockSeries::BlockSeries(const Readers& blocks, uint64_t max_bytes) : max_bytes_(max_bytes) {
  last_.lineage = next_lineage();
  extend_to(blocks);
}

bool BlockSeries::begins(const Readers& blocks) const {
  return members_.size() <= blocks.size() &&
         std::ranges::equal(members_, std::span(blocks).first(members_.size()), {}, &Member::reader);
}

void BlockSeries::extend_to(const Readers& blocks) {
  // One block stands for itself: its IDs are not those of a union.
  if (members_.size() == 1 && blocks.size() > 1) {
    forget();
  }
  for (size_t i = members_.size(); i < blocks.size(); ++i) {
    members_.push_back({.reader = blocks[i]});
  }
}

void BlockSeries::forget() {
  for (Member& member : members_) {
    member = {.reader = std::move(member.reader)};
  }
  union_ = {};
  is_renamed_ = false;
  last_ = {.lineage = next_lineage()};
}

Result<bool> BlockSeries::has_changed() {
  for (const Member& member : members_) {
    const auto version = member.reader->version();
    if (!version) {
      return propagate(version);
    }
    if (member.version != *version) {
      return true;
    }
  }
  return false;
}

Result<Contents> BlockSeries::newest(const BlockFacts& facts, const BeforeOpening& before_opening) {
  if (too_large_) {
    return std::unexpected(*too_large_);
  }
  const auto has_changed = this->has_changed();
  if (!has_changed) {
    return propagate(has_changed);
  }
  const bool has_same_facts = last_.history_from_ns == facts.history_from_ns &&
                              last_.history_to_ns == facts.history_to_ns &&
                              last_.damaged_blocks.size() == facts.damaged_blocks.size();
  if (has_contents() && !*has_changed && has_same_facts) {
    return last_;
  }
  // Where anything fails, an allocation among them, some of it may be newer than the rest.
  try {
    if (const Status read = this->read(before_opening); !read) {
      forget();
      return propagate(read);
    }
    take_rows();
    ++last_.version;
    last_.damaged_blocks = facts.damaged_blocks;
    last_.history_from_ns = facts.history_from_ns;
    last_.history_to_ns = facts.history_to_ns;
    last_.rolled_up_from_ns = facts.rolled_up_from_ns;
    last_.rolled_up_to_ns = facts.rolled_up_to_ns;
    return last_;
  } catch (...) {
    forget();
    throw;
  }
}

// What has been read once goes on growing, whichever question asks: one that is given up costs the others nothing of it.
Status BlockSeries::check_loading() const {
  return has_contents() ? Status() : check_stop();
}

Status BlockSeries::read(const BeforeOpening& before_opening) {
  if (has_union()) {
    return read_union(before_opening);
  }
  const auto contents = read(members_[0], before_opening);
  if (!contents) {
    return propagate(contents);
  }
  if (contents->entries != nullptr && has_renamed_rows(contents->entries->dictionaries)) {
    // Rare: new rows have current names. The block is read twice this time.
    forget();
    is_renamed_ = true;
    return read_union(before_opening);
  }
  if (contents->entries != nullptr) {
    const bool is_other_reading = members_[0].reading != 0 && members_[0].reading != contents->reading;
    if (is_other_reading) {
      // The numbers of names may be others.
      last_.lineage = next_lineage();
    }
    members_[0].reading = contents->reading;
    last_.dictionaries = contents->entries->dictionaries;
    last_.bindings = contents->entries->bindings;
  }
  return {};
}

// Without entries where nothing has changed.
Result<BlockContents> BlockSeries::read(Member& member, const BeforeOpening& before_opening) const {
  if (const Status goes_on = check_loading(); !goes_on) {
    return propagate(goes_on);
  }
  const auto version = member.reader->version();
  if (!version) {
    return propagate(version);
  }
  if (member.version == *version) {
    return BlockContents();
  }
  auto contents = member.reader->read(member.mark, before_opening);
  if (!contents) {
    return propagate(contents, "reading block {}", member.reader->folder().number);
  }
  member.version = contents->version;
  member.mark = contents->mark;
  member.rows = contents->rows;
  return contents;
}

// While the entries of one block are added, the names of the one before it are, and the one after it is read. Each is let go of then: of a long
// history as much is in memory as the union has.
Status BlockSeries::read_union(const BeforeOpening& before_opening) {
  Result<BlockContents> next = read(members_[0], before_opening);
  BlockContents named;
  for (size_t i = 0; i < members_.size(); ++i) {
    const Result<BlockContents> contents = std::exchange(next, BlockContents());
    if (!contents) {
      return propagate(contents);
    }
    const auto go_on = [&] {
      if (named.entries != nullptr) {
        add_names(i - 1, named);
      }
      if (i + 1 < members_.size()) {
        next = read(members_[i + 1], before_opening);
      }
    };
    Status added;
    if (contents->entries == nullptr) {
      go_on();
    } else {
      run_both([&] { added = add_entries(members_[i], *contents); }, go_on);
    }
    if (!added) {
      return added;
    }
    if (auto fits = check_memory(i + 1); !fits) {
      return fits;
    }
    named = *contents;
  }
  if (named.entries != nullptr) {
    add_names(members_.size() - 1, named);
  }
  union_.bindings.publish();
  last_.dictionaries = union_.dictionaries.entries();
  last_.bindings = union_.bindings.bindings();
  return {};
}

Status BlockSeries::add_entries(Member& member, const BlockContents& contents) {
  const Status added = union_.dictionaries.add(contents.entries->dictionaries, member.in_dictionaries);
  return added ? added : propagate(added, "reading block {}", member.reader->folder().number);
}

uint64_t BlockSeries::memory_bytes() const {
  uint64_t bytes = union_.dictionaries.stack_bytes();
  for (const Member& member : members_) {
    bytes += member.in_dictionaries.translation[Column::kStack].size() * sizeof(uint32_t);
  }
  return bytes;
}

Status BlockSeries::check_memory(size_t blocks_read) {
  if (memory_bytes() <= max_bytes_) {
    return {};
  }
  too_large_ =
      with_hint(fail(ErrorCode::kTooLarge,
                     "the stacks of {} of the {} blocks take {} bytes of memory, over the limit of {}",
                     blocks_read, members_.size(), memory_bytes(), max_bytes_),
                "ask about a shorter time (since, until), or give the process more memory")
          .error();
  return std::unexpected(*too_large_);
}

// Its entries have been added.
void BlockSeries::add_names(size_t block, const BlockContents& contents) {
  Member& member = members_[block];
  if (member.reading != contents.reading) {
    member.reading = contents.reading;
    member.in_bindings.is_complete = false;
    member.in_bindings.rebound = 0;
  }
  const Translation& ids = member.in_dictionaries.translation;
  const BindingUnion::Addition addition{static_cast<uint32_t>(block), contents.entries->bindings,
                                        member.in_bindings, ids.locations.span(), ids.binaries.span()};
  union_.bindings.add(addition);
}

void BlockSeries::take_rows() {
  if (!has_union()) {
    last_.rows = members_[0].rows;
    return;
  }
  std::vector<JoinedRows::Part> parts;
  for (const Member& member : members_) {
    parts.push_back({member.rows, member.in_dictionaries.translation});
  }
  last_.rows = std::make_shared<JoinedRows>(std::move(parts), last_ids_of(sizes_of(last_.dictionaries)));
}

}  // namespace plimsoll::store
