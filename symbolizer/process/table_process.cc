#include "symbolizer/process/table_process.h"

#include <fmt/format.h>

#include <array>
#include <mutex>
#include <utility>

#include "base/hex.h"
#include "symbolizer/process/child.h"
#include "symbolizer/process/child_end.h"
#include "symbolizer/process/child_run.h"
#include "symbolizer/process/messages.h"
#include "symbolizer/process/spawn.h"
#include "symbolizer/process/zygote.h"

namespace plimsoll::symbolizer {
namespace {

// What to call the binary in a message.
std::string subject_of(const TableQuery& query) {
  if (!query.named.binary.empty()) {
    return query.named.binary;
  }
  return query.paths.empty() ? "build " + to_hex(query.identity) : query.paths.front();
}

Result<MappedTable> checked_table(const UniqueFd& file, const TableQuery& query,
                                  const ProcessLimits& limits) {
  auto map = MappedFile::map(file, "the new symbol table", limits.table_bytes);
  if (!map) {
    return propagate(map);
  }
  auto table = Symtab::open(map->bytes());
  if (!table) {
    return propagate(table);
  }
  if (auto verified = table->verify(); !verified) {
    return propagate(verified);
  }
  const bool is_asked_for = table->identity() == query.identity &&
                            table->header().identity_kind == static_cast<uint32_t>(query.identity_kind);
  if (query.named.binary.empty() && !is_asked_for) {
    return fail(ErrorCode::kCorrupt, "the symbol table belongs to another binary");
  }
  return MappedTable{std::move(*map), *table};
}

// After so many children, or one that came to a bad end, another zygote is started: its children have their code at the same addresses,
// which no series of binaries is to find out.
constexpr uint64_t kMaxChildrenOfZygote = 1000;

}  // namespace

class TableStarter {
 public:
  explicit TableStarter(TableWorker worker) : worker_(std::move(worker)) {}

  Result<pid_t> start(const ChildDescriptors& descriptors) {
    if (!worker_.is_zygote) {
      return spawn(worker_.argv, std::array{FileAt{descriptors.request.get(), STDIN_FILENO},
                                            FileAt{descriptors.said.get(), STDOUT_FILENO},
                                            FileAt{descriptors.table.get(), kTableDescriptor}});
    }
    const std::lock_guard lock(mutex_);
    if (zygote_ && zygote_->children() < kMaxChildrenOfZygote) {
      if (auto child = zygote_->make_child(descriptors)) {
        return child;
      }
    }
    zygote_.reset();
    auto started = Zygote::start(worker_.argv);
    if (!started) {
      return propagate(started);
    }
    zygote_.emplace(std::move(*started));
    return zygote_->make_child(descriptors);
  }

  void note_bad_end() {
    const std::lock_guard lock(mutex_);
    zygote_.reset();
  }

 private:
  const TableWorker worker_;
  std::mutex mutex_;
  std::optional<Zygote> zygote_;
};

TableProcess::TableProcess(TableWorker worker)
    : starter_(std::make_shared<TableStarter>(std::move(worker))) {}

Result<MadeTable> TableProcess::make(const TableQuery& query, const MakeOptions& options) const {
  const std::string subject = subject_of(query);
  if (options.stop.stop_requested()) {
    return fail(ErrorCode::kUnavailable, "symbols of {} will not be read again", subject);
  }
  const auto file = table_file(options.folder);
  if (!file) {
    return propagate(file);
  }
  auto end = run_child([this](const ChildDescriptors& descriptors) { return starter_->start(descriptors); },
                       request_for(query, options.limits).SerializeAsString(), *file, options.limits,
                       options.progress, options.stop);
  if (!end) {
    return propagate(end, "reading the symbols of {}", subject);
  }
  const auto last = reply_of(*end, options.limits);
  if (!last) {
    if (!has_ended_well(*end)) {
      starter_->note_bad_end();
    }
    return propagate(last, "reading the symbols of {}", subject);
  }
  const wire::TableReply& reply = last->reply();
  MadeTable made{.mapped = std::nullopt,
                 .quality = SymtabQuality::kNone,
                 .reasons = reply.reasons(),
                 .looked_at = reply.looked_at(),
                 .peak_memory_bytes = end->peak_memory_bytes};
  if (reply.has_table()) {
    auto mapped = checked_table(*file, query, options.limits);
    if (!mapped) {
      return propagate(mapped, "reading the symbols of {}", subject);
    }
    made.quality = mapped->table.quality();
    made.mapped = std::move(*mapped);
  }
  return made;
}

Result<MadeTable> TableProcess::make_with_fallback(TableQuery query, const MakeOptions& options) const {
  auto made = make(query, options);
  const bool may_be_second =
      !made && query.reader == ReaderChoice::kBoth && !query.without_dwarf &&
      (made.error().code == ErrorCode::kCorrupt || made.error().code == ErrorCode::kTooLarge);
  if (!may_be_second) {
    return made;
  }
  query.reader = ReaderChoice::kOursAlone;
  auto by_ours = make(query, options);
  if (!by_ours) {
    return made;
  }
  by_ours->reasons =
      fmt::format("{}{}{}", made.error().text(), by_ours->reasons.empty() ? "" : "; ", by_ours->reasons);
  return by_ours;
}

}  // namespace plimsoll::symbolizer
