// Writes profiles into a folder, each into a file that is named by its ID: what scripts/make-old-directory.sh puts into
// a directory. It is compiled there, with the sources of the program that writes the directory.
//   write_profiles FOLDER
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/hex.h"
#include "proto/profile_codec.h"
#include "tests/profile_fixture.h"

namespace plimsoll {
namespace {

constexpr int64_t kStartNs = 1'700'002'800'000'000'000;  // 2023-11-14T23:00:00Z
constexpr int64_t kHourNs = 3'600'000'000'000;
constexpr uint64_t kHours = 4;
constexpr uint64_t kMachines = 5;
constexpr uint64_t kProfiles = 2 * kHours * kMachines;  // one for each of two jobs

// Numbers differ by profile, so that no two rows of an answer are equal.
std::string stacks_of(uint64_t profile, bool is_web) {
  const std::string own = is_web ? "render>escape@render.cc:40" : "scan@scan.cc:7";
  return fmt::format(
      "main;serve;parse@parse.cc:12;lex {}\n"
      "main;serve;{} {}\n"
      "main;{} 2\n"
      "thread=io main;read {}\n"
      "event=instructions main;serve;parse@parse.cc:12;lex {}\n"
      "event=instructions thread=io main;read {}\n"
      "event=page-faults main;grow {}\n",
      30 + profile, own, 11 + 3 * profile, is_web ? "only_web" : "only_db", 5 + profile % 7, 61 + profile,
      9 + 2 * profile, 1 + profile % 3);
}

void set_machine(uint64_t machine, wire::Machine& message) {
  message.set_cluster("eu-1");
  message.set_platform(machine <= 3 ? "AMD Zen 3" : "Intel Ice Lake-SP");
  message.set_kernel_release(machine == 2 ? "6.1.0-17-amd64" : "6.1.0-18-amd64");
}

wire::Binary library() {
  wire::Binary binary;
  binary.set_identity_kind(wire::GNU_BUILD_ID);
  binary.set_identity(std::string(20, '\x5a'));
  binary.set_path("/opt/none/libold.so.1");
  return binary;
}

wire::RawProfile profile_of(uint64_t number) {
  const uint64_t hour = number % kHours;
  const uint64_t machine = 1 + number / kHours % kMachines;
  const bool is_web = number < kHours * kMachines;
  const int64_t hour_ns = kStartNs + static_cast<int64_t>(hour) * kHourNs;
  wire::RawProfile profile = testing::make_profile(
      {.seed = number + 1,
       .machine = fmt::format("m{}", machine),
       .from_ns = hour_ns + static_cast<int64_t>(number) * 60'000'000'000,
       .length_ns = 10'000'000'000,
       .events = {{.name = "cycles", .scale = 1000}, {.name = "instructions", .scale = 1500}},
       .process = is_web ? "httpd" : "sqlite3",
       .job = is_web ? "web" : "db",
       .stacks = stacks_of(number, is_web),
       .branches = fmt::format("serve;lex {} 3\nlex;lex 8 1\n", 20 + number)});
  set_machine(machine, *profile.mutable_machine());
  testing::add_sample(profile, library(), wire::ELF, 0x1000 + 16 * (number % 3), 4 + number % 5);
  if (machine == kMachines) {
    wire::Draw& draw = *profile.mutable_assignment()->mutable_draw();
    draw.set_id("nightly");
    draw.set_stratum("Intel Ice Lake-SP");
    draw.set_inclusion_probability(0.5);
    draw.set_interval_start_ns(hour_ns);
    draw.set_interval_ns(kHourNs);
  }
  return profile;
}

int run(const std::string& folder) {
  std::filesystem::create_directories(folder);
  for (uint64_t number = 0; number < kProfiles; ++number) {
    const wire::RawProfile profile = profile_of(number);
    std::ofstream file(folder + "/" + to_hex(profile.profile_id()), std::ios::binary);
    file << wire::encode(profile);
    if (!file.flush()) {
      fmt::print(stderr, "cannot write into {}\n", folder);
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  return argc == 2 ? plimsoll::run(argv[1]) : 2;
}
