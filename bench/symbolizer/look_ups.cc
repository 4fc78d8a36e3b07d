#include <algorithm>
#include <chrono>

#include "base/file.h"
#include "bench/harness/child.h"
#include "bench/harness/scratch_folder.h"
#include "bench/harness/statistics.h"
#include "bench/symbolizer/parts.h"
#include "bench/symbolizer/peers.h"
#include "bench/symbolizer/subject.h"
#include "symbolizer/symtab/symtab.h"

namespace plimsoll::bench {
namespace {

using symbolizer::Symtab;
using symbolizer::SymtabFrame;

constexpr uint64_t kMaxTableBytes = uint64_t{4} << 30U;
constexpr size_t kAddresses = 1'000'000;
constexpr double kGoalPerS = 1e6;
constexpr double kGoalOpeningUs = 1000;

struct LookUps {
  double per_s = 0;
  double known_share = 0;
  double frames = 0;  // of a known address
};

// One pass over the addresses, by the CPU time of this thread.
LookUps look_all_up(const Symtab& table, std::span<const uint64_t> addresses) {
  std::vector<SymtabFrame> frames;
  uint64_t known = 0;
  uint64_t all_frames = 0;
  uint64_t lines = 0;
  const int64_t start_ns = thread_cpu_ns();
  for (const uint64_t address : addresses) {
    frames.clear();
    table.look_up(address, frames);
    known += frames.empty() ? 0 : 1;
    all_frames += frames.size();
    lines += frames.empty() ? 0 : frames.front().line;
  }
  const auto took_ns = static_cast<double>(thread_cpu_ns() - start_ns);
  keep(lines);
  const auto count = static_cast<double>(addresses.size());
  return {.per_s = count * 1e9 / took_ns,
          .known_share = static_cast<double>(known) / count,
          .frames = static_cast<double>(all_frames) / static_cast<double>(known)};
}

// Each round asks for other addresses, so that only the table is warm, not the answers.
LookUps median_look_ups(const Symtab& table, CodeAddresses& code, int rounds) {
  look_all_up(table, code.draw(kAddresses));
  LookUps result;
  std::vector<double> per_s;
  for (int round = 0; round < rounds; ++round) {
    result = look_all_up(table, code.draw(kAddresses));
    per_s.push_back(result.per_s);
  }
  result.per_s = median(per_s);
  return result;
}

// As a server does that has not read the file lately: mapped again each time.
double median_opening_us(const std::string& path, int rounds) {
  std::vector<double> took_us;
  for (int round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    const auto file = MappedFile::open(path, kMaxTableBytes);
    const bool is_open = file && Symtab::open(file->bytes());
    took_us.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    keep(is_open ? 1 : 0);
  }
  return median(took_us);
}

Status measure_peers(const Subject& subject, const ScratchFolder& folder, const Flags& flags, double ours,
                     CodeAddresses& code, Report& report) {
  const std::string gsym = folder / "gsym";
  if (const auto made = run_to_end(gsym_command(subject, gsym)); !made) {
    return propagate(made);
  }
  const std::vector<LookUpPeer> peers = look_up_peers(subject, gsym, flags.quick);
  const std::vector<uint64_t> addresses = code.draw(std::ranges::max(peers, {}, &LookUpPeer::many).many);
  for (const LookUpPeer& peer : peers) {
    const auto theirs = look_ups_per_s(peer, addresses, folder);
    if (!theirs) {
      return propagate(theirs);
    }
    report.add({.name = "look-ups-per-s-beside-" + peer.name,
                .value = ours,
                .unit = "1/s",
                .better = Better::kHigher,
                .peer = peer.name,
                .peer_value = *theirs,
                .note = fmt::format("CPU time, slope between {} and {} addresses", peer.few, peer.many)});
  }
  return {};
}

}  // namespace

Status measure_look_ups(const Flags& flags, Report& report) {
  const auto folder = ScratchFolder::create();
  const auto subject = folder ? find_subject(flags) : propagate(folder);
  auto code = subject ? CodeAddresses::of(subject->binary) : propagate(subject);
  if (!code) {
    return propagate(code);
  }
  const std::string path = *folder / "table";
  const auto made = run_to_end(table_command(*subject, path));
  const auto file = made ? MappedFile::open(path, kMaxTableBytes) : propagate(made);
  const auto table = file ? Symtab::open(file->bytes()) : propagate(file);
  if (!table) {
    return propagate(table);
  }
  report.add({.name = "table-open-us",
              .value = median_opening_us(path, 100),
              .unit = "us",
              .goal = kGoalOpeningUs,
              .note = "mapping the file, checking its header"});
  const LookUps found = median_look_ups(*table, *code, flags.quick ? 3 : 9);
  report.add({.name = "look-ups-per-s",
              .value = found.per_s,
              .unit = "1/s",
              .better = Better::kHigher,
              .goal = kGoalPerS,
              .note = fmt::format("{}; {:.1f} % of the addresses known, {:.2f} frames each", subject->name,
                                  found.known_share * 100, found.frames)});
  return measure_peers(*subject, *folder, flags, found.per_s, *code, report);
}

}  // namespace plimsoll::bench
