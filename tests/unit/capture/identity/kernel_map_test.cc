#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capture/identity/kernel.h"

namespace plimsoll::identity {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Texts {
  std::string kallsyms;
  std::string modules;
};

// /proc/kallsyms and /proc/modules of a kernel loaded at `base`, with a module and a BPF program at `module`.
Texts kernel_at(uint64_t base, uint64_t module) {
  return {
      fmt::format("0000000000000000 A fixed_percpu_data\n"
                  "{:016x} T _text\n"
                  "{:016x} T _stext\n"
                  "{:016x} T __pfx_do_work\n"
                  "{:016x} T do_work\n"
                  "{:016x} t another_do_work\n"
                  "{:016x} W weak_name\n"
                  "{:016x} D data_of_it\n"
                  "{:016x} T _etext\n"
                  "{:016x} D beyond\n"
                  "{:016x} t xfs_open\t[xfs]\n"
                  "{:016x} d xfs_data\t[xfs]\n"
                  "{:016x} t bpf_prog_1_trace\t[bpf]\n"
                  "not a line\n",
                  base, base, base + 0xff0, base + 0x1000, base + 0x1000, base + 0x2000, base + 0x2800,
                  base + 0x3000, base + 0x4000, module + 0x100, module + 0x800, module + 0x10000),
      fmt::format("xfs 4096 1 - Live 0x{:016x}\n", module),
  };
}

KernelMap parsed(uint64_t base, uint64_t module) {
  const Texts texts = kernel_at(base, module);
  auto map = KernelMap::parse(texts.kallsyms, texts.modules, "kernel-id", {{"xfs", "xfs-id"}});
  EXPECT_TRUE(map.has_value()) << map.error().text();
  return *std::move(map);
}

std::vector<std::string> symbols_of(const KernelImage& image) {
  std::vector<std::string> lines;
  for (const auto& symbol : image.symbols) {
    lines.push_back(fmt::format("{:x} {}", symbol.offset, symbol.name));
  }
  return lines;
}

constexpr uint64_t kBase = 0xffffffff81000000;
constexpr uint64_t kModule = 0xffffffffc0100000;

// Where the kernel was loaded (KASLR) must not show, or the profiles of two machines would not add up.
TEST(KernelMap, IsTheSameWhereverTheKernelWasLoaded) {
  for (const uint64_t shift : {uint64_t{0}, uint64_t{0x1a200000}}) {
    const KernelMap map = parsed(kBase + shift, kModule + shift / 2);
    ASSERT_EQ(map.images().size(), 2);
    const KernelImage& kernel = map.images()[0];
    EXPECT_EQ(kernel.name, "[kernel]");
    EXPECT_EQ(kernel.build_id, "kernel-id");
    EXPECT_EQ(kernel.start, kBase + shift);
    EXPECT_THAT(symbols_of(kernel), ElementsAre("0 _stext", "1000 another_do_work", "2000 weak_name"));
    const KernelImage& module = map.images()[1];
    EXPECT_EQ(module.name, "xfs");
    EXPECT_EQ(module.build_id, "xfs-id");
    EXPECT_THAT(symbols_of(module), ElementsAre("100 xfs_open"));
    EXPECT_EQ(map.find(kBase + shift + 0x1234)->offset, 0x1234);
    EXPECT_EQ(map.find(kModule + shift / 2 + 0x123)->offset, 0x123);
  }
}

TEST(KernelMap, FindsKernelModulesAndStubs) {
  const KernelMap map = parsed(kBase, kModule);
  const KernelImage* kernel = &map.images()[0];
  const KernelImage* module = &map.images()[1];
  EXPECT_EQ(map.find(kBase)->image, kernel);
  EXPECT_EQ(map.find(kBase + 0x2fff)->image, kernel);
  EXPECT_EQ(map.find(kModule)->image, module);
  EXPECT_EQ(map.find(kModule + 0xfff)->image, module);
  const auto stub = map.find(kModule + 0x10010);
  ASSERT_TRUE(stub.has_value());
  EXPECT_EQ(stub->image, nullptr);
  EXPECT_EQ(stub->stub->name, "bpf_prog_1_trace");
  EXPECT_EQ(stub->offset, 0x10);
}

TEST(KernelMap, FindsNothingElsewhere) {
  const KernelMap map = parsed(kBase, kModule);
  for (const uint64_t address : {uint64_t{0}, kBase - 1, kBase + 0x3000, kModule - 1, kModule + 0x1000,
                                 kModule + 0x10000 + (64 << 10), UINT64_MAX}) {
    EXPECT_FALSE(map.find(address).has_value()) << address;
  }
}

TEST(KernelMap, NamesAliasesAlikeInAnyOrder) {
  const std::string head = "ffffffff81000000 T _text\nffffffff81003000 T _etext\n";
  const std::string first = "ffffffff81001000 T zebra\n";
  const std::string second = "ffffffff81001000 t aardvark\n";
  for (const std::string& text : {head + first + second, second + first + head}) {
    const auto map = KernelMap::parse(text, "", "", {});
    EXPECT_THAT(symbols_of(map->images()[0]), ElementsAre("0 _text", "1000 aardvark"));
  }
}

TEST(KernelMap, CoversInitializationCode) {
  const auto map = KernelMap::parse(
      "ffffffff81000000 T _text\nffffffff81003000 T _etext\nffffffff81008000 T _einittext\n"
      "ffffffff81006000 t start_kernel\n",
      "", "", {});
  EXPECT_EQ(map->find(0xffffffff81007fff)->offset, 0x7fff);
}

TEST(KernelMap, SaysThatAddressesAreHidden) {
  for (const char* kallsyms :
       {"0000000000000000 T _text\n0000000000000000 T _etext\n0000000000000000 t xfs_open\t[xfs]\n", "",
        "ffffffff81000000 T only_this\n"}) {
    const auto map = KernelMap::parse(kallsyms, "xfs 4096 1 - Live 0x0000000000000000\n", "id", {});
    ASSERT_FALSE(map.has_value()) << kallsyms;
    EXPECT_EQ(map.error().code, ErrorCode::kDenied);
    EXPECT_THAT(map.error().hint, HasSubstr("CAP_SYSLOG"));
  }
}

TEST(KernelMap, LeavesOutModulesItCannotPlace) {
  const auto map = KernelMap::parse(
      "ffffffff81000000 T _text\nffffffff81003000 T _etext\n",
      "xfs 4096 1 - Live 0x0000000000000000\nshort 4096\nodd 4096 1 - Live nowhere\n", "", {});
  EXPECT_EQ(map->images().size(), 1);
  EXPECT_THAT(map->images()[0].build_id, IsEmpty());
}

}  // namespace
}  // namespace plimsoll::identity
