#include "daemon/events/machine_aliases.h"

#include <algorithm>
#include <array>

namespace plimsoll::perf {
namespace {

// Micro-operations retired.
constexpr std::string_view kUopsRetired = "uops-retired";
// Requests of a core that missed its second-level cache; prefetches count on some.
constexpr std::string_view kL2Misses = "l2-misses";
// Walks of page tables for data that no TLB had; for loads alone on some.
constexpr std::string_view kDtlbWalks = "dtlb-walks";
// Cycles in which nothing was executed while a load from memory was outstanding.
constexpr std::string_view kMemStalls = "mem-stalls";

constexpr std::array kNames{kUopsRetired, kL2Misses, kDtlbWalks, kMemStalls};

struct Row {
  std::string_view alias;
  std::string_view generation;  // or the beginning of its name
  std::string_view pmu;         // or the beginning of its name
  AliasCode code;
};

constexpr std::string_view kCpu = "cpu";
constexpr std::string_view kArm = "armv";

constexpr std::array kRows{
    // x86/skylake, skylakex, cascadelakex, pipeline.json
    Row{kUopsRetired, "Intel Skylake", kCpu, {"event=0xc2,umask=0x2", "UOPS_RETIRED.RETIRE_SLOTS"}},
    Row{kUopsRetired, "Intel Kaby Lake", kCpu, {"event=0xc2,umask=0x2", "UOPS_RETIRED.RETIRE_SLOTS"}},
    Row{kUopsRetired, "Intel Coffee Lake", kCpu, {"event=0xc2,umask=0x2", "UOPS_RETIRED.RETIRE_SLOTS"}},
    Row{kUopsRetired, "Intel Whiskey Lake", kCpu, {"event=0xc2,umask=0x2", "UOPS_RETIRED.RETIRE_SLOTS"}},
    Row{kUopsRetired, "Intel Comet Lake", kCpu, {"event=0xc2,umask=0x2", "UOPS_RETIRED.RETIRE_SLOTS"}},
    Row{kUopsRetired, "Intel Cascade Lake", kCpu, {"event=0xc2,umask=0x2", "UOPS_RETIRED.RETIRE_SLOTS"}},
    // x86/icelake, icelakex, tigerlake, rocketlake, sapphirerapids, emeraldrapids, pipeline.json
    Row{kUopsRetired, "Intel Ice Lake", kCpu, {"event=0xc2,umask=0x2", "UOPS_RETIRED.SLOTS"}},
    Row{kUopsRetired, "Intel Tiger Lake", kCpu, {"event=0xc2,umask=0x2", "UOPS_RETIRED.SLOTS"}},
    Row{kUopsRetired, "Intel Rocket Lake", kCpu, {"event=0xc2,umask=0x2", "UOPS_RETIRED.SLOTS"}},
    Row{kUopsRetired, "Intel Sapphire Rapids", kCpu, {"event=0xc2,umask=0x2", "UOPS_RETIRED.SLOTS"}},
    Row{kUopsRetired, "Intel Emerald Rapids", kCpu, {"event=0xc2,umask=0x2", "UOPS_RETIRED.SLOTS"}},
    // ex_ret_cops, ex_ret_ops: x86/amdzen1 to amdzen5, core.json and execution.json
    Row{kUopsRetired, "AMD Zen", kCpu, {"event=0xc1", "ex_ret_ops"}},
    Row{kUopsRetired, "", kArm, {"op_retired", "OP_RETIRED"}},

    // x86/skylake, skylakex, cascadelakex, tigerlake, sapphirerapids, emeraldrapids, cache.json. Ice Lake has none.
    Row{kL2Misses,
        "Intel Skylake",
        kCpu,
        {"event=0x24,umask=0x3f", "L2_RQSTS.MISS: all requests, prefetches too"}},
    Row{kL2Misses,
        "Intel Kaby Lake",
        kCpu,
        {"event=0x24,umask=0x3f", "L2_RQSTS.MISS: all requests, prefetches too"}},
    Row{kL2Misses,
        "Intel Coffee Lake",
        kCpu,
        {"event=0x24,umask=0x3f", "L2_RQSTS.MISS: all requests, prefetches too"}},
    Row{kL2Misses,
        "Intel Whiskey Lake",
        kCpu,
        {"event=0x24,umask=0x3f", "L2_RQSTS.MISS: all requests, prefetches too"}},
    Row{kL2Misses,
        "Intel Comet Lake",
        kCpu,
        {"event=0x24,umask=0x3f", "L2_RQSTS.MISS: all requests, prefetches too"}},
    Row{kL2Misses,
        "Intel Cascade Lake",
        kCpu,
        {"event=0x24,umask=0x3f", "L2_RQSTS.MISS: all requests, prefetches too"}},
    Row{kL2Misses, "Intel Tiger Lake", kCpu, {"event=0x24,umask=0x3f", "L2_RQSTS.MISS: read requests"}},
    Row{kL2Misses, "Intel Sapphire Rapids", kCpu, {"event=0x24,umask=0x3f", "L2_RQSTS.MISS: read requests"}},
    Row{kL2Misses, "Intel Emerald Rapids", kCpu, {"event=0x24,umask=0x3f", "L2_RQSTS.MISS: read requests"}},
    // x86/amdzen1 to amdzen5, cache.json and l2-cache.json
    Row{kL2Misses,
        "AMD Zen",
        kCpu,
        {"event=0x64,umask=0x9",
         "l2_cache_req_stat.ic_dc_miss_in_l2: requests of the first level, no prefetches"}},
    Row{kL2Misses, "", kArm, {"l2d_cache_refill", "L2D_CACHE_REFILL: lines brought in for data"}},

    // x86/skylake, ..., icelakex, virtual-memory.json
    Row{kDtlbWalks,
        "Intel Skylake",
        kCpu,
        {"event=0x8,umask=0xe", "DTLB_LOAD_MISSES.WALK_COMPLETED: walks for loads alone"}},
    Row{kDtlbWalks,
        "Intel Kaby Lake",
        kCpu,
        {"event=0x8,umask=0xe", "DTLB_LOAD_MISSES.WALK_COMPLETED: walks for loads alone"}},
    Row{kDtlbWalks,
        "Intel Coffee Lake",
        kCpu,
        {"event=0x8,umask=0xe", "DTLB_LOAD_MISSES.WALK_COMPLETED: walks for loads alone"}},
    Row{kDtlbWalks,
        "Intel Whiskey Lake",
        kCpu,
        {"event=0x8,umask=0xe", "DTLB_LOAD_MISSES.WALK_COMPLETED: walks for loads alone"}},
    Row{kDtlbWalks,
        "Intel Comet Lake",
        kCpu,
        {"event=0x8,umask=0xe", "DTLB_LOAD_MISSES.WALK_COMPLETED: walks for loads alone"}},
    Row{kDtlbWalks,
        "Intel Cascade Lake",
        kCpu,
        {"event=0x8,umask=0xe", "DTLB_LOAD_MISSES.WALK_COMPLETED: walks for loads alone"}},
    Row{kDtlbWalks,
        "Intel Ice Lake",
        kCpu,
        {"event=0x8,umask=0xe", "DTLB_LOAD_MISSES.WALK_COMPLETED: walks for loads alone"}},
    Row{kDtlbWalks,
        "Intel Tiger Lake",
        kCpu,
        {"event=0x8,umask=0xe", "DTLB_LOAD_MISSES.WALK_COMPLETED: walks for loads alone"}},
    Row{kDtlbWalks,
        "Intel Rocket Lake",
        kCpu,
        {"event=0x8,umask=0xe", "DTLB_LOAD_MISSES.WALK_COMPLETED: walks for loads alone"}},
    // The same in x86/alderlake (a code for each kind of core), sapphirerapids, emeraldrapids.
    Row{kDtlbWalks,
        "Intel Alder Lake",
        "cpu_core",
        {"event=0x12,umask=0xe", "DTLB_LOAD_MISSES.WALK_COMPLETED: walks for loads alone"}},
    Row{kDtlbWalks,
        "Intel Alder Lake",
        "cpu_atom",
        {"event=0x8,umask=0xe", "DTLB_LOAD_MISSES.WALK_COMPLETED: walks for loads alone"}},
    Row{kDtlbWalks,
        "Intel Raptor Lake",
        "cpu_core",
        {"event=0x12,umask=0xe", "DTLB_LOAD_MISSES.WALK_COMPLETED: walks for loads alone"}},
    Row{kDtlbWalks,
        "Intel Raptor Lake",
        "cpu_atom",
        {"event=0x8,umask=0xe", "DTLB_LOAD_MISSES.WALK_COMPLETED: walks for loads alone"}},
    Row{kDtlbWalks,
        "Intel Sapphire Rapids",
        kCpu,
        {"event=0x12,umask=0xe", "DTLB_LOAD_MISSES.WALK_COMPLETED: walks for loads alone"}},
    Row{kDtlbWalks,
        "Intel Emerald Rapids",
        kCpu,
        {"event=0x12,umask=0xe", "DTLB_LOAD_MISSES.WALK_COMPLETED: walks for loads alone"}},
    // All of ls_l1_d_tlb_miss.*_l2_miss: x86/amdzen2 to amdzen5, memory.json and load-store.json
    Row{kDtlbWalks,
        "AMD Zen 2",
        kCpu,
        {"event=0x45,umask=0xf0", "ls_l1_d_tlb_miss.*_l2_miss: for loads and stores"}},
    Row{kDtlbWalks,
        "AMD Zen 3",
        kCpu,
        {"event=0x45,umask=0xf0", "ls_l1_d_tlb_miss.*_l2_miss: for loads and stores"}},
    Row{kDtlbWalks,
        "AMD Zen 4",
        kCpu,
        {"event=0x45,umask=0xf0", "ls_l1_d_tlb_miss.*_l2_miss: for loads and stores"}},
    Row{kDtlbWalks,
        "AMD Zen 5",
        kCpu,
        {"event=0x45,umask=0xf0", "ls_l1_d_tlb_miss.*_l2_miss: for loads and stores"}},
    Row{kDtlbWalks, "", kArm, {"dtlb_walk", "DTLB_WALK: for loads and stores"}},

    // x86/skylake, ..., icelakex, pipeline.json
    Row{kMemStalls,
        "Intel Skylake",
        kCpu,
        {"event=0xa3,umask=0x14,cmask=20",
         "CYCLE_ACTIVITY.STALLS_MEM_ANY: nothing executed while a load was outstanding"}},
    Row{kMemStalls,
        "Intel Kaby Lake",
        kCpu,
        {"event=0xa3,umask=0x14,cmask=20",
         "CYCLE_ACTIVITY.STALLS_MEM_ANY: nothing executed while a load was outstanding"}},
    Row{kMemStalls,
        "Intel Coffee Lake",
        kCpu,
        {"event=0xa3,umask=0x14,cmask=20",
         "CYCLE_ACTIVITY.STALLS_MEM_ANY: nothing executed while a load was outstanding"}},
    Row{kMemStalls,
        "Intel Whiskey Lake",
        kCpu,
        {"event=0xa3,umask=0x14,cmask=20",
         "CYCLE_ACTIVITY.STALLS_MEM_ANY: nothing executed while a load was outstanding"}},
    Row{kMemStalls,
        "Intel Comet Lake",
        kCpu,
        {"event=0xa3,umask=0x14,cmask=20",
         "CYCLE_ACTIVITY.STALLS_MEM_ANY: nothing executed while a load was outstanding"}},
    Row{kMemStalls,
        "Intel Cascade Lake",
        kCpu,
        {"event=0xa3,umask=0x14,cmask=20",
         "CYCLE_ACTIVITY.STALLS_MEM_ANY: nothing executed while a load was outstanding"}},
    Row{kMemStalls,
        "Intel Ice Lake",
        kCpu,
        {"event=0xa3,umask=0x14,cmask=20",
         "CYCLE_ACTIVITY.STALLS_MEM_ANY: nothing executed while a load was outstanding"}},
    Row{kMemStalls,
        "",
        kArm,
        {"stall_backend_mem", "STALL_BACKEND_MEM: no instruction issued, waiting for memory"}},
};

}  // namespace

std::span<const std::string_view> alias_names() {
  return kNames;
}

bool is_alias(std::string_view name) {
  return std::ranges::find(kNames, name) != kNames.end();
}

const AliasCode* alias_code(std::string_view alias, std::string_view generation, std::string_view pmu) {
  const auto found = std::ranges::find_if(kRows, [&](const Row& row) {
    return row.alias == alias && generation.starts_with(row.generation) && pmu.starts_with(row.pmu);
  });
  return found == kRows.end() ? nullptr : &found->code;
}

}  // namespace plimsoll::perf
