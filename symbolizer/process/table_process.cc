#include "symbolizer/process/table_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <mutex>

#include "base/hex.h"
#include "symbolizer/process/child.h"
#include "symbolizer/process/child_run.h"
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

wire::TableRequest request_for(const TableQuery& query, const ProcessLimits& limits) {
  wire::TableRequest request;
  request.set_identity_kind(query.identity_kind);
  request.set_identity(query.identity);
  request.mutable_paths()->Assign(query.paths.begin(), query.paths.end());
  request.mutable_folders()->Assign(query.roots.folders.begin(), query.roots.folders.end());
  request.mutable_debug_folders()->Assign(query.roots.debug_folders.begin(), query.roots.debug_folders.end());
  request.set_binary(query.named.binary);
  request.set_debug(query.named.debug);
  request.set_supplement(query.named.supplement);
  request.set_package(query.named.package);
  request.set_without_dwarf(query.without_dwarf);
  request.set_threads(query.threads);
  request.set_parent_pid(::getpid());
  request.set_memory_bytes(limits.memory_bytes);
  request.set_table_bytes(limits.table_bytes);
  request.set_cpu_seconds(limits.cpu_seconds);
  return request;
}

std::unexpected<Error> out_of_memory(const ProcessLimits& limits) {
  return with_hint(fail(ErrorCode::kTooLarge, "it takes more than the {} MiB of memory allowed",
                        limits.memory_bytes >> 20U),
                   "it can be given more: symbols.max_memory_bytes in the server's configuration, or "
                   "\"plimsoll symtab build --memory MIB\"");
}

std::unexpected<Error> killed_by(int signal_number, const ProcessLimits& limits) {
  switch (signal_number) {
    case SIGXCPU:
      return with_hint(fail(ErrorCode::kTooLarge, "it needs more CPU time than files of this size should"),
                       "the files may be damaged: compare them with those of the package");
    case SIGXFSZ:
      return fail(ErrorCode::kTooLarge, "the symbol table would be larger than {} MiB",
                  limits.table_bytes >> 20U);
    case SIGBUS:
      return with_hint(fail(ErrorCode::kUnavailable, "a file was truncated while it was read"),
                       "it was being replaced: try again");
    case SIGSYS:
      return with_hint(fail(ErrorCode::kCorrupt, "the process that parses it made a forbidden system call"),
                       "the files may be crafted as an attack: check their origin");
    case SIGKILL:
      return with_hint(fail(ErrorCode::kUnavailable, "the process that parses it was killed from outside"),
                       "the machine may be out of memory: see the kernel's log");
    default:
      return with_hint(
          fail(ErrorCode::kCorrupt, "the process that parses it crashed ({})", ::strsignal(signal_number)),
          "please report it, with the file");
  }
}

// Why there is no reply, in words.
std::unexpected<Error> failure_of(const ChildEnd& end, const ProcessLimits& limits) {
  switch (end.cause) {
    case ChildEnd::Cause::kDeadline:
      return with_hint(fail(ErrorCode::kUnavailable, "the process that parses it did not end"),
                       "the files may be on a file system that does not respond");
    case ChildEnd::Cause::kStopped:
      return fail(ErrorCode::kUnavailable, "the process that parses it was stopped before its end");
    case ChildEnd::Cause::kSaidTooMuch:
    case ChildEnd::Cause::kSaidNonsense:
      return fail(ErrorCode::kCorrupt, "the process that parses it sent an invalid reply");
    case ChildEnd::Cause::kEnded:
      break;
  }
  if (WIFSIGNALED(end.wait_status)) {
    return killed_by(WTERMSIG(end.wait_status), limits);
  }
  if (WEXITSTATUS(end.wait_status) == kOutOfMemoryStatus) {
    return out_of_memory(limits);
  }
  return fail(ErrorCode::kCorrupt, "the process that parses it exited with status {} without a reply",
              WEXITSTATUS(end.wait_status));
}

std::unexpected<Error> said_error(const wire::TableError& said) {
  const bool is_known = said.code() <= static_cast<uint32_t>(ErrorCode::kIo);
  return std::unexpected(Error{
      is_known ? static_cast<ErrorCode>(said.code()) : ErrorCode::kCorrupt, said.message(), {}, said.hint()});
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
  auto end =
      run_child([this](const ChildDescriptors& descriptors) { return starter_->start(descriptors); },
                request_for(query, options.limits), *file, options.limits, options.progress, options.stop);
  if (!end) {
    return propagate(end, "reading the symbols of {}", subject);
  }
  const std::optional<wire::TableEvent>& last = end->last;
  if (end->cause != ChildEnd::Cause::kEnded || end->wait_status != 0 || !last) {
    starter_->note_bad_end();
    return propagate(Status(failure_of(*end, options.limits)), "reading the symbols of {}", subject);
  }
  if (last->has_error()) {
    return propagate(Status(said_error(last->error())), "reading the symbols of {}", subject);
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

}  // namespace plimsoll::symbolizer
