#include "query/snapshot/snapshot_series.h"

#include <algorithm>
#include <utility>

#include "base/stop_scope.h"
#include "store/rows/joined_rows.h"

namespace plimsoll::query {

SnapshotSeries::SnapshotSeries(const Readers& blocks) {
  extend_to(blocks);
}

bool SnapshotSeries::begins(const Readers& blocks) const {
  return members_.size() <= blocks.size() &&
         std::ranges::equal(members_, std::span(blocks).first(members_.size()), {}, &Member::reader);
}

void SnapshotSeries::extend_to(const Readers& blocks) {
  // One block stands for itself: its IDs are not those of a union.
  if (members_.size() == 1 && blocks.size() > 1) {
    forget();
  }
  for (size_t i = members_.size(); i < blocks.size(); ++i) {
    members_.push_back({.reader = blocks[i]});
  }
}

void SnapshotSeries::forget() {
  for (Member& member : members_) {
    member = {.reader = std::move(member.reader)};
  }
  contents_ = nullptr;
  last_ = nullptr;
}

Result<bool> SnapshotSeries::has_changed() {
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

Result<std::shared_ptr<const Snapshot>> SnapshotSeries::newest(const FleetFacts& facts,
                                                               const BeforeOpening& before_opening) {
  const auto has_changed = this->has_changed();
  if (!has_changed) {
    return propagate(has_changed);
  }
  if (!*has_changed && last_ != nullptr && last_->machines_registered == facts.machines_registered &&
      last_->history_from_ns == facts.from_ns && last_->history_to_ns == facts.to_ns &&
      last_->damaged_blocks.size() == facts.damaged_blocks.size()) {
    return last_;
  }
  // Where anything fails, an allocation among them, some of it may be newer than the rest.
  try {
    const Status read = extend(facts, before_opening);
    if (read) {
      last_ = make(facts);
      return last_;
    }
    forget();
    return propagate(read);
  } catch (...) {
    forget();
    throw;
  }
}

Status SnapshotSeries::extend(const FleetFacts& facts, const BeforeOpening& before_opening) {
  if (contents_ == nullptr) {
    contents_ = std::make_unique<Contents>();
  }
  if (const Status read = this->read(before_opening); !read) {
    return read;
  }
  contents_->origins.extend(contents_->dictionaries);
  // After the profiles: every draw is kept before its first profile comes.
  return contents_->responses.extend(contents_->origins.index(), contents_->dictionaries,
                                     facts.drawn_weights);
}

// What has been read once goes on growing whoever asks: a question that is given up costs the others nothing of it.
Status SnapshotSeries::check_loading() const {
  return last_ == nullptr ? check_stop() : Status();
}

Status SnapshotSeries::read(const BeforeOpening& before_opening) {
  std::vector<BlockContents> read;
  for (Member& member : members_) {
    if (const Status goes_on = check_loading(); !goes_on) {
      return goes_on;
    }
    const auto version = member.reader->version();
    if (!version) {
      return propagate(version);
    }
    if (member.version == *version) {
      read.emplace_back();
      continue;
    }
    auto contents = member.reader->read(member.mark, before_opening);
    if (!contents) {
      return propagate(contents, "reading block {}", member.reader->folder().number);
    }
    member.version = contents->version;
    member.mark = contents->mark;
    member.rows = contents->rows;
    read.push_back(std::move(*contents));
  }
  if (members_.size() > 1) {
    return add_union(read);
  }
  if (read[0].entries != nullptr) {
    const bool is_other_reading = members_[0].reading != 0 && members_[0].reading != read[0].reading;
    if (is_other_reading) {
      // The numbers of names may be others.
      contents_ = std::make_unique<Contents>();
      last_ = nullptr;
    }
    members_[0].reading = read[0].reading;
    contents_->dictionaries = read[0].entries->dictionaries;
    contents_->bindings = read[0].entries->bindings;
  }
  return {};
}

Status SnapshotSeries::add_union(const std::vector<BlockContents>& read) {
  std::vector<store::BindingUnion::Addition> additions;
  for (size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    if (read[i].entries == nullptr) {
      continue;
    }
    if (const Status goes_on = check_loading(); !goes_on) {
      return goes_on;
    }
    if (member.reading != read[i].reading) {
      member.reading = read[i].reading;
      member.in_bindings.is_complete = false;
      member.in_bindings.rebound = 0;
    }
    const Status added =
        contents_->dictionary_union.add(read[i].entries->dictionaries, member.in_dictionaries);
    if (!added) {
      return propagate(added, "reading block {}", member.reader->folder().number);
    }
    const store::Translation& ids = member.in_dictionaries.translation;
    additions.push_back({static_cast<uint32_t>(i), read[i].entries->bindings, member.in_bindings,
                         ids.locations.span(), ids.binaries.span()});
  }
  contents_->binding_union.extend(additions);
  contents_->dictionaries = contents_->dictionary_union.entries();
  contents_->bindings = contents_->binding_union.bindings();
  return {};
}

std::shared_ptr<Snapshot> SnapshotSeries::make(const FleetFacts& facts) const {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->dictionaries = contents_->dictionaries;
  snapshot->bindings = contents_->bindings;
  snapshot->origins = contents_->origins.index();
  snapshot->responses = contents_->responses.by_stratum();
  if (members_.size() == 1) {
    snapshot->rows = members_[0].rows;
  } else {
    std::vector<store::JoinedRows::Part> parts;
    for (const Member& member : members_) {
      parts.push_back({member.rows, member.in_dictionaries.translation});
    }
    snapshot->rows = std::make_shared<store::JoinedRows>(
        std::move(parts), static_cast<uint32_t>(contents_->dictionaries.stacks.size() - 1));
  }
  snapshot->frame_keys =
      last_ == nullptr ? std::make_unique<FrameKeysCache>() : FrameKeysCache::after(*last_->frame_keys);
  snapshot->machines_registered = facts.machines_registered;
  snapshot->draws_path = facts.draws_path;
  snapshot->damaged_blocks = facts.damaged_blocks;
  snapshot->history_from_ns = facts.from_ns;
  snapshot->history_to_ns = facts.to_ns;
  snapshot->rolled_up_from_ns = facts.rolled_up_from_ns;
  snapshot->rolled_up_to_ns = facts.rolled_up_to_ns;
  return snapshot;
}

}  // namespace plimsoll::query
