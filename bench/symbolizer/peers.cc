#include "bench/symbolizer/peers.h"

#include <fmt/format.h>

#include <fstream>

#include "bench/harness/child.h"
#include "bench/harness/statistics.h"

namespace plimsoll::bench {
namespace {

constexpr size_t kQuickly = 10;  // times fewer addresses

Result<double> cpu_s(const LookUpPeer& peer, std::span<const uint64_t> addresses,
                     const ScratchFolder& folder) {
  const std::string path = folder / "addresses";
  std::ofstream file(path);
  for (const uint64_t address : addresses) {
    file << fmt::format("{:#x}{}\n", address, peer.behind_address);
  }
  file.close();
  const auto usage = run_to_end({"/bin/sh", "-c", fmt::format("exec {} <'{}'", peer.command, path)});
  return usage ? Result<double>(usage->cpu_s) : propagate(usage, "{}", peer.name);
}

}  // namespace

std::vector<std::string> gsym_command(const Subject& subject, const std::string& gsym) {
  return {"llvm-gsymutil-19", "--convert=" + subject.debug, "--out-file=" + gsym};
}

std::vector<LookUpPeer> look_up_peers(const Subject& subject, const std::string& gsym, bool quick) {
  const std::string debug = "'" + subject.debug + "'";
  std::vector<LookUpPeer> peers{
      {"llvm-gsymutil", "llvm-gsymutil-19 --addresses-from-stdin", 50'000, 150'000, " " + gsym},
      {"llvm-symbolizer", "llvm-symbolizer-19 --inlines --no-demangle --obj=" + debug, 10'000, 40'000},
      {"eu-addr2line", "eu-addr2line -i -f -e " + debug, 100, 300},
      {"addr2line", "addr2line -i -f -e " + debug, 300, 1200},
  };
  for (LookUpPeer& peer : peers) {
    peer.few /= quick ? kQuickly : 1;
    peer.many /= quick ? kQuickly : 1;
  }
  return peers;
}

Result<double> look_ups_per_s(const LookUpPeer& peer, std::span<const uint64_t> addresses,
                              const ScratchFolder& folder) {
  const auto few = cpu_s(peer, addresses.first(peer.few), folder);
  const auto many = few ? cpu_s(peer, addresses.first(peer.many), folder) : propagate(few);
  if (!many) {
    return propagate(many);
  }
  const Line line =
      line_through({static_cast<double>(peer.few), *few}, {static_cast<double>(peer.many), *many});
  return line.slope > 0 ? 1 / line.slope : 0;
}

}  // namespace plimsoll::bench
