#include "bench/fdo/pipeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

#include "base/file.h"
#include "bench/harness/child.h"

namespace plimsoll::bench {
namespace {

constexpr const char* kCompiler = "/usr/bin/clang++-19";
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

}  // namespace

Status FdoPipeline::run(const std::vector<std::string>& argv) const {
  const std::string log = folder_ + "/log";
  const auto done = run_to_end(argv, log);
  if (done) {
    return {};
  }
  const auto said = read_file(log, 1 << 20);
  return propagate(done, "{}: {}", fmt::join(argv, " "), said ? *said : std::string());
}

Status FdoPipeline::build(const std::string& name, const std::vector<std::string>& flags) const {
  std::vector<std::string> argv{kCompiler,
                                "-std=c++20",
                                "-O2",
                                "-gmlt",
                                "-fdebug-info-for-profiling",
                                "-Wl,--build-id=sha1",
                                program_.source,
                                "-o",
                                folder_ + "/" + name};
  argv.insert(argv.end(), flags.begin(), flags.end());
  argv.insert(argv.end(), program_.libraries.begin(), program_.libraries.end());
  return run(argv);
}

Status FdoPipeline::build_base() const {
  return build("base", {});
}

Status FdoPipeline::build_instrumented() const {
  if (auto built = build("generate", {"-fprofile-generate"}); !built) {
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
  return build("instrumented", {"-fprofile-use=" + merged});
}

Status FdoPipeline::profile() const {
  {
    const auto load = Child::start({folder_ + "/base", program_.endless});
    if (!load) {
      return propagate(load);
    }
    if (auto sampled = run({sibling_program("plimsolld"), "--once", fmt::format("{}", program_.profiled_s),
                            "--rate", kRateHz, "--output", folder_ + "/profile"});
        !sampled) {
      return sampled;
    }
  }
  if (auto imported =
          run({sibling_program("plimsoll"), "import", "--data", folder_ + "/data", folder_ + "/profile"});
      !imported) {
    return imported;
  }
  return run({sibling_program("plimsoll"), "fdo", "autofdo", "--data", folder_ + "/data", "--binary",
              folder_ + "/base", "--output", folder_ + "/ours.prof", "--report", folder_ + "/report.json",
              "--json", "--min-quality", program_.min_quality});
}

Status FdoPipeline::build_ours() const {
  return build("ours", {"-fprofile-sample-use=" + folder_ + "/ours.prof"});
}

std::string FdoPipeline::text_in_report(const std::string& name) const {
  const auto report = read_file(folder_ + "/report.json", 16 << 20);
  return report ? value_in(*report, name) : std::string();
}

double FdoPipeline::in_report(const std::string& name) const {
  return std::strtod(text_in_report(name).c_str(), nullptr);
}

}  // namespace plimsoll::bench
