#include "bench/daemon/agent_run.h"

#include "base/file.h"
#include "proto/profile_codec.h"

namespace plimsoll::bench {
namespace {

double count(const wire::RawProfile& profile, wire::StackProblem problem) {
  double samples = 0;
  for (const wire::StackProblemCount& entry : profile.stack_problems()) {
    samples += entry.problem() == problem ? static_cast<double>(entry.samples()) : 0;
  }
  return samples;
}

}  // namespace

double AgentRun::samples_with_stacks() const {
  return samples() - count(profile, wire::STACK_NOT_TAKEN);
}

double AgentRun::whole_share() const {
  double unfinished = 0;
  for (const wire::StackProblemCount& entry : profile.stack_problems()) {
    unfinished += entry.problem() == wire::STACK_NOT_TAKEN ? 0 : static_cast<double>(entry.samples());
  }
  return 1 - unfinished / samples_with_stacks();
}

Result<AgentRun> run_agent(double seconds, const std::vector<std::string>& options,
                           const ScratchFolder& folder) {
  const std::string path = folder / "machine.profile";
  std::vector<std::string> argv{sibling_program("plimsolld"),
                                "--once",
                                fmt::format("{}", seconds),
                                "--event",
                                "cpu-clock",
                                "--output",
                                path};
  argv.insert(argv.end(), options.begin(), options.end());
  const auto usage = run_to_end(argv, folder / "plimsolld.out");
  const auto bytes = usage ? read_file(path, wire::ProfileLimits().max_encoded_bytes) : propagate(usage);
  auto profile = bytes ? wire::decode(as_bytes(*bytes)) : propagate(bytes);
  if (!profile) {
    return propagate(profile);
  }
  if (profile->events_size() == 0 || profile->events(0).hits() == 0) {
    return fail(ErrorCode::kNotFound, "plimsolld took no samples in {} s", seconds);
  }
  return AgentRun{*usage, bytes->size(), std::move(*profile)};
}

}  // namespace plimsoll::bench
