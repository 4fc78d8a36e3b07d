#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/file.h"
#include "bench/harness/child.h"
#include "bench/harness/program.h"
#include "bench/harness/scratch_folder.h"
#include "bench/symbolizer/parts.h"
#include "elf/elf_file.h"
#include "http/listener.h"
#include "server/doors/symbolizer_door.h"
#include "symbolizer/lease/table_exchange.h"
#include "symbolizer/repository/repository_files.h"
#include "symbolizer/worker/symbol_loader.h"

namespace plimsoll::bench {
namespace {

using symbolizer::BinaryRepository;
using symbolizer::TableExchange;
using SteadyClock = std::chrono::steady_clock;

constexpr uint64_t kMaxSubjectBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxCopiesBytes = uint64_t{4} << 30;
constexpr auto kKillInterval = std::chrono::seconds(1);
// One run; a worker that cannot start would be waited for without end.
constexpr auto kMaxRun = std::chrono::minutes(10);
constexpr auto kPoll = std::chrono::milliseconds(2);

symbolizer::TableWorker table_worker() {
  return {.argv = {sibling_program("plimsoll"), "symtab", "worker", "--zygote"}, .is_zygote = true};
}

// One program under build IDs that differ, in a repository.
struct Copies {
  std::string folder;
  std::unique_ptr<BinaryRepository> repository = {};
  std::vector<std::string> build_ids = {};
};

Status add_copies(const std::string& subject, size_t count, Copies& copies) {
  auto image = read_file(subject, kMaxSubjectBytes);
  const auto file = image ? elf::ElfFile::parse(as_bytes(*image)) : propagate(image);
  if (!file) {
    return propagate(file);
  }
  const std::string build_id(file->build_id());
  const size_t place = build_id.size() < 8 ? std::string::npos : image->find(build_id);
  if (place == std::string::npos) {
    return fail(ErrorCode::kNotFound, "{} has no build ID", subject);
  }
  for (size_t i = 0; i < std::min<size_t>(count, kMaxCopiesBytes / image->size()); ++i) {
    std::string id = build_id;
    id[0] = static_cast<char>(i);
    id[1] = static_cast<char>(i >> 8U);
    image->replace(place, id.size(), id);
    auto staged = copies.repository->stage();
    const Status written = staged ? staged->write(as_bytes(*image)) : propagate(staged);
    const auto added = written ? copies.repository->add(*std::move(staged), {.build_id = id})
                               : Result<symbolizer::AddedBinary>(propagate(written));
    if (!added) {
      return propagate(added);
    }
    copies.build_ids.push_back(std::move(id));
  }
  return {};
}

double per_second(const Copies& copies, SteadyClock::time_point start) {
  const std::chrono::duration<double> took = SteadyClock::now() - start;
  return static_cast<double>(copies.build_ids.size()) / took.count();
}

// As the server does without workers: one after another.
Result<double> tables_per_s_alone(const Copies& copies, const std::string& tables_folder) {
  std::filesystem::create_directory(tables_folder);
  auto tables = symbolizer::TableFolder::open(tables_folder);
  if (!tables) {
    return propagate(tables);
  }
  symbolizer::SymbolLoader loader({{}, {symbolizer::repository_path(copies.folder)}}, *std::move(tables),
                                  symbolizer::TableProcess(table_worker()));
  const auto start = SteadyClock::now();
  for (const std::string& build_id : copies.build_ids) {
    const auto symbols =
        loader.load({.identity_kind = wire::GNU_BUILD_ID, .identity = build_id, .paths = {}});
    if (!symbols || symbols->quality() != store::SymbolQuality::kFull) {
      return fail(ErrorCode::kCorrupt, "no table of full DWARF: {}", symbols ? symbols->reasons() : "");
    }
  }
  return per_second(copies, start);
}

// Programs of their own, with one table at a time each.
class Workers {
 public:
  Workers(const ScratchFolder& folder, std::string server) : folder_(folder), server_(std::move(server)) {}

  Status start(size_t number) {
    const std::string config = folder_ / fmt::format("worker{}.toml", number);
    std::ofstream(config) << fmt::format(
        "[symbolizer]\nserver = \"{}\"\nname = \"w{}\"\nfolder = \"{}\"\nparallel = 1\nlisten = "
        "\"127.0.0.1:0\"\n",
        server_, number, folder_ / fmt::format("worker{}", number));
    auto child =
        Child::start({sibling_program("plimsoll"), "server", "--role", "symbolizer", "--config", config});
    if (!child) {
      return propagate(child);
    }
    children_[number].emplace(*std::move(child));
    return {};
  }
  // Kills it, and restarts it.
  Status replace(size_t number) {
    children_[number].reset();
    return start(number);
  }

 private:
  const ScratchFolder& folder_;
  const std::string server_;
  std::array<std::optional<Child>, 3> children_;
};

// Takes tables as the server's pass does, until there is one of each build.
Status take_all(TableExchange& exchange, const Copies& copies, const std::function<Status()>& meanwhile) {
  std::vector<std::string> wanted = copies.build_ids;
  for (const std::string& build_id : wanted) {
    exchange.offer({.identity_kind = wire::GNU_BUILD_ID, .identity = build_id, .paths = {}});
  }
  const auto ends = SteadyClock::now() + kMaxRun;
  while (!wanted.empty()) {
    if (SteadyClock::now() > ends) {
      return fail(ErrorCode::kUnavailable, "{} of {} builds have no table", wanted.size(),
                  copies.build_ids.size());
    }
    const size_t before = wanted.size();
    std::erase_if(wanted, [&](const std::string& build_id) {
      const bool has_come = exchange.has(build_id) && exchange.begin_here(build_id);
      if (has_come) {
        exchange.end_here(build_id);
      }
      return has_come;
    });
    if (const Status done = meanwhile(); !done) {
      return done;
    }
    if (wanted.size() == before) {
      std::this_thread::sleep_for(kPoll);
    }
  }
  return {};
}

Result<double> tables_per_s_with(size_t workers, bool kills, const Copies& copies,
                                 const ScratchFolder& folder) {
  constexpr int64_t kLeaseNs = 2 * kNsPerSecond;
  TableExchange exchange(*copies.repository, {.limits = {.lease_ns = kLeaseNs}});
  auto listener = http::Listener::start({}, server::symbolizer_routes(exchange, {}));
  if (!listener) {
    return propagate(listener);
  }
  Workers programs(folder, (*listener)->address());
  for (size_t number = 0; number < workers; ++number) {
    if (const Status started = programs.start(number); !started) {
      return propagate(started);
    }
  }
  // Not with what it takes to start them.
  const auto ends = SteadyClock::now() + kMaxRun;
  while (exchange.workers().size() < workers && SteadyClock::now() < ends) {
    std::this_thread::sleep_for(kPoll);
  }
  const auto start = SteadyClock::now();
  auto next_kill = start + kKillInterval;
  size_t victim = 0;
  const Status done = take_all(exchange, copies, [&]() -> Status {
    if (!kills || SteadyClock::now() < next_kill) {
      return {};
    }
    next_kill += kKillInterval;
    return programs.replace(victim++ % workers);
  });
  return done ? Result<double>(per_second(copies, start)) : propagate(done);
}

}  // namespace

Status measure_workers(const Flags& flags, Report& report) {
  const auto folder = ScratchFolder::create();
  if (!folder) {
    return propagate(folder);
  }
  Copies copies{.folder = *folder / "data"};
  std::filesystem::create_directories(copies.folder + "/symtab");
  auto repository = BinaryRepository::open(copies.folder, {});
  if (!repository) {
    return propagate(repository);
  }
  copies.repository = *std::move(repository);
  if (const Status added = add_copies(sibling_program("make_table"), flags.quick ? 40 : 500, copies);
      !added) {
    return added;
  }
  const auto alone = tables_per_s_alone(copies, *folder / "alone");
  if (!alone) {
    return propagate(alone);
  }
  const std::array<std::tuple<const char*, size_t, bool>, 4> runs{
      {{"tables-per-s-1-worker", 1, false},
       {"tables-per-s-2-workers", 2, false},
       {"tables-per-s-3-workers", 3, false},
       {"tables-per-s-3-workers-1-killed", 3, true}}};
  for (const auto& [name, workers, kills] : runs) {
    const auto with = tables_per_s_with(workers, kills, copies, *folder);
    if (!with) {
      return propagate(with, "{}", name);
    }
    report.add({.name = name,
                .value = *with,
                .unit = "1/s",
                .better = Better::kHigher,
                .peer = "the server alone",
                .peer_value = *alone,
                .note = fmt::format("{} builds, on this machine{}", copies.build_ids.size(),
                                    kills ? "; one killed each second" : "")});
  }
  return {};
}

}  // namespace plimsoll::bench
