#include "bench/fdo/pipeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "bench/harness/child.h"

namespace plimsoll::bench {
namespace {

constexpr const char* kClang = "/usr/bin/clang++-19";
constexpr const char* kGcc = "/usr/bin/g++-12";
constexpr const char* kProfdata = "/usr/bin/llvm-profdata-19";
constexpr const char* kRateHz = "499";

std::string value_in(const std::string& json, const std::string& name) {
  const std::string key = fmt::format("\"{}\": ", name);
  const size_t at = json.find(key);
  if (at == std::string::npos) {
    return {};
  }
  const size_t begin = at + key.size();
  return json.substr(begin, json.find_first_of(",\n", begin) - begin);
}

constexpr int kLinesBetweenInserted = 200;

bool ends_function(std::string_view line) {
  constexpr size_t kMostIndented = 4;
  return line.ends_with('}') && line.find_first_not_of(' ') == line.size() - 1 &&
         line.size() <= kMostIndented + 1;
}

// A copy with comments inserted between lines: not into macros, which go on over several.
Status insert_lines(const std::filesystem::path& from, const std::filesystem::path& to,
                    InsertedLines inserted) {
  std::ifstream in(from);
  std::filesystem::create_directories(to.parent_path());
  std::ofstream out(to);
  int lines = 0;
  for (std::string line; std::getline(in, line);) {
    out << line << '\n';
    const bool is_place = inserted == InsertedLines::kBetweenFunctions
                              ? ends_function(line)
                              : ++lines >= kLinesBetweenInserted && !line.ends_with('\\');
    if (is_place) {
      out << "//\n";
      lines = 0;
    }
  }
  out.close();
  return in.eof() && out ? Status() : fail(ErrorCode::kIo, "copying {} to {}", from.string(), to.string());
}

}  // namespace

std::string program_source(const std::string& name) {
  return std::string(PLIMSOLL_FDO_PROGRAMS) + "/" + name;
}

FdoProgram json_program() {
  return {.source = program_source("json.cc"),
          .headers = "/usr/include/nlohmann",
          .training = "60",
          .work = "500",
          .endless = "100000000"};
}

const char* gcc_path() {
  return kGcc;
}

std::string missing_tool(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (std::error_code ignored; !std::filesystem::exists(path, ignored)) {
      return path;
    }
  }
  return {};
}

Status FdoPipeline::run(const std::vector<std::string>& argv) const {
  const std::string log = folder_ + "/log";
  const auto done = run_to_end(argv, log);
  if (done) {
    return {};
  }
  const auto said = read_file(log, 1 << 20);
  return propagate(done, "{}: {}", fmt::join(argv, " "), said ? *said : std::string());
}

Status FdoPipeline::build(const std::string& name, const std::string& source,
                          const std::vector<std::string>& flags) const {
  const bool is_gcc = program_.compiler == FdoCompiler::kGcc;
  std::vector<std::string> argv{
      is_gcc ? kGcc : kClang, "-std=c++20", "-O2", "-Wl,--build-id=sha1", source, "-o", folder_ + "/" + name};
  if (is_gcc) {
    argv.emplace_back("-g1");
  } else {
    argv.insert(argv.end(), {"-gmlt", "-fdebug-info-for-profiling"});
  }
  argv.insert(argv.end(), program_.flags.begin(), program_.flags.end());
  argv.insert(argv.end(), flags.begin(), flags.end());
  argv.insert(argv.end(), program_.libraries.begin(), program_.libraries.end());
  return run(argv);
}

Status FdoPipeline::build_base() const {
  return build("base", program_.source, {});
}

// gcc's instrumented program writes its counts where its object file was, and gcc looks for them there: both by the name given here.
Status FdoPipeline::build_instrumented_by_gcc() const {
  const auto flags = [this](std::vector<std::string> of_profile) {
    of_profile.insert(of_profile.end(),
                      {"-dumpdir", folder_ + "/", "-dumpbase", "counts", "-dumpbase-ext", ".cc"});
    return of_profile;
  };
  Status done = build("generate", program_.source, flags({"-fprofile-generate", "-fprofile-update=single"}));
  done = done ? run({folder_ + "/generate", program_.training}) : done;
  return done ? build("instrumented", program_.source, flags({"-fprofile-use", "-Werror=missing-profile"}))
              : done;
}

Status FdoPipeline::build_instrumented() const {
  if (program_.compiler == FdoCompiler::kGcc) {
    return build_instrumented_by_gcc();
  }
  if (auto built = build("generate", program_.source, {"-fprofile-generate"}); !built) {
    return built;
  }
  const std::string raw = folder_ + "/instrumented.raw";
  if (auto trained =
          run({"/usr/bin/env", "LLVM_PROFILE_FILE=" + raw, folder_ + "/generate", program_.training});
      !trained) {
    return trained;
  }
  const std::string merged = folder_ + "/instrumented.prof";
  if (auto done = run({kProfdata, "merge", raw, "-o", merged}); !done) {
    return done;
  }
  return build("instrumented", program_.source, {"-fprofile-use=" + merged});
}

Status FdoPipeline::record(const std::string& name, double seconds, const std::string& build) const {
  {
    const auto load = Child::start({folder_ + "/" + build, program_.endless});
    if (!load) {
      return propagate(load);
    }
    if (auto sampled = run({sibling_program("plimsolld"), "--once", fmt::format("{}", seconds), "--rate",
                            kRateHz, "--output", folder_ + "/" + name + ".profile"});
        !sampled) {
      return sampled;
    }
  }
  return import(name, {name});
}

Status FdoPipeline::profile(const std::string& name, double seconds, const std::string& build) const {
  const Status recorded = record(name, seconds, build);
  return recorded ? make_profile(name, build) : recorded;
}

Status FdoPipeline::profile_for_bolt(const std::string& name, double seconds) const {
  const Status recorded = record(name, seconds, "base");
  const std::string profile = folder_ + "/" + name;
  return recorded ? run({sibling_program("plimsoll"), "fdo", "bolt", "--data", profile + ".data", "--binary",
                         folder_ + "/base", "--output", profile + ".fdata", "--report", profile + ".json",
                         "--json", "--min-quality", program_.min_quality})
                  : recorded;
}

Status FdoPipeline::profile_merged(const std::string& name, const ProfiledBuild& newer,
                                   const ProfiledBuild& older) const {
  const Status imported = import(name, {newer.profile, older.profile});
  return imported ? make_profile(name, newer.build, {"--older", folder_ + "/" + older.build}) : imported;
}

Status FdoPipeline::import(const std::string& name, const std::vector<std::string>& profiles) const {
  std::vector<std::string> argv{sibling_program("plimsoll"), "import", "--data",
                                folder_ + "/" + name + ".data"};
  for (const std::string& profile : profiles) {
    argv.push_back(folder_ + "/" + profile + ".profile");
  }
  return run(argv);
}

Status FdoPipeline::make_profile(const std::string& name, const std::string& build,
                                 const std::vector<std::string>& more) const {
  const std::string profile = folder_ + "/" + name;
  std::vector<std::string> argv{sibling_program("plimsoll"),
                                "fdo",
                                "autofdo",
                                "--data",
                                profile + ".data",
                                "--binary",
                                folder_ + "/" + build,
                                "--output",
                                profile + ".prof",
                                "--report",
                                profile + ".json",
                                "--json",
                                "--min-quality",
                                program_.min_quality};
  if (program_.compiler == FdoCompiler::kGcc) {
    argv.insert(argv.end(), {"--format", "gcov"});
  }
  argv.insert(argv.end(), more.begin(), more.end());
  return run(argv);
}

std::string FdoPipeline::use_of(const std::string& profile) const {
  const bool is_gcc = program_.compiler == FdoCompiler::kGcc;
  return (is_gcc ? "-fauto-profile=" : "-fprofile-sample-use=") + folder_ + "/" + profile + ".prof";
}

Status FdoPipeline::build_with(const std::string& profile) const {
  return build(profile, program_.source, {use_of(profile)});
}

Status FdoPipeline::build_changed_with(const std::string& profile, const std::string& name,
                                       InsertedLines inserted) const {
  return build_changed(name, inserted, {use_of(profile)});
}

Status FdoPipeline::build_next(const std::string& name, const std::string& profile) const {
  std::vector<std::string> flags{"-DNEXT_RELEASE"};
  if (!profile.empty()) {
    flags.push_back(use_of(profile));
  }
  return build_changed(name, InsertedLines::kAnywhere, std::move(flags));
}

Status FdoPipeline::build_changed(const std::string& name, InsertedLines inserted,
                                  std::vector<std::string> flags) const {
  const std::filesystem::path folder = folder_ + "/sources-" + name;
  const std::filesystem::path source = folder / std::filesystem::path(program_.source).filename();
  Status copied = insert_lines(program_.source, source, inserted);
  if (!program_.headers.empty()) {
    const std::filesystem::path headers = program_.headers;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(headers)) {
      if (copied && entry.is_regular_file()) {
        copied = insert_lines(entry.path(), folder / entry.path().lexically_relative(headers.parent_path()),
                              inserted);
      }
    }
  }
  flags.push_back("-I" + folder.string());
  return copied ? build(name, source.string(), flags) : copied;
}

std::string FdoPipeline::text_in_report(const std::string& profile, const std::string& field) const {
  const auto report = read_file(folder_ + "/" + profile + ".json", 16 << 20);
  return report ? value_in(*report, field) : std::string();
}

double FdoPipeline::in_report(const std::string& profile, const std::string& field) const {
  return std::strtod(text_in_report(profile, field).c_str(), nullptr);
}

}  // namespace plimsoll::bench
