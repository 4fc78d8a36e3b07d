// The repository of binaries: what it keeps, what it refuses, and what a crash leaves.
#include "symbolizer/repository/repository.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <utility>

#include "base/checksum.h"
#include "base/file.h"
#include "base/hex.h"
#include "elf/hashes/htl_hash.h"
#include "symbolizer/repository/repository_files.h"
#include "symbolizer/repository/verify.h"
#include "symbolizer/search/file_search.h"
#include "symbolizer/search/table_search.h"
#include "tests/temporary_directory.h"
#include "tests/unit/elf/part_of.h"
#include "tests/unit/symbolizer/repository/sample_binary.h"
#include "tests/unit/symbolizer/repository/sample_sources.h"

namespace plimsoll::symbolizer::repository_test {
namespace {

using store::SymbolQuality;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kNowNs = 1'700'000'000'000'000'000;
constexpr int64_t kTestDayNs = 86'400LL * 1'000'000'000;
const std::string kId = SampleBinary().build_id;

// A disk that fails from some call on, as after the process was killed there.
class FailingDisk {
 public:
  explicit FailingDisk(int calls_before) { calls_left_ = calls_before; }

  static const FileCalls& calls() {
    static constexpr FileCalls kCalls{&write, &fsync, &rename, &pwrite, &unlink};
    return kCalls;
  }
  static bool has_failed() { return calls_left_ < 0; }

 private:
  static bool enter() {
    errno = EIO;
    return --calls_left_ >= 0;
  }
  // Half of it, so that a crash may come in the middle of a file.
  static ssize_t write(int fd, const void* bytes, size_t size) {
    return enter() ? ::write(fd, bytes, (size + 1) / 2) : -1;
  }
  static int fsync(int /*fd*/) { return enter() ? 0 : -1; }
  static int rename(const char* from, const char* to) { return enter() ? ::rename(from, to) : -1; }
  static ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
    return enter() ? ::pwrite(fd, bytes, size, offset) : -1;
  }
  static int unlink(const char* path) { return enter() ? ::unlink(path) : -1; }

  static inline int calls_left_ = 0;
};

// Asks at each renaming of a file what the repository says of the build that is being added.
class AskingDisk {
 public:
  static const FileCalls& calls() {
    static constexpr FileCalls kCalls{&::write, &::fsync, &rename, &::pwrite, &::unlink};
    return kCalls;
  }
  // Null: it asks no more.
  static void ask(const BinaryRepository* repository) { repository_ = repository; }
  // "found", "arriving", or "unknown".
  static std::string answer(const BinaryRepository& repository) {
    return repository.find(kId) ? "found" : repository.is_arriving(kId) ? "arriving" : "unknown";
  }
  static std::vector<std::string> take_answers() { return std::exchange(answers_, {}); }

 private:
  static int rename(const char* from, const char* to) {
    if (repository_ != nullptr) {
      answers_.push_back(answer(*repository_));
    }
    return ::rename(from, to);
  }

  static inline const BinaryRepository* repository_ = nullptr;
  static inline std::vector<std::string> answers_;
};

class RepositoryTest : public ::testing::Test {
 protected:
  std::unique_ptr<BinaryRepository> open(const FileCalls& calls = FileCalls::system()) const {
    auto opened = BinaryRepository::open(folder_.path(), limits_, calls);
    EXPECT_TRUE(opened) << opened.error().text();
    return opened ? *std::move(opened) : nullptr;
  }

  static Result<AddedBinary> add(BinaryRepository& repository, std::string_view image,
                                 BinaryOrigin origin = {}) {
    auto staged = repository.stage();
    const Status written = staged ? staged->write(as_bytes(image)) : propagate(staged);
    if (!written) {
      return propagate(written);
    }
    origin.now_ns = origin.now_ns == 0 ? kNowNs : origin.now_ns;
    return repository.add(*std::move(staged), origin);
  }

  static std::string outcome_of(BinaryRepository& repository, const SampleBinary& sample) {
    const auto added = add(repository, image_of(sample));
    return added ? std::string(name_of(added->outcome)) : std::string(name_of(added.error().code));
  }

  std::string kept(BinaryKind kind = BinaryKind::kExecutable, const std::string& id = kId) const {
    return read_file(kept_path(folder_.path(), id, kind), 1 << 20).value_or("");
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(repository_path(folder_.path()))) {
      if (entry.is_regular_file()) {
        names.push_back(entry.path().filename().string());
      }
    }
    return names;
  }

  plimsoll::testing::TemporaryDirectory folder_;
  RepositoryLimits limits_;
};

TEST_F(RepositoryTest, KeepsAFileByTheBuildIdInsideOfIt) {
  const auto repository = open();
  const std::string image = image_of({});
  const auto added = add(*repository, image, {.source = "alice: app", .labels = {{"revision", "4f2c"}}});
  ASSERT_TRUE(added) << added.error().text();
  EXPECT_EQ(added->outcome, AddOutcome::kAdded);
  EXPECT_TRUE(added->is_new());
  EXPECT_EQ(added->build_id, kId);
  EXPECT_EQ(kept(), image);
  const auto record = repository->find(kId);
  ASSERT_TRUE(record);
  ASSERT_THAT(record->files, SizeIs(1));
  EXPECT_EQ(record->files[0].kind, BinaryKind::kExecutable);
  EXPECT_EQ(record->files[0].quality, SymbolQuality::kFull);
  EXPECT_EQ(record->files[0].size_bytes, image.size());
  EXPECT_EQ(record->files[0].content_hash, content_hash(as_bytes(image)));
  EXPECT_EQ(record->files[0].added_ns, kNowNs);
  EXPECT_EQ(record->files[0].source, "alice: app");
  EXPECT_THAT(record->labels, ElementsAre(std::pair<std::string, std::string>("revision", "4f2c")));
  EXPECT_EQ(record->files[0].htl_hash, elf::htl_hash(as_bytes(image)));
  EXPECT_EQ(repository->bytes(), image.size());
}

TEST_F(RepositoryTest, TellsKindsAndQualitiesApart) {
  for (const BinaryKind kind : {BinaryKind::kExecutable, BinaryKind::kDebug}) {
    for (const SymbolQuality quality : {SymbolQuality::kNone, SymbolQuality::kDynsym, SymbolQuality::kSymtab,
                                        SymbolQuality::kLines, SymbolQuality::kFull}) {
      const std::string image = image_of({.kind = kind, .quality = quality});
      const auto facts = examine_binary(as_bytes(image), "sample");
      ASSERT_TRUE(facts) << facts.error().text();
      EXPECT_EQ(facts->kind, kind);
      EXPECT_EQ(facts->quality, quality) << store::name_of(quality);
    }
  }
}

TEST_F(RepositoryTest, AStrippedFileNeverReplacesABetterOne) {
  const auto repository = open();
  EXPECT_EQ(outcome_of(*repository, {.quality = SymbolQuality::kDynsym}), "added");
  EXPECT_EQ(outcome_of(*repository, {.quality = SymbolQuality::kFull}), "replaced");
  EXPECT_EQ(outcome_of(*repository, {.quality = SymbolQuality::kSymtab}), "worse");
  EXPECT_EQ(outcome_of(*repository, {.quality = SymbolQuality::kFull}), "known");
  EXPECT_EQ(kept(), image_of({.quality = SymbolQuality::kFull}));
}

TEST_F(RepositoryTest, APartOfABinaryIsADebugFileUntilAWholeOneComes) {
  const std::string executable = image_of({});
  const std::string symbols = *elf::part_of(executable, elf::BinaryPart::kSymbolsOnly);
  const std::string debug = *elf::part_of(executable, elf::BinaryPart::kDebugSections);
  const std::string whole_debug = image_of({.kind = BinaryKind::kDebug});
  const auto outcome = [](BinaryRepository& repository, const std::string& image) {
    const auto added = add(repository, image);
    return added ? name_of(added->outcome) : name_of(added.error().code);
  };
  {
    const auto repository = open();
    EXPECT_EQ(outcome(*repository, symbols), "added");
    const auto record = repository->find(kId);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->files.at(0).kind, BinaryKind::kDebug);
    EXPECT_EQ(record->files.at(0).quality, SymbolQuality::kSymtab);
    EXPECT_TRUE(record->files.at(0).is_part);
    EXPECT_EQ(described_kind(record->files.at(0)), "debug (part)");
    EXPECT_EQ(record->files.at(0).htl_hash, elf::kSampleHash) << "of the whole file";
    EXPECT_EQ(outcome(*repository, debug), "replaced") << "it has more symbols";
    EXPECT_EQ(outcome(*repository, symbols), "worse");
    EXPECT_EQ(outcome(*repository, debug), "known");
  }
  std::filesystem::remove(record_path(folder_.path(), kId));
  const auto repository = open();
  EXPECT_TRUE(repository->find(kId)->files.at(0).is_part) << "the file says so";
  EXPECT_EQ(outcome(*repository, whole_debug), "replaced") << "nothing was left out of it";
  EXPECT_FALSE(repository->find(kId)->files.at(0).is_part);
  EXPECT_EQ(outcome(*repository, debug), "worse");
  EXPECT_EQ(kept(BinaryKind::kDebug), whole_debug);
  EXPECT_EQ(outcome(*repository, executable), "added") << "its code is another file";
}

TEST_F(RepositoryTest, LabelsAreNotedOfTheSameFileAlone) {
  const auto repository = open();
  const auto revision_after = [&](SymbolQuality quality, const std::string& revision) {
    EXPECT_TRUE(add(*repository, image_of({.quality = quality}), {.labels = {{"revision", revision}}}));
    return repository->find(kId)->labels.at(0).second;
  };
  EXPECT_EQ(revision_after(SymbolQuality::kFull, "4f2c"), "4f2c");
  EXPECT_EQ(revision_after(SymbolQuality::kFull, "4f2d"), "4f2d") << "known";
  EXPECT_EQ(revision_after(SymbolQuality::kSymtab, "4f2e"), "4f2d") << "worse";
}

TEST_F(RepositoryTest, AnExecutableAndItsDebugFileStayBesideEachOther) {
  const auto repository = open();
  EXPECT_EQ(outcome_of(*repository, {.quality = SymbolQuality::kDynsym}), "added");
  EXPECT_EQ(outcome_of(*repository, {.kind = BinaryKind::kDebug}), "added");
  EXPECT_EQ(kept(), image_of({.quality = SymbolQuality::kDynsym}));
  EXPECT_EQ(kept(BinaryKind::kDebug), image_of({.kind = BinaryKind::kDebug}));
  EXPECT_EQ(repository->find(kId)->quality(), SymbolQuality::kFull);
}

TEST_F(RepositoryTest, OtherBytesWithAsManySymbolsAreAConflict) {
  const auto repository = open();
  ASSERT_EQ(outcome_of(*repository, {}), "added");
  const auto other = add(*repository, image_of({.filler = "on another machine"}));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kConflict);
  EXPECT_THAT(other.error().text(), HasSubstr(to_hex(kId)));
  EXPECT_EQ(kept(), image_of({}));
}

TEST_F(RepositoryTest, SourcesAreKeptBesideTheFilesOfTheirBuild) {
  const std::string sources = source_archive_of({{"build/a.c", "int a;\n"}});
  const std::string mended = source_archive_of({{"build/a.c", "int b;\n"}});
  {
    const auto repository = open();
    ASSERT_TRUE(add(*repository, image_of({})));
    EXPECT_EQ(add(*repository, sources).error().code, ErrorCode::kInvalid) << "of which build?";
    const auto added = add(*repository, sources, {.build_id = kId});
    ASSERT_TRUE(added) << added.error().text();
    EXPECT_EQ(added->outcome, AddOutcome::kAdded);
    EXPECT_FALSE(added->has_new_symbols());
    EXPECT_EQ(add(*repository, sources, {.build_id = kId})->outcome, AddOutcome::kKnown);
    EXPECT_EQ(add(*repository, mended, {.build_id = kId})->outcome, AddOutcome::kReplaced);
    EXPECT_EQ(add(*repository, source_archive_of({{"../a.c", "x"}}), {.build_id = kId}).error().code,
              ErrorCode::kInvalid);
    EXPECT_FALSE(add(*repository, sources, {.build_id = kId, .may_be_sources = false}));
  }
  EXPECT_EQ(kept(BinaryKind::kSources), mended);
  EXPECT_EQ(kept(), image_of({})) << "stays";
  std::filesystem::remove(record_path(folder_.path(), kId));
  const auto again = open();
  EXPECT_THAT(again->find(kId)->files, SizeIs(2)) << "its record is made again";
  EXPECT_THAT(verify_binaries(folder_.path(), {})->damaged, IsEmpty());
  ASSERT_TRUE(again->trim({}, std::numeric_limits<int64_t>::max()));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(RepositoryTest, RefusesWhatIsNotTheBuildThatItIsCalled) {
  const auto repository = open();
  const auto other = add(*repository, image_of({}), {.build_id = "another build"});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kConflict);
  EXPECT_FALSE(add(*repository, "no ELF file"));
  EXPECT_FALSE(add(*repository, ""));
  EXPECT_FALSE(add(*repository, image_of({.build_id = ""})));
  EXPECT_FALSE(add(*repository, image_of({.build_id = std::string(20, '\0')})))
      << "an ID that tells nothing apart";
  EXPECT_FALSE(add(*repository, image_of({.build_id = "abc"})));
  EXPECT_FALSE(add(*repository, image_of({.build_id = std::string(65, 'x')})));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(RepositoryTest, RefusesFilesAndLabelsThatAreTooLarge) {
  limits_.max_file_bytes = 1000;
  const auto repository = open();
  const auto large = add(*repository, image_of({.filler = std::string(2000, 'x')}));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::kTooLarge);
  BinaryLabels labels;
  EXPECT_FALSE(add_label(labels, "revision", std::string(257, 'x')));
  EXPECT_FALSE(add_label(labels, "colour", "red"));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(RepositoryTest, IsPrivate) {
  const auto repository = open();
  ASSERT_EQ(outcome_of(*repository, {}), "added");
  struct stat info{};
  ASSERT_EQ(::stat(repository_path(folder_.path()).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700);
  ASSERT_EQ(::stat(kept_path(folder_.path(), kId, BinaryKind::kExecutable).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600);
}

TEST_F(RepositoryTest, KnowsAtTheNextStartWhatItHad) {
  ASSERT_EQ(outcome_of(*open(), {}), "added");
  const auto repository = open();
  EXPECT_EQ(repository->find(kId)->files[0].added_ns, kNowNs);
  EXPECT_EQ(repository->find(kId)->files[0].htl_hash, elf::htl_hash(as_bytes(image_of({}))));
  EXPECT_EQ(repository->bytes(), image_of({}).size());
  const auto records = read_records(folder_.path());
  ASSERT_TRUE(records);
  EXPECT_THAT(*records, SizeIs(1));
}

TEST_F(RepositoryTest, MakesARecordAgainThatIsLostOrDamaged) {
  ASSERT_EQ(outcome_of(*open(), {}), "added");
  const std::string path = record_path(folder_.path(), kId);
  std::filesystem::remove(path);
  EXPECT_EQ(open()->find(kId)->quality(), SymbolQuality::kFull);
  std::ofstream(path, std::ios::binary) << "not a record";
  EXPECT_EQ(open()->find(kId)->quality(), SymbolQuality::kFull);
  std::filesystem::remove(kept_path(folder_.path(), kId, BinaryKind::kExecutable));
  EXPECT_FALSE(open()->find(kId)) << "a record without its file";
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(RepositoryTest, ALowerLimitRemovesNoFile) {
  const std::string image = image_of({.filler = std::string(2000, 'x')});
  ASSERT_TRUE(add(*open(), image));
  std::filesystem::remove(record_path(folder_.path(), kId));
  limits_.max_file_bytes = 1000;
  EXPECT_TRUE(open()->find(kId)) << "its record is made again";
  EXPECT_EQ(kept(), image);
}

TEST_F(RepositoryTest, WhatCannotBeReadIsLeftAsItIs) {
  ASSERT_EQ(outcome_of(*open(), {}), "added");
  const std::string path = kept_path(folder_.path(), kId, BinaryKind::kExecutable);
  std::filesystem::rename(path, path + ".aside");
  std::filesystem::create_symlink(path, path);  // which leads nowhere: ELOOP
  const auto repository = open();
  ASSERT_TRUE(repository);
  EXPECT_FALSE(repository->find(kId));
  std::filesystem::rename(path + ".aside", path);
  EXPECT_EQ(open()->find(kId)->files.at(0).added_ns, kNowNs) << "with the record that it had";
}

TEST_F(RepositoryTest, RemovesWhatACrashLeftAndWhatHasAWrongName) {
  ASSERT_EQ(outcome_of(*open(), {}), "added");
  std::ofstream(incoming_path(folder_.path()) + "/half.tmp") << "half";
  std::ofstream(record_path(folder_.path(), kId) + ".77.tmp") << "half";
  std::ofstream(kept_path(folder_.path(), kId, BinaryKind::kDebug))
      << image_of({.build_id = "some other build"});
  EXPECT_THAT(open()->find(kId)->files, SizeIs(1));
  EXPECT_THAT(files(), SizeIs(2)) << "the file and its record";
}

TEST_F(RepositoryTest, DropsOldAndSurplusBuildsThatNoRowUses) {
  limits_.max_age_ns = 10 * kTestDayNs;
  const auto repository = open();
  for (int day = 0; day < 20; ++day) {
    const SampleBinary sample{.build_id = fmt::format("build of day {:02}", day)};
    ASSERT_TRUE(add(*repository, image_of(sample), {.now_ns = kNowNs + day * kTestDayNs}));
  }
  EXPECT_FALSE(repository->has_surplus(kNowNs));
  EXPECT_TRUE(repository->has_surplus(kNowNs + 20 * kTestDayNs));
  const std::string cut = std::string("build of day 03").substr(0, 20);
  const auto report = repository->trim({cut}, kNowNs + 20 * kTestDayNs);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->builds, 9) << "days 0 to 9, without the one that is used";
  EXPECT_TRUE(repository->find("build of day 03"));
  EXPECT_FALSE(repository->find("build of day 09"));
  EXPECT_TRUE(repository->find("build of day 10"));
  EXPECT_EQ(open()->bytes(), repository->bytes());
}

// perf keeps 20 bytes of a build ID: rows that it recorded ask for these.
class LongBuildIdTest : public RepositoryTest {
 protected:
  // Where a search for the build ID that perf has cut finds files of it; "" where it finds none.
  std::string found_executable() const {
    const auto found = find_binary({.identity_kind = wire::GNU_BUILD_ID, .identity = cut_, .roots = roots()},
                                   [](uint64_t) {});
    EXPECT_TRUE(found) << found.error().text();
    return found && found->file ? found->file->path : "";
  }
  std::string found_debug_file() const {
    const SymbolRoots searched = roots();
    const auto found = FileSearch(searched).open(path(BinaryKind::kDebug, cut_));
    return found ? found->path : "";
  }

  SymbolRoots roots() const { return {.folders = {}, .debug_folders = with_repository({}, folder_.path())}; }
  std::string path(BinaryKind kind, const std::string& build_id) const {
    return kept_path(folder_.path(), build_id, kind);
  }

  const std::string whole_ = std::string(20, 'c') + std::string(12, 'w');
  const std::string cut_ = whole_.substr(0, 20);
  const std::string executable_ = image_of({.build_id = whole_, .quality = SymbolQuality::kSymtab});
  const std::string debug_file_ = image_of({.build_id = whole_, .kind = BinaryKind::kDebug});
};

TEST_F(LongBuildIdTest, FilesAreFoundByTheBuildIdThatPerfHasCut) {
  const auto repository = open();
  EXPECT_EQ(found_executable(), "");
  ASSERT_TRUE(add(*repository, executable_));
  EXPECT_EQ(found_executable(), path(BinaryKind::kExecutable, whole_));
  EXPECT_EQ(found_debug_file(), "");
  ASSERT_TRUE(add(*repository, debug_file_));
  EXPECT_EQ(found_debug_file(), path(BinaryKind::kDebug, whole_));
  EXPECT_EQ(kept(BinaryKind::kDebug, cut_), debug_file_);
  // It is no build of its own, and counts once.
  EXPECT_FALSE(repository->find(cut_));
  EXPECT_EQ(repository->bytes(), executable_.size() + debug_file_.size());
  const auto records = read_records(folder_.path());
  ASSERT_TRUE(records);
  EXPECT_THAT(*records, SizeIs(1));
  const auto verified = verify_binaries(folder_.path(), {});
  ASSERT_TRUE(verified);
  EXPECT_EQ(verified->files, 2);
  EXPECT_THAT(verified->damaged, IsEmpty());
}

TEST_F(LongBuildIdTest, FilesOfBeforeAreFoundByItAfterTheNextStart) {
  ASSERT_TRUE(add(*open(), executable_));
  // As a version left it that made no such links.
  ASSERT_TRUE(std::filesystem::remove(path(BinaryKind::kExecutable, cut_)));
  EXPECT_EQ(found_executable(), "");
  const auto repository = open();
  EXPECT_EQ(found_executable(), path(BinaryKind::kExecutable, whole_));
  EXPECT_EQ(repository->find(whole_)->files.at(0).added_ns, kNowNs) << "with the record that it had";
  EXPECT_EQ(repository->bytes(), executable_.size());
  EXPECT_EQ(open()->bytes(), executable_.size()) << "as does each start";
}

TEST_F(LongBuildIdTest, NothingIsFoundOfABuildThatWasRemoved) {
  constexpr int64_t kLongAfterNs = std::numeric_limits<int64_t>::max();
  const auto repository = open();
  ASSERT_TRUE(add(*repository, executable_));
  ASSERT_TRUE(add(*repository, debug_file_));
  EXPECT_EQ(repository->trim({cut_}, kLongAfterNs)->builds, 0) << "rows use it";
  EXPECT_EQ(found_executable(), path(BinaryKind::kExecutable, whole_));
  EXPECT_EQ(repository->trim({}, kLongAfterNs)->builds, 1);
  EXPECT_EQ(found_executable(), "");
  EXPECT_EQ(found_debug_file(), "");
  EXPECT_EQ(open()->bytes(), 0);
  EXPECT_THAT(files(), IsEmpty());
  ASSERT_TRUE(add(*repository, executable_));
  EXPECT_EQ(found_executable(), path(BinaryKind::kExecutable, whole_)) << "it has come again";
}

TEST_F(RepositoryTest, TakesNoMoreThanItsLimitAndMakesRoomByTheOldest) {
  limits_.max_bytes = 10 * image_of({.build_id = "build 00"}).size();
  const auto repository = open();
  int added = 0;
  for (int i = 0; i < 12; ++i) {
    const auto one =
        add(*repository, image_of({.build_id = fmt::format("build {:02}", i)}), {.now_ns = kNowNs + i});
    added += one ? 1 : 0;
    EXPECT_TRUE(one || one.error().code == ErrorCode::kUnavailable);
  }
  EXPECT_EQ(added, 10);
  ASSERT_TRUE(repository->trim({}, kNowNs));
  EXPECT_FALSE(repository->find("build 00"));
  EXPECT_TRUE(repository->find("build 09"));
  EXPECT_TRUE(add(*repository, image_of({.build_id = "build 11"})));
}

TEST_F(RepositoryTest, TakesNoMoreBuildsThanItsLimit) {
  limits_.max_builds = 10;
  const auto repository = open();
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(
        add(*repository, image_of({.build_id = fmt::format("build {:02}", i)}), {.now_ns = kNowNs + i}));
  }
  const SampleBinary next{.build_id = "build 10"};
  EXPECT_EQ(outcome_of(*repository, next), name_of(ErrorCode::kUnavailable));
  EXPECT_EQ(outcome_of(*repository, {.build_id = "build 03", .kind = BinaryKind::kDebug}), "added")
      << "of a build that is there";
  EXPECT_TRUE(repository->has_surplus(kNowNs));
  ASSERT_TRUE(repository->trim({}, kNowNs));
  EXPECT_FALSE(repository->find("build 00"));
  EXPECT_EQ(outcome_of(*repository, next), "added");
}

TEST_F(RepositoryTest, FilesThatAreArrivingTakeRoomTogether) {
  limits_.max_bytes = 1000;
  const auto repository = open();
  const std::string piece(400, 'x');
  {
    auto first = *repository->stage();
    auto second = *repository->stage();
    ASSERT_TRUE(first.write(as_bytes(piece)));
    ASSERT_TRUE(second.write(as_bytes(piece)));
    const Status full = first.write(as_bytes(piece));
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(full.error().text(), HasSubstr("800 are arriving"));
    EXPECT_TRUE(repository->stage(200));
    EXPECT_FALSE(repository->stage(201)) << "before any of it is there";
    const StagedBinary moved = std::move(first);
    EXPECT_EQ(moved.bytes(), 400);
  }
  auto later = *repository->stage();
  EXPECT_TRUE(later.write(as_bytes(std::string(1000, 'x')))) << "what did not arrive holds nothing";
}

TEST_F(RepositoryTest, AFileThatCannotBeWrittenTakesNoRoom) {
  limits_.max_bytes = 1000;
  const FailingDisk disk(1000);
  const auto repository = open(FailingDisk::calls());
  auto staged = *repository->stage();
  const FailingDisk full(0);
  EXPECT_FALSE(staged.write(as_bytes(std::string(1000, 'x'))));
  const FailingDisk emptied(1000);
  EXPECT_TRUE(repository->stage()->write(as_bytes(std::string(1000, 'x'))));
}

// A search that finds the file on disk must be able to know why find() has nothing.
TEST_F(RepositoryTest, ABuildIsArrivingWhileItsFileIsOnDiskWithoutARecord) {
  const auto repository = open(AskingDisk::calls());
  EXPECT_EQ(AskingDisk::answer(*repository), "unknown");
  AskingDisk::ask(repository.get());
  const auto added = add(*repository, image_of({}));
  AskingDisk::ask(nullptr);
  ASSERT_TRUE(added) << added.error().text();
  EXPECT_THAT(AskingDisk::take_answers(), ElementsAre("arriving", "arriving"))
      << "of the file, and of its record";
  EXPECT_EQ(AskingDisk::answer(*repository), "found");
  EXPECT_FALSE(repository->is_arriving(kId));
}

// Killed at every call that changes the disk, after which the next start has either the old file or the new one, and nothing else.
TEST_F(RepositoryTest, ACrashAtAnyStepLeavesWholeFilesAlone) {
  const std::string poor = image_of({.quality = SymbolQuality::kDynsym});
  const std::string good = image_of({.quality = SymbolQuality::kFull});
  bool has_failed = true;
  int steps = 0;
  for (int calls = 0; has_failed; ++calls) {
    ASSERT_LT(calls, 1000);
    std::filesystem::remove_all(repository_path(folder_.path()));
    ASSERT_TRUE(add(*open(), poor));
    const FailingDisk disk(calls);
    bool is_acknowledged = false;
    if (auto dying = BinaryRepository::open(folder_.path(), limits_, FailingDisk::calls())) {
      is_acknowledged = add(**dying, good).has_value();
    }
    has_failed = FailingDisk::has_failed();
    const auto repository = open();
    EXPECT_TRUE(kept() == poor || kept() == good) << calls;
    EXPECT_TRUE(!is_acknowledged || kept() == good) << calls;
    const auto record = repository->find(kId);
    ASSERT_TRUE(record) << calls;
    EXPECT_EQ(record->files[0].content_hash, content_hash(as_bytes(kept()))) << calls;
    EXPECT_EQ(record->quality(), kept() == good ? SymbolQuality::kFull : SymbolQuality::kDynsym) << calls;
    EXPECT_THAT(files(), SizeIs(2)) << calls;
    ++steps;
  }
  EXPECT_GT(steps, 8) << "writing, two syncs and a rename of the file, and of its record";
}

TEST_F(RepositoryTest, VerifyFindsFilesThatHaveChanged) {
  const auto repository = open();
  for (const char* id : {"first build", "second build"}) {
    ASSERT_TRUE(add(*repository, image_of({.build_id = id})));
  }
  uint64_t last = 0;
  const auto sound = verify_binaries(folder_.path(), [&](uint64_t bytes, uint64_t all_bytes) {
    last = bytes;
    EXPECT_LE(bytes, all_bytes);
  });
  ASSERT_TRUE(sound);
  EXPECT_EQ(sound->files, 2);
  EXPECT_EQ(last, repository->bytes());
  EXPECT_THAT(sound->damaged, IsEmpty());
  const std::string path = kept_path(folder_.path(), "first build", BinaryKind::kExecutable);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file.put('\x7f');
  file.close();
  const auto damaged = verify_binaries(folder_.path(), {});
  ASSERT_TRUE(damaged);
  ASSERT_THAT(damaged->damaged, SizeIs(1));
  EXPECT_EQ(damaged->damaged[0].path, path);
}

TEST_F(RepositoryTest, VerifyFindsRecordsThatAreDamaged) {
  const auto repository = open();
  ASSERT_EQ(outcome_of(*repository, {}), "added");
  const std::string path = record_path(folder_.path(), kId);
  std::ofstream(path, std::ios::binary) << "not a record";
  const auto verified = verify_binaries(folder_.path(), {});
  ASSERT_TRUE(verified) << verified.error().text();
  ASSERT_THAT(verified->damaged, SizeIs(1));
  EXPECT_EQ(verified->damaged[0].path, path);
  EXPECT_THAT(verified->damaged[0].why, HasSubstr("checksum"));
}

TEST(BinaryRecordText, DamagedRecordsAreRefused) {
  BinaryRecord record{.build_id = kId, .labels = {{"revision", "a b\nc"}}};
  record.set({.kind = BinaryKind::kDebug,
              .quality = SymbolQuality::kLines,
              .size_bytes = 7,
              .content_hash = "content hash",
              .htl_hash = "htl hash",
              .modified_ns = 5,
              .added_ns = kNowNs,
              .source = "alice: a file with spaces"});
  record.labels[0].second = "a b";
  const std::string text = encode_record(record);
  const auto back = decode_record(text);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(encode_record(*back), text);
  EXPECT_EQ(back->files[0].source, "alice: a file with spaces");
  for (size_t at = 0; at < text.size(); ++at) {
    EXPECT_FALSE(decode_record(text.substr(0, at))) << at;
    std::string flipped = text;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    EXPECT_FALSE(decode_record(flipped)) << at;
  }
}

TEST(HtlHash, IsOfBothEndsAndTheLength) {
  EXPECT_EQ(elf::htl_hash(as_bytes("a")).size(), 16);
  EXPECT_NE(elf::htl_hash(as_bytes(std::string(5000, 'a'))), elf::htl_hash(as_bytes(std::string(5001, 'a'))));
  std::string middle(20'000, 'a');
  const std::string before = elf::htl_hash(as_bytes(middle));
  middle[10'000] = 'b';
  EXPECT_EQ(elf::htl_hash(as_bytes(middle)), before) << "the middle is not part of it";
  middle[19'999] = 'b';
  EXPECT_NE(elf::htl_hash(as_bytes(middle)), before);
}

}  // namespace
}  // namespace plimsoll::symbolizer::repository_test
