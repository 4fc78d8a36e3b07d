// Call frame information from damaged binaries, and stacks that are damaged with it.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <memory>

#include "capture/unwind/walker.h"
#include "elf/loaded_image.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seed.h"

namespace plimsoll::unwind {
namespace {

constexpr int kMutations = 10'000;
constexpr uint64_t kStackStart = 0x7000'0000;

// A small part of a real section, so that it is damaged often.
struct Section {
  std::string bytes;
  uint64_t address = 0;
};
Section real_eh_frame() {
  const std::string path = "/proc/self/exe";
  const auto image = elf::LoadedImage::from_file(
      elf::read_at_of(std::make_shared<UniqueFd>(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), path));
  const auto sections = image->call_frames();
  return {*sections->front().read(0, 2000), sections->front().address};
}

Result<UnwindTable> compile(std::string bytes, elf::CallFrames::Format format, uint64_t address) {
  const auto kept = std::make_shared<const std::string>(std::move(bytes));
  return UnwindTable::compile(
      {{.format = format,
        .read = [kept](uint64_t offset,
                       uint64_t size_bytes) { return elf::read_at_of(as_bytes(*kept))(offset, size_bytes); },
        .size_bytes = kept->size(),
        .address = address}});
}

// One table for all code.
class OneTable : public CodeMap {
 public:
  explicit OneTable(const UnwindTable& table) : table_(table) {}
  CodePlace find(uint64_t address) override {
    return {.is_mapped = true,
            .table = &table_,
            .elf_address = address,
            .keeps_frame_pointers = address % 2 == 0};
  }

 private:
  const UnwindTable& table_;
};

TEST(FuzzCfi, DamagedTablesAndStacksEndWithAReason) {
  const auto original = real_eh_frame();
  std::mt19937_64 random(fuzz::seed(1));
  int parsed = 0;
  size_t frames = 0;
  for (int i = 0; i < kMutations; ++i) {
    const auto table =
        compile(fuzz::mutated(original.bytes, random),
                random() % 8 == 0 ? elf::CallFrames::Format::kDebugFrame : elf::CallFrames::Format::kEhFrame,
                original.address);
    if (!table) {
      EXPECT_FALSE(table.error().message.empty());
      continue;
    }
    ++parsed;
    std::vector<uint64_t> words(64);
    for (uint64_t& word : words) {
      // Mostly addresses that the table knows, some that lead into the stack.
      word = random() % 4 == 0 ? kStackStart + random() % 600 : original.address - random() % 0x10000;
    }
    Registers registers;
    for (size_t number = 0; number < kRegisters; ++number) {
      registers.set(number, words[number]);
    }
    registers.set(kRsp, kStackStart);
    Walker walker;
    WalkedStack walked;
    OneTable code(*table);
    walker.walk(registers, {.start = kStackStart, .bytes = std::as_bytes(std::span(words))},
                {.addresses = words}, code, walked);
    EXPECT_LE(walked.addresses.size(), Walker::kMaxFrames);
    frames += walked.addresses.size();
  }
  EXPECT_GT(parsed, kMutations / 10);
  EXPECT_GT(frames, static_cast<size_t>(parsed)) << "no walk came further than its first frame";
}

}  // namespace
}  // namespace plimsoll::unwind
