// Which process had what mapped, as the side-band records tell it.
#include "capture/identity/processes.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <array>
#include <random>

#include "base/checksum.h"
#include "tests/eventually.h"
#include "tests/places.h"
#include "tests/unit/capture/identity/fake_proc.h"
#include "tests/unit/elf/elf_image.h"

namespace plimsoll::identity {
namespace {

using ::testing::IsEmpty;

// What lies at each address of a small address space.
struct Byte {
  const BinaryInfo* binary = nullptr;
  uint64_t file_offset = 0;
  bool mapped = false;
};

TEST(Mappings, AnswerLikeAMapOfEveryByte) {
  constexpr uint64_t kSpace = 256;
  std::array<Byte, kSpace> model{};
  std::array<BinaryInfo, 4> binaries;
  Mappings mappings;
  std::mt19937_64 random(1);
  for (int step = 0; step < 10'000; ++step) {
    const uint64_t start = random() % kSpace;
    const uint64_t end = std::min<uint64_t>(kSpace, start + random() % (step % 7 == 0 ? 128 : 16));
    const Mapping added{start, end, random() % 4096, &binaries[random() % binaries.size()]};
    mappings.add(added);
    for (uint64_t address = start; address < end; ++address) {
      model[address] = {added.binary, added.file_offset + (address - start), true};
    }
    for (uint64_t address = 0; address < kSpace; ++address) {
      const Mapping* found = mappings.find(address);
      ASSERT_EQ(found != nullptr, model[address].mapped) << "step " << step << ", address " << address;
      if (found != nullptr) {
        ASSERT_EQ(found->binary, model[address].binary) << "step " << step << ", address " << address;
        ASSERT_EQ(found->file_offset + (address - found->start), model[address].file_offset)
            << "step " << step << ", address " << address;
      }
    }
  }
  uint64_t last_end = 0;
  for (const auto& [start, mapping] : mappings.all()) {
    EXPECT_EQ(start, mapping.start);
    EXPECT_GE(start, last_end) << "mappings overlap";
    EXPECT_LT(start, mapping.end);
    last_end = mapping.end;
  }
}

TEST(Mappings, EndBeforeTheirEnd) {
  Mappings mappings;
  mappings.add({10, 20, 0, nullptr});
  mappings.add({30, 30, 0, nullptr});
  EXPECT_EQ(mappings.find(9), nullptr);
  EXPECT_NE(mappings.find(10), nullptr);
  EXPECT_NE(mappings.find(19), nullptr);
  EXPECT_EQ(mappings.find(20), nullptr);
  EXPECT_EQ(mappings.find(30), nullptr);
}

// A table over a /proc that holds one process, "job" of PID 7.
class ProcessTableTest : public ::testing::Test {
 protected:
  ProcessTableTest() {
    proc_.process(7, {.comm = "job",
                      .executable = "/bin/job",
                      .cgroup = "0::/docker/abc\n",
                      .maps = "1000-2000 r-xp 00000000 fe:01 11 /bin/job\n"
                              "2000-3000 rw-p 00001000 fe:01 11 /bin/job\n"
                              "4000-5000 r-xp 00000000 00:00 0 \n"
                              "6000-7000 --xp 00000000 00:00 0 [vsyscall]\n"});
    proc_.file("7/task/8/comm", "worker\n");
    table_.scan();
  }

  void apply(int64_t time_ns, auto body) { table_.apply({time_ns, std::move(body)}); }
  void mmap(uint32_t pid, uint64_t start, uint64_t size_bytes, const std::string& path) {
    apply(0, perf::MmapRecord{pid, start, size_bytes, 0, "build-id of " + path, path});
  }
  void fork(uint32_t parent, uint32_t pid, int64_t time_ns = 100) {
    apply(time_ns, perf::ForkRecord{pid, parent, pid, parent});
  }
  void exec(uint32_t pid, const std::string& name, int64_t time_ns = 200) {
    apply(time_ns, perf::CommRecord{pid, pid, name, true});
  }
  // The path of what is mapped at `address`; "anonymous" and "nothing" where there is no file, or no mapping.
  std::string at(uint32_t pid, uint64_t address) {
    const Mapping* mapping = table_.find(pid).mappings->find(address);
    return mapping == nullptr ? "nothing" : mapping->binary == nullptr ? "anonymous" : mapping->binary->path;
  }
  const ProcessIdentity& identity(uint32_t pid) { return *table_.find(pid).identity; }

  FakeProc proc_;
  ProcFs files_{proc_.root(), standing_clocks()};
  const LiveImages images_{files_};
  BinaryTable binaries_{images_};
  ProcessTable table_{files_, binaries_, {}};
};

TEST_F(ProcessTableTest, ReadsWhatIsThereAlready) {
  EXPECT_EQ(identity(7).comm, "job");
  EXPECT_EQ(identity(7).executable, "/bin/job");
  EXPECT_EQ(identity(7).cgroup, "/docker/abc");
  EXPECT_EQ(identity(7).start_ns, 0);
  ASSERT_NE(identity(7).binary, nullptr);
  EXPECT_EQ(identity(7).binary->path, "/bin/job");
  EXPECT_EQ(at(7, 0x1800), "/bin/job");
  EXPECT_EQ(at(7, 0x2800), "nothing") << "data is no code";
  EXPECT_EQ(at(7, 0x4800), "anonymous");
  EXPECT_EQ(at(7, 0x6800), "nothing");
}

TEST_F(ProcessTableTest, ForkSharesTheMappingsUntilOneSideChanges) {
  fork(7, 20);
  EXPECT_EQ(table_.find(20).mappings, table_.find(7).mappings);
  EXPECT_EQ(identity(20).pid, 20);
  EXPECT_EQ(identity(20).start_ns, 100);
  EXPECT_EQ(identity(20).executable, "/bin/job");
  EXPECT_EQ(identity(20).cgroup, "/docker/abc");
  mmap(20, 0x8000, 0x1000, "/lib/child.so");
  mmap(7, 0x9000, 0x1000, "/lib/parent.so");
  EXPECT_EQ(at(20, 0x1800), "/bin/job");
  EXPECT_EQ(at(20, 0x8800), "/lib/child.so");
  EXPECT_EQ(at(20, 0x9800), "nothing");
  EXPECT_EQ(at(7, 0x8800), "nothing");
  EXPECT_EQ(at(7, 0x9800), "/lib/parent.so");
}

TEST_F(ProcessTableTest, ExecBeginsANewProgram) {
  fork(7, 20);
  const auto before = table_.find(20).identity;
  exec(20, "sort");
  EXPECT_NE(table_.find(20).identity, before) << "samples taken before keep the identity of their time";
  EXPECT_EQ(before->comm, "job");
  EXPECT_EQ(identity(20).comm, "sort");
  EXPECT_EQ(identity(20).start_ns, 200);
  EXPECT_EQ(identity(20).executable, "");
  EXPECT_EQ(identity(20).cgroup, "/docker/abc") << "of its parent, since /proc does not know it any more";
  EXPECT_EQ(at(20, 0x1800), "nothing");
  EXPECT_EQ(at(7, 0x1800), "/bin/job");
}

TEST_F(ProcessTableTest, AfterExecTheGroupThatARuntimeMovedItToIsRead) {
  fork(7, 20, kNsPerSecond);
  exec(20, "sort", kNsPerSecond);
  EXPECT_EQ(*table_.cgroup_of(table_.find(20), 0), "/docker/abc")
      << "its parent's, since /proc does not know it";
  table_.end_window();
  proc_.process(20, {.comm = "sort", .executable = "/bin/sort", .cgroup = "0::/docker/other\n", .maps = ""});
  EXPECT_EQ(*table_.cgroup_of(table_.find(20), 0), "/docker/other");
}

TEST_F(ProcessTableTest, TheFirstFileMappedAfterExecIsTheExecutable) {
  fork(7, 20);
  exec(20, "sort");
  mmap(20, 0x7000, 0x1000, "//anon");
  EXPECT_EQ(identity(20).executable, "");
  mmap(20, 0x1000, 0x1000, "/usr/bin/sort");
  mmap(20, 0x3000, 0x1000, "/lib/ld.so");
  EXPECT_EQ(identity(20).executable, "/usr/bin/sort");
  EXPECT_EQ(identity(20).binary->path, "/usr/bin/sort");
  EXPECT_EQ(identity(20).binary->identity, "build-id of /usr/bin/sort");
}

TEST_F(ProcessTableTest, NewMappingsReplaceOldOnes) {
  mmap(7, 0x1800, 0x100, "/lib/a.so");
  EXPECT_EQ(at(7, 0x17ff), "/bin/job");
  EXPECT_EQ(at(7, 0x1800), "/lib/a.so");
  EXPECT_EQ(at(7, 0x1900), "/bin/job");
  mmap(7, UINT64_MAX - 10, 11, "/no/such");
  EXPECT_EQ(at(7, UINT64_MAX), "nothing");
}

TEST_F(ProcessTableTest, MemoryThatIsNamedLikeAFileIsNone) {
  for (const char* path : {"/memfd:doublemapper (deleted)", "/dev/zero (deleted)", "/dev/zero",
                           "/anon_hugepage (deleted)", "/SYSV00000000 (deleted)", "//anon"}) {
    mmap(7, 0x8000, 0x1000, path);
    EXPECT_EQ(at(7, 0x8800), "anonymous") << path;
  }
  proc_.process(30, {.comm = "java",
                     .executable = "/bin/java",
                     .cgroup = "",
                     .maps = "1000-2000 r-xs 00000000 00:01 9 /memfd:doublemapper (deleted)\n"});
  table_.scan();
  EXPECT_EQ(at(30, 0x1800), "anonymous");
}

TEST_F(ProcessTableTest, ADeletedFileKeepsItsPath) {
  mmap(7, 0x8000, 0x1000, "/lib/old.so (deleted)");
  EXPECT_EQ(at(7, 0x8800), "/lib/old.so");
}

TEST_F(ProcessTableTest, ThreadsHaveNamesOfTheirOwn) {
  EXPECT_EQ(table_.thread_name(table_.find(7), 7), "job");
  EXPECT_EQ(table_.thread_name(table_.find(7), 8), "worker");
  EXPECT_EQ(table_.thread_name(table_.find(7), 9), "job") << "gone before it could be asked";
  apply(1, perf::ForkRecord{7, 7, 10, 8});
  EXPECT_EQ(table_.thread_name(table_.find(7), 10), "worker") << "a thread begins with the name of its maker";
  apply(2, perf::CommRecord{7, 10, "re\nnamed", false});
  EXPECT_EQ(table_.thread_name(table_.find(7), 10), "re?named");
  EXPECT_EQ(identity(7).comm, "job");
  apply(3, perf::CommRecord{7, 7, "main2", false});
  EXPECT_EQ(identity(7).comm, "main2");
  EXPECT_EQ(table_.thread_name(table_.find(7), 7), "main2");
  EXPECT_EQ(at(7, 0x1800), "/bin/job") << "a new name is no new program";
}

TEST_F(ProcessTableTest, AChildIsNamedLikeTheThreadThatForkedIt) {
  apply(1, perf::ForkRecord{20, 7, 20, 8});
  EXPECT_EQ(identity(20).comm, "worker");
}

TEST_F(ProcessTableTest, AReusedPidIsAnotherProcess) {
  fork(7, 20, 100);
  exec(20, "first", 101);
  mmap(20, 0x8000, 0x1000, "/bin/first");
  apply(150, perf::ExitRecord{20, 20});
  fork(7, 20, 160);
  EXPECT_EQ(identity(20).start_ns, 160);
  EXPECT_EQ(identity(20).comm, "job");
  EXPECT_EQ(at(20, 0x8800), "nothing");
  apply(2 * kNsPerSecond, perf::OtherRecord{});
  EXPECT_EQ(identity(20).start_ns, 160) << "it was the other one that exited";
}

TEST_F(ProcessTableTest, AnEndedProcessIsKnownForASecond) {
  apply(1, perf::ExitRecord{7, 7});
  proc_.gone(7);
  apply(kNsPerSecond, perf::OtherRecord{});
  EXPECT_EQ(at(7, 0x1800), "/bin/job") << "samples of it may still come";
  apply(kNsPerSecond + 2, perf::OtherRecord{});
  EXPECT_EQ(at(7, 0x1800), "nothing");
  EXPECT_EQ(identity(7).comm, "[exited]");
}

TEST_F(ProcessTableTest, AProcessGoesOnWithoutItsFirstThread) {
  proc_.process(30, {.comm = "pool", .executable = "/bin/pool", .cgroup = "", .maps = "", .threads = 3});
  table_.scan();
  apply(1, perf::ExitRecord{30, 30});
  apply(2 * kNsPerSecond, perf::OtherRecord{});
  EXPECT_EQ(identity(30).comm, "pool") << "/proc still has it with its other threads";
  proc_.gone(30);
  apply(3 * kNsPerSecond, perf::ExitRecord{30, 32});
  apply(5 * kNsPerSecond, perf::OtherRecord{});
  EXPECT_EQ(identity(30).comm, "[exited]");
}

TEST_F(ProcessTableTest, AThreadThatStartsAnotherProgramIsTheProcessFromThen) {
  apply(1, perf::ForkRecord{7, 7, 8, 7});
  apply(2, perf::ExitRecord{7, 7});
  exec(7, "next", 3);
  apply(4 * kNsPerSecond, perf::OtherRecord{});
  EXPECT_EQ(identity(7).comm, "next");
  EXPECT_EQ(identity(7).start_ns, 3);
}

TEST_F(ProcessTableTest, ALateProcessIsNotReadWhileRecordsAreComplete) {
  proc_.process(30, {.comm = "late", .executable = "/bin/late", .cgroup = "", .maps = ""});
  EXPECT_EQ(identity(30).comm, "[exited]") << "a sample of another process that had the PID before";
  EXPECT_EQ(table_.unknown(), 1);
}

TEST_F(ProcessTableTest, BeforeAnyScanAProcessIsReadFromProc) {
  proc_.process(30, {.comm = "late", .executable = "/bin/late", .cgroup = "", .maps = ""});
  ProcessTable table(files_, binaries_, {});
  EXPECT_EQ(table.find(30).identity->comm, "late");
  EXPECT_EQ(table.find(30).identity->cgroup, "/");
}

TEST_F(ProcessTableTest, AnUnknownPidHasNeitherMappingsNorExecutable) {
  const Process& process = table_.find(999);
  EXPECT_EQ(process.identity->pid, 999);
  EXPECT_EQ(process.identity->comm, "[exited]");
  EXPECT_EQ(process.identity->executable, "");
  EXPECT_EQ(process.identity->cgroup, "/");
  EXPECT_THAT(process.mappings->all(), IsEmpty());
}

TEST_F(ProcessTableTest, ThreadsOfTheKernelBelongToTheKernel) {
  proc_.process(
      2, {.comm = "kthreadd", .executable = "", .cgroup = "0::/\n", .maps = "", .is_kernel_thread = true});
  table_.scan();
  EXPECT_EQ(identity(2).executable, "[kernel]");
  EXPECT_EQ(identity(0).executable, "[kernel]");
  EXPECT_EQ(identity(0).comm, "swapper");
}

TEST_F(ProcessTableTest, TheIdleTaskWasAlwaysThere) {
  table_.scan();
  const auto comm_at = [&](int64_t time_ns) { return table_.find(0, time_ns).identity->comm; };
  EXPECT_EQ(comm_at(1), "swapper") << "sampled before it was looked for";
  table_.invalidate();
  EXPECT_EQ(comm_at(2), "swapper");
  table_.end_window();
  EXPECT_EQ(comm_at(1), "swapper");
}

// In a PID namespace of our own all others are PID 0, whatever they run.
TEST_F(ProcessTableTest, ProcessesOutsideOurPidNamespaceAreNotToldApart) {
  std::filesystem::create_directories(proc_.root() + "/self/ns");
  std::filesystem::create_symlink("pid:[4026532178]", proc_.root() + "/self/ns/pid");
  ProcessTable table(files_, binaries_, {});
  table.scan();
  const std::vector<perf::Record> records{
      {1, perf::ForkRecord{0, 0, 0, 0}},
      {2, perf::CommRecord{0, 0, "other", true}},
      {3, perf::MmapRecord{0, 0x1000, 0x1000, 0, "id", "/bin/other"}},
      {4, perf::ExitRecord{0, 0}},
  };
  for (const perf::Record& record : records) {
    table.apply(record);
    Process& process = table.find(0, record.time_ns);
    EXPECT_EQ(process.identity->comm, "[outside]");
    EXPECT_EQ(process.identity->executable, "");
    EXPECT_EQ(table.thread_name(process, 0), "[outside]");
    EXPECT_THAT(process.mappings->all(), IsEmpty());
  }
  EXPECT_EQ(table.unknown(), 0) << "of which there may be many: they say nothing of lost records";
  table.apply({5, perf::ForkRecord{7, 0, 7, 0}});
  EXPECT_EQ(table.find(7, 6).identity->executable, "/bin/job") << "read, since its parent is not known";
}

// A process in a group that there was no room for: while it is there /proc tells its group, afterwards nobody.
TEST_F(ProcessTableTest, SamplesWhoseGroupNobodyKnowsAreCounted) {
  ProcessTable table(files_, binaries_, {}, {.max_groups = 1});
  table.scan();
  table.apply({1, perf::CgroupRecord{100, "/fits"}});
  table.apply({1, perf::CgroupRecord{101, "/does-not"}});
  EXPECT_EQ(*table.cgroup_of(table.find(7), 100), "/fits");
  EXPECT_EQ(*table.cgroup_of(table.find(7), 101), "/docker/abc") << "by /proc";
  EXPECT_EQ(table.unplaced(), 0);
  table.apply({kNsPerSecond, perf::ForkRecord{20, 7, 20, 7}});
  EXPECT_EQ(*table.cgroup_of(table.find(20), 101), "/docker/abc") << "its parent's";
  EXPECT_EQ(*table.cgroup_of(table.find(20), 101), "/docker/abc");
  EXPECT_EQ(*table.cgroup_of(table.find(20), 0), "/docker/abc");
  EXPECT_EQ(table.unplaced(), 2) << "where the sample told a group";
  table.end_window();
  EXPECT_EQ(table.unplaced(), 0);
}

// Half a second in which records are lost: the thread 8 is named again, and another library lies where "left" was.
class AfterALoss : public ProcessTableTest {
 protected:
  AfterALoss() {
    live_.scan();
    map_now(2 * kNsPerSecond, "left.so");
    now_ns_ = 3 * kNsPerSecond;
    proc_.file("7/comm", "main2\n");
    proc_.file("7/task/8/comm", "again\n");
    proc_.file("7/maps",
               "1000-2000 r-xp 00000000 fe:01 11 /bin/job\n8000-9000 r-xp 00000000 fe:01 12 /lib/right.so\n");
    live_.invalidate();
  }

  void map_now(int64_t time_ns, const std::string& library) {
    live_.apply({time_ns, perf::MmapRecord{7, 0x8000, 0x1000, 0, {}, "/lib/" + library, 0xfe, 1, 12}});
  }
  std::string library_at(int64_t time_ns) {
    const Mapping* mapping = live_.find(7, time_ns).mappings->find(0x8800);
    return mapping == nullptr ? "nothing" : mapping->binary->path;
  }

  int64_t now_ns_ = kNsPerSecond + 1;
  ProcFs moving_files_{proc_.root(), {[this] { return now_ns_; }, [this] { return now_ns_; }}};
  ProcessTable live_{moving_files_, binaries_, {}};
  const int64_t before_look_ns_ = 2 * kNsPerSecond + kNsPerSecond / 2;
  const int64_t after_look_ns_ = 3 * kNsPerSecond;
};

TEST_F(AfterALoss, AProcessIsWhatProcSaysFromTheLookOn) {
  Process& process = live_.find(7, after_look_ns_);
  EXPECT_TRUE(process.is_whole);
  EXPECT_EQ(library_at(after_look_ns_), "/lib/right.so");
  EXPECT_EQ(process.identity->comm, "main2");
  EXPECT_EQ(ProcessTable::thread_name(process, 7), "main2");
  EXPECT_EQ(ProcessTable::thread_name(process, 8), "again");
}

TEST_F(AfterALoss, OnlyTheCodeOfItsExecutableIsSureBeforeTheLook) {
  Process& process = live_.find(7, before_look_ns_);
  EXPECT_EQ(process.identity, live_.find(7, after_look_ns_).identity) << "it is the same program";
  ASSERT_NE(process.mappings->find(0x1800), nullptr);
  EXPECT_EQ(process.mappings->find(0x1800)->binary->path, "/bin/job");
  EXPECT_EQ(library_at(before_look_ns_), "nothing") << "any may have been there";
  EXPECT_EQ(ProcessTable::thread_name(process, 8), "main2") << "not its own";
  EXPECT_EQ(live_.unknown(), 0);
}

TEST_F(AfterALoss, RecordsOfTheTimeBeforeTheLookAreInItAlready) {
  live_.find(7, after_look_ns_);
  map_now(before_look_ns_, "middle.so");
  EXPECT_EQ(library_at(after_look_ns_), "/lib/right.so");
  map_now(after_look_ns_ + 1, "left.so");
  EXPECT_EQ(library_at(after_look_ns_ + 1), "/lib/left.so");
}

TEST_F(AfterALoss, AChildOfThatTimeIsReadRatherThanTakenFromItsParent) {
  proc_.process(20, {.comm = "child",
                     .executable = "/bin/job",
                     .cgroup = "",
                     .maps = "8000-9000 r-xp 00000000 fe:01 12 /lib/right.so\n",
                     .started_ticks = 250});
  live_.apply({before_look_ns_, perf::ForkRecord{20, 7, 20, 7}});
  EXPECT_EQ(live_.find(20, after_look_ns_).identity->comm, "child");
  EXPECT_NE(live_.find(20, after_look_ns_).mappings->find(0x8800), nullptr);
}

TEST_F(AfterALoss, WithTheWindowWhatIsUnsureEnds) {
  live_.find(7, before_look_ns_);
  live_.end_window();
  EXPECT_FALSE(live_.find(7, before_look_ns_).is_known);
}

TEST_F(ProcessTableTest, AZombieIsNoThreadOfTheKernel) {
  proc_.process(9, {.comm = "a) R (b", .executable = "", .cgroup = "0::/\n", .maps = ""});
  table_.scan();
  EXPECT_EQ(identity(9).executable, "");
  EXPECT_EQ(identity(9).comm, "a) R (b");
}

TEST_F(ProcessTableTest, OtherRecordsChangeNothing) {
  apply(1, perf::SampleRecord{});
  apply(1, perf::ThrottleRecord{});
  apply(1, perf::OtherRecord{});
  EXPECT_EQ(identity(7).comm, "job");
}

// The binary a path of PID 7 stands for.
class BinaryTableTest : public ProcessTableTest {};

TEST_F(BinaryTableTest, OneBuildIdIsOneBinaryWhateverItsPath) {
  const auto* first = binaries_.find_or_read({7, "/a", "same", {}});
  EXPECT_EQ(binaries_.find_or_read({7, "/b", "same", {}}), first);
  EXPECT_NE(binaries_.find_or_read({7, "/a", "other", {}}), first);
  EXPECT_EQ(first->identity_kind, wire::GNU_BUILD_ID);
  EXPECT_EQ(first->path, "/a");
  EXPECT_THAT(first->segments, IsEmpty()) << "there is no such file";
}

// Counts how often files are looked for.
class CountedImages : public ImageSource {
 public:
  Result<OpenedImage> open(const MappedFileHint& hint) const override {
    ++looks;
    return fail(ErrorCode::kNotFound, "no {}", hint.path);
  }
  bool are_of_this_machine() const override { return true; }
  mutable int looks = 0;
};

TEST(BinariesOutOfReach, AreNotLookedForWithEachOfThousandsOfProcesses) {
  const CountedImages images;
  BinaryTable binaries(images);
  for (uint32_t pid = 1; pid <= 4096; ++pid) {
    binaries.find_or_read({pid, "/private/tool", "build id", {}});
  }
  EXPECT_GE(images.looks, 4 + 10) << "another process may have it within reach: at 8, 16, ... 4,096";
  EXPECT_LE(images.looks, 4 + 10 + 60) << "and once a second";
}

TEST(BinariesInUse, AreKeptWhenThereAreTooMany) {
  const CountedImages images;
  BinaryTable binaries(images, 3);
  std::vector<const BinaryInfo*> infos;
  for (const char* build_id : {"a", "b", "c", "d"}) {
    EXPECT_FALSE(binaries.has_too_many());
    infos.push_back(binaries.find_or_read({1, "/tool", build_id, {}}));
  }
  EXPECT_TRUE(binaries.has_too_many());
  EXPECT_THAT(binaries.forget_unused({nullptr, infos[1], infos[3]}),
              ::testing::UnorderedElementsAre(infos[0], infos[2]));
  EXPECT_EQ(binaries.size(), 2);
  EXPECT_EQ(binaries.find_or_read({1, "/tool", "b", {}}), infos[1]);
}

FileId file_id(const std::string& path) {
  struct stat info{};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return {major(info.st_dev), minor(info.st_dev), info.st_ino};
}

TEST_F(BinaryTableTest, WithoutABuildIdTheFileIsReadIfItIsTheMappedOne) {
  const std::string path = proc_.root() + "/7/root/bin/this";
  std::filesystem::create_directories(proc_.root() + "/7/root/bin");
  std::filesystem::copy_file("/proc/self/exe", path);
  const FileId mapped = file_id(path);
  const auto* found = binaries_.find_or_read({7, "/bin/this", "", mapped});
  EXPECT_EQ(found->identity_kind, wire::GNU_BUILD_ID);
  EXPECT_FALSE(found->segments.empty());
  for (const FileId& other : {FileId{mapped.device_major, mapped.device_minor, mapped.inode + 1},
                              FileId{mapped.device_major + 1, mapped.device_minor, mapped.inode}, FileId{}}) {
    const auto* replaced = binaries_.find_or_read({7, "/bin/this", "", other});
    EXPECT_EQ(replaced->identity_kind, wire::IDENTITY_UNKNOWN) << "another file: it was replaced";
    EXPECT_THAT(replaced->segments, IsEmpty());
  }
  EXPECT_EQ(binaries_.find_or_read({7, "/bin/this", "another build", {}})->identity, "another build");
}

TEST_F(BinaryTableTest, WithoutAnyBuildIdTheContentNamesIt) {
  const std::string path = proc_.root() + "/7/root/plain";
  std::filesystem::create_directories(proc_.root() + "/7/root");
  elf::ElfImage image;
  image.load({PF_R | PF_X, 0, 0x400000, 64});
  proc_.file("7/root/plain", image.bytes());
  const auto* found = binaries_.find_or_read({7, "/plain", "", file_id(path)});
  EXPECT_EQ(found->identity_kind, wire::CONTENT_HASH);
  EXPECT_EQ(found->identity, content_hash(as_bytes(image.bytes())));
}

TEST_F(BinaryTableTest, OnlySoMuchOfFilesIsHashed) {
  std::filesystem::create_directories(proc_.root() + "/7/root");
  constexpr uint64_t kSparseBytes = uint64_t{100} << 20;
  std::string path;  // the hint borrows it
  const auto sparse = [&](int number) {
    elf::ElfImage image;
    image.load({PF_R | PF_X, 0, 0x400000 + static_cast<uint64_t>(number), 64});
    const std::string name = fmt::format("7/root/sparse-{}", number);
    proc_.file(name, image.bytes());
    std::filesystem::resize_file(proc_.root() + "/" + name, kSparseBytes);
    path = fmt::format("/sparse-{}", number);
    return MappedFileHint{7, path, "", file_id(proc_.root() + "/" + name)};
  };
  BinaryTable none_later(images_, 1000, kNsPerSecond, {.burst_bytes = kSparseBytes, .bytes_per_s = 0});
  EXPECT_EQ(none_later.find_or_read(sparse(1))->identity_kind, wire::CONTENT_HASH);
  for (int number = 2; number < 500; ++number) {
    const BinaryInfo* const found = none_later.find_or_read(sparse(number));
    EXPECT_EQ(found->identity_kind, wire::IDENTITY_UNKNOWN);
    EXPECT_FALSE(found->segments.empty()) << "its program headers are read";
  }
  // Once there is room, the content names it.
  BinaryTable at_once(images_, 1000, kNsPerSecond,
                      {.burst_bytes = kSparseBytes, .bytes_per_s = uint64_t{1} << 50});
  EXPECT_EQ(at_once.find_or_read(sparse(1))->identity_kind, wire::CONTENT_HASH);
  EXPECT_TRUE(plimsoll::testing::eventually(
      [&] { return at_once.find_or_read(sparse(2))->identity_kind == wire::CONTENT_HASH; }));
}

TEST_F(BinaryTableTest, FilesOfAProcessThatIsGoneAreFoundByItsAncestors) {
  std::filesystem::create_directories(proc_.root() + "/7/root/bin");
  std::filesystem::copy_file("/proc/self/exe", proc_.root() + "/7/root/bin/this");
  const FileId mapped = file_id(proc_.root() + "/7/root/bin/this");
  const auto* gone = binaries_.find_or_read({.pid = 9, .path = "/bin/this", .build_id = "", .file = mapped});
  EXPECT_EQ(gone->identity_kind, wire::IDENTITY_UNKNOWN) << "nobody else shows it";
  BinaryTable binaries(images_);
  const auto* found = binaries.find_or_read(
      {.pid = 9, .path = "/bin/this", .build_id = "", .file = mapped, .ancestors = {8, 7}});
  EXPECT_EQ(found->identity_kind, wire::GNU_BUILD_ID);
  EXPECT_FALSE(found->segments.empty());
}

// Times of change as a test wants them: those of the kernel advance each few milliseconds.
class ImagesWithTimes : public LiveImages {
 public:
  using LiveImages::LiveImages;
  int64_t changed_ns(const MappedFileHint& /*hint*/) const override { return changed; }
  int64_t changed = 1;
};

TEST_F(BinaryTableTest, AFileWrittenOverInPlaceIsAnotherBinary) {
  const ProcFs proc_fs(proc_.root());
  ImagesWithTimes images(proc_fs);
  BinaryTable binaries(images, 1000, /*recheck_ns=*/0);
  std::filesystem::create_directories(proc_.root() + "/7/root");
  const auto write = [&](uint64_t address) {
    elf::ElfImage image;
    image.load({PF_R | PF_X, 0, address, 64});
    proc_.file("7/root/plain", image.bytes());
    return content_hash(as_bytes(image.bytes()));
  };
  const std::string first = write(0x400000);
  const FileId id = file_id(proc_.root() + "/7/root/plain");
  EXPECT_EQ(binaries.find_or_read({7, "/plain", "", id})->identity, first);
  const std::string second = write(0x500000);
  images.changed = 2;
  ASSERT_EQ(file_id(proc_.root() + "/7/root/plain"), id) << "the same file";
  EXPECT_EQ(binaries.find_or_read({7, "/plain", "", id})->identity, second);
}

// A library that this process has loaded from a file that is gone by now.
class OpenImage : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::copy_file(built_file("symbol_fixture.so"), path_,
                               std::filesystem::copy_options::overwrite_existing);
    mapped_ = file_id(path_);
    library_.reset(::dlopen(path_.c_str(), RTLD_NOW));
    ASSERT_NE(library_, nullptr) << ::dlerror();
  }
  void TearDown() override { std::filesystem::remove(path_); }

  struct Close {
    void operator()(void* library) const { ::dlclose(library); }
  };
  const std::string path_ = ::testing::TempDir() + "open_image." + std::to_string(::getpid()) + ".so";
  const ProcFs proc_fs_;
  const uint32_t pid_ = static_cast<uint32_t>(::getpid());
  const std::string build_id_ = "plimsoll-fixture";
  FileId mapped_;
  std::unique_ptr<void, Close> library_;
};

TEST_F(OpenImage, FindsTheFile) {
  const auto opened = open_image(proc_fs_, {pid_, path_, build_id_, {}});
  ASSERT_TRUE(opened.has_value()) << opened.error().text();
  EXPECT_NE(opened->fd, nullptr);
  EXPECT_EQ(opened->image.build_id(), build_id_);
}

TEST_F(OpenImage, ReadsADeletedFileFromTheProcesssMemory) {
  const auto before = open_image(proc_fs_, {pid_, path_, "", mapped_});
  const auto bytes_of = [](const elf::LoadedImage& image) {
    const auto frames = image.call_frames()->at(0);
    return *frames.read(0, frames.size_bytes);
  };
  const std::string frames = bytes_of(before->image);
  ASSERT_FALSE(frames.empty());
  std::filesystem::remove(path_);
  for (const MappedFileHint& hint :
       {MappedFileHint{pid_, path_, build_id_, {}}, MappedFileHint{pid_, path_, "", mapped_}}) {
    const auto opened = open_image(proc_fs_, hint);
    ASSERT_TRUE(opened.has_value()) << opened.error().text();
    EXPECT_EQ(opened->fd, nullptr);
    EXPECT_EQ(opened->image.build_id(), build_id_);
    EXPECT_EQ(opened->image.segments().size(), before->image.segments().size());
    EXPECT_EQ(bytes_of(opened->image), frames);
  }
}

TEST_F(OpenImage, IsNotDeceivedByAnotherFileOfThatName) {
  std::filesystem::remove(path_);
  std::filesystem::copy_file("/proc/self/exe", path_);
  const auto opened = open_image(proc_fs_, {pid_, path_, build_id_, {}});
  ASSERT_TRUE(opened.has_value()) << opened.error().text();
  EXPECT_EQ(opened->image.build_id(), build_id_) << "from memory";
  library_.reset();
  const auto gone = open_image(proc_fs_, {pid_, path_, build_id_, {}});
  EXPECT_EQ(gone.error().code, ErrorCode::kNotFound) << gone.error().text();
}

}  // namespace
}  // namespace plimsoll::identity
