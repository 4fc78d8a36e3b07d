#include "formats/perf_data/recorded_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/time.h"
#include "elf/build_id.h"
#include "tests/places.h"

namespace plimsoll::perf_data {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A folder with a program that was recorded, and one with copies of another machine's files.
class RecordedImagesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(root_ + "/copied/srv");
    std::filesystem::copy_file(built_file("symbol_fixture.so"), program_);
    struct stat info{};
    ASSERT_EQ(::stat(program_.c_str(), &info), 0);
    file_ = {major(info.st_dev), minor(info.st_dev), info.st_ino};
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  // Recorded now, if not told otherwise.
  RecordedImages images(int64_t recorded_ns = wall_now_ns() + kNsPerSecond) const {
    return RecordedImages({.binaries = {root_, root_ + "/copied"}}, recorded_ns);
  }
  // "found as NAME", or the error's code.
  static std::string opened(const RecordedImages& images, const identity::MappedFileHint& hint) {
    const auto image = images.open(hint);
    return image ? "found as " + std::filesystem::path(image->name).filename().string()
                 : std::string(name_of(image.error().code));
  }

  const std::string root_ =
      std::filesystem::canonical(::testing::TempDir()).string() + "/recorded." + std::to_string(::getpid());
  const std::string program_ = root_ + "/program";
  const std::string build_id_ = "plimsoll-fixture";
  identity::FileId file_;
};

TEST_F(RecordedImagesTest, ABuildIdIsBelievedWhateverTheFile) {
  EXPECT_EQ(opened(images(1), {7, program_, build_id_, {}}), "found as program");
  EXPECT_EQ(opened(images(), {7, program_, "another build id", file_}), "not-found");
}

TEST_F(RecordedImagesTest, WithoutOneDeviceInodeAndTheTimeOfChangeAreCompared) {
  const RecordedImages now = images();
  EXPECT_EQ(opened(now, {7, program_, "", file_}), "found as program");
  EXPECT_THAT(now.replaced(), IsEmpty());

  const RecordedImages long_ago = images(1'700'000'000 * kNsPerSecond);
  EXPECT_EQ(opened(long_ago, {7, program_, "", file_}), "not-found") << "written since";
  EXPECT_THAT(long_ago.replaced(), ElementsAre(program_));

  identity::FileId other = file_;
  ++other.inode;
  EXPECT_EQ(opened(now, {7, program_, "", other}), "not-found");
  EXPECT_EQ(opened(now, {7, program_, "", {}}), "not-found") << "which file it was is not known";
  EXPECT_THAT(now.replaced(), ElementsAre(program_));
}

TEST_F(RecordedImagesTest, FilesOfAnotherMachineAreFoundInItsCopiesByTheirBuildIds) {
  EXPECT_EQ(opened(images(), {7, "/srv/tool", build_id_, {}}), "not-found");
  std::filesystem::copy_file(program_, root_ + "/copied/srv/tool");
  EXPECT_EQ(opened(images(), {7, "/srv/tool", build_id_, {}}), "found as tool");
  EXPECT_EQ(opened(images(), {7, "/srv/tool", "", file_}), "not-found")
      << "inodes of another machine say nothing";
  EXPECT_EQ(opened(images(), {7, "/elsewhere", build_id_, {}}), "not-found");

  const std::string entry = elf::build_id_entry(root_ + "/copied", build_id_);
  std::filesystem::create_directories(entry);
  std::filesystem::copy_file(program_, entry + "/elf");
  EXPECT_EQ(opened(images(), {7, "/elsewhere", build_id_, {}}), "found as elf") << "as perf's cache has it";
}

TEST_F(RecordedImagesTest, NothingOutsideTheFoldersIsOpened) {
  EXPECT_EQ(opened(images(), {7, "/proc/self/exe", build_id_, {}}), "denied");
  EXPECT_EQ(opened(images(), {7, root_ + "/../../etc/passwd", build_id_, {}}), "denied");
}

}  // namespace
}  // namespace plimsoll::perf_data
