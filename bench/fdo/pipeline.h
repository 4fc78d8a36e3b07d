// A program on its way through profile-guided optimization: built, profiled by the daemon, built with our profile and with one of
// instrumentation.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace plimsoll::bench {

enum class FdoCompiler { kClang, kGcc };  // clang++-19, g++-12

struct FdoProgram {
  FdoCompiler compiler = FdoCompiler::kClang;
  std::string source;
  std::string headers = {};             // folder that most of its code comes from; empty: the source alone
  std::vector<std::string> flags = {};  // of every build
  std::vector<std::string> libraries = {};
  std::string training;  // its argument for profiles of instrumentation
  std::string work;      // its argument for runs that are compared
  std::string endless;   // its argument while it is profiled: longer than any profile
  double profiled_s = 60;
  std::string min_quality = "poor";
};

// A source of the bench (bench/fdo/programs).
std::string program_source(const std::string& name);
// nlohmann-json parses and prints messages.
FdoProgram json_program();

const char* gcc_path();
// The first of these files that does not exist; empty: none.
std::string missing_tool(const std::vector<std::string>& paths);

// Where sources got lines since they were profiled: behind ends of functions (a brace indented by four spaces at most), so that functions stand elsewhere and are as they
// were; or behind each 200th line, so that the lines of long functions have other offsets.
enum class InsertedLines { kBetweenFunctions, kAnywhere };

// A profile by its name, and the build whose samples it is made of.
struct ProfiledBuild {
  std::string build;
  std::string profile;
};

// Files in `folder`: the builds by their names, and for a profile NAME also NAME.prof and its report, NAME.json.
class FdoPipeline {
 public:
  FdoPipeline(std::string folder, FdoProgram program)
      : folder_(std::move(folder)), program_(std::move(program)) {}

  // -O2 with what profiles need: -gmlt -fdebug-info-for-profiling by clang, -g1 by gcc: "base". The same with instrumented PGO:
  // "instrumented".
  Status build_base() const;
  Status build_instrumented() const;
  // plimsolld --once at 499 Hz for so long of a build, plimsoll import, plimsoll fdo autofdo.
  Status profile(const std::string& name, double seconds, const std::string& build = "base") const;
  // Of the samples that two such profiles were made of, one of them of an older build.
  Status profile_merged(const std::string& name, const ProfiledBuild& newer,
                        const ProfiledBuild& older) const;
  Status build_with(const std::string& profile) const;
  // As profile(), by plimsoll fdo bolt: NAME.fdata.
  Status profile_for_bolt(const std::string& name, double seconds) const;
  // With the profile, of sources that have more lines than it was made of.
  Status build_changed_with(const std::string& profile, const std::string& name,
                            InsertedLines inserted) const;
  // Of the sources as the next release has them: with NEXT_RELEASE, and lines inserted anywhere. Empty `profile`: by -O2 alone.
  Status build_next(const std::string& name, const std::string& profile) const;

  std::string operator/(const std::string& name) const { return folder_ + "/" + name; }
  // The number behind `"field": ` in the report of a profile; 0 where there is none.
  double in_report(const std::string& profile, const std::string& field) const;
  std::string text_in_report(const std::string& profile, const std::string& field) const;
  const FdoProgram& program() const { return program_; }
  // A command whose output is kept in the file "log", and told of where it fails.
  Status run(const std::vector<std::string>& argv) const;

 private:
  Status build(const std::string& name, const std::string& source,
               const std::vector<std::string>& flags) const;
  Status build_changed(const std::string& name, InsertedLines inserted, std::vector<std::string> flags) const;
  Status import(const std::string& name, const std::vector<std::string>& profiles) const;
  Status make_profile(const std::string& name, const std::string& build,
                      const std::vector<std::string>& more = {}) const;
  std::string use_of(const std::string& profile) const;
  Status build_instrumented_by_gcc() const;
  // plimsolld --once of a build, and plimsoll import.
  Status record(const std::string& name, double seconds, const std::string& build) const;

  std::string folder_;
  FdoProgram program_;
};

}  // namespace plimsoll::bench
