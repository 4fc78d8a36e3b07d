#include "capture/platform/generation.h"

#include <algorithm>
#include <array>

namespace plimsoll::platform {
namespace {

struct X86Range {
  std::string_view vendor;
  uint32_t family;
  uint32_t first_model;
  uint32_t last_model;
  std::string_view generation;
  uint32_t first_stepping = 0;
  uint32_t last_stepping = UINT32_MAX;
};

constexpr std::string_view kIntel = "GenuineIntel";
constexpr std::string_view kAmd = "AuthenticAMD";

constexpr std::array kX86{
    X86Range{kIntel, 6, 0x0f, 0x0f, "Intel Core 2"},
    X86Range{kIntel, 6, 0x16, 0x17, "Intel Core 2"},
    X86Range{kIntel, 6, 0x1d, 0x1d, "Intel Core 2"},
    X86Range{kIntel, 6, 0x1a, 0x1a, "Intel Nehalem server"},
    X86Range{kIntel, 6, 0x1e, 0x1f, "Intel Nehalem"},
    X86Range{kIntel, 6, 0x2e, 0x2e, "Intel Nehalem server"},
    X86Range{kIntel, 6, 0x25, 0x25, "Intel Westmere"},
    X86Range{kIntel, 6, 0x2c, 0x2c, "Intel Westmere server"},
    X86Range{kIntel, 6, 0x2f, 0x2f, "Intel Westmere server"},
    X86Range{kIntel, 6, 0x2a, 0x2a, "Intel Sandy Bridge"},
    X86Range{kIntel, 6, 0x2d, 0x2d, "Intel Sandy Bridge server"},
    X86Range{kIntel, 6, 0x3a, 0x3a, "Intel Ivy Bridge"},
    X86Range{kIntel, 6, 0x3e, 0x3e, "Intel Ivy Bridge server"},
    X86Range{kIntel, 6, 0x3c, 0x3c, "Intel Haswell"},
    X86Range{kIntel, 6, 0x45, 0x46, "Intel Haswell"},
    X86Range{kIntel, 6, 0x3f, 0x3f, "Intel Haswell server"},
    X86Range{kIntel, 6, 0x3d, 0x3d, "Intel Broadwell"},
    X86Range{kIntel, 6, 0x47, 0x47, "Intel Broadwell"},
    X86Range{kIntel, 6, 0x4f, 0x4f, "Intel Broadwell server"},
    X86Range{kIntel, 6, 0x56, 0x56, "Intel Broadwell server"},
    X86Range{kIntel, 6, 0x4e, 0x4e, "Intel Skylake"},
    X86Range{kIntel, 6, 0x5e, 0x5e, "Intel Skylake"},
    // One model number for three generations of servers: steppings of arch/x86/events/intel and the pmu-events map.
    X86Range{kIntel, 6, 0x55, 0x55, "Intel Skylake server", 0, 4},
    X86Range{kIntel, 6, 0x55, 0x55, "Intel Cascade Lake server", 5, 9},
    X86Range{kIntel, 6, 0x55, 0x55, "Intel Cooper Lake server", 10, 15},
    // Likewise: steppings of arch/x86/include/asm/intel-family.h.
    X86Range{kIntel, 6, 0x8e, 0x8e, "Intel Kaby Lake", 0, 9},
    X86Range{kIntel, 6, 0x8e, 0x8e, "Intel Coffee Lake", 10, 10},
    X86Range{kIntel, 6, 0x8e, 0x8e, "Intel Whiskey Lake", 11, 15},
    X86Range{kIntel, 6, 0x9e, 0x9e, "Intel Kaby Lake", 0, 9},
    X86Range{kIntel, 6, 0x9e, 0x9e, "Intel Coffee Lake", 10, 15},
    X86Range{kIntel, 6, 0xa5, 0xa6, "Intel Comet Lake"},
    X86Range{kIntel, 6, 0x66, 0x66, "Intel Cannon Lake"},
    X86Range{kIntel, 6, 0x6a, 0x6a, "Intel Ice Lake server"},
    X86Range{kIntel, 6, 0x6c, 0x6c, "Intel Ice Lake server"},
    X86Range{kIntel, 6, 0x7d, 0x7e, "Intel Ice Lake"},
    X86Range{kIntel, 6, 0x9d, 0x9d, "Intel Ice Lake"},
    X86Range{kIntel, 6, 0xa7, 0xa7, "Intel Rocket Lake"},
    X86Range{kIntel, 6, 0x8c, 0x8d, "Intel Tiger Lake"},
    X86Range{kIntel, 6, 0x8a, 0x8a, "Intel Lakefield"},
    X86Range{kIntel, 6, 0x97, 0x97, "Intel Alder Lake"},
    X86Range{kIntel, 6, 0x9a, 0x9a, "Intel Alder Lake"},
    X86Range{kIntel, 6, 0xb7, 0xb7, "Intel Raptor Lake"},
    X86Range{kIntel, 6, 0xba, 0xba, "Intel Raptor Lake"},
    X86Range{kIntel, 6, 0xbf, 0xbf, "Intel Raptor Lake"},
    X86Range{kIntel, 6, 0xaa, 0xaa, "Intel Meteor Lake"},
    X86Range{kIntel, 6, 0xac, 0xac, "Intel Meteor Lake"},
    X86Range{kIntel, 6, 0xb5, 0xb5, "Intel Arrow Lake"},
    X86Range{kIntel, 6, 0xc5, 0xc6, "Intel Arrow Lake"},
    X86Range{kIntel, 6, 0xbd, 0xbd, "Intel Lunar Lake"},
    X86Range{kIntel, 6, 0xcc, 0xcc, "Intel Panther Lake"},
    X86Range{kIntel, 6, 0x8f, 0x8f, "Intel Sapphire Rapids"},
    X86Range{kIntel, 6, 0xcf, 0xcf, "Intel Emerald Rapids"},
    X86Range{kIntel, 6, 0xad, 0xae, "Intel Granite Rapids"},
    X86Range{kIntel, 6, 0xaf, 0xaf, "Intel Sierra Forest"},
    X86Range{kIntel, 6, 0xb6, 0xb6, "Intel Grand Ridge"},
    X86Range{kIntel, 6, 0x37, 0x37, "Intel Silvermont"},
    X86Range{kIntel, 6, 0x4d, 0x4d, "Intel Silvermont server"},
    X86Range{kIntel, 6, 0x4c, 0x4c, "Intel Airmont"},
    X86Range{kIntel, 6, 0x5c, 0x5c, "Intel Goldmont"},
    X86Range{kIntel, 6, 0x5f, 0x5f, "Intel Goldmont server"},
    X86Range{kIntel, 6, 0x7a, 0x7a, "Intel Goldmont Plus"},
    X86Range{kIntel, 6, 0x86, 0x86, "Intel Tremont server"},
    X86Range{kIntel, 6, 0x96, 0x96, "Intel Tremont"},
    X86Range{kIntel, 6, 0x9c, 0x9c, "Intel Tremont"},
    X86Range{kIntel, 6, 0xbe, 0xbe, "Intel Gracemont"},
    X86Range{kIntel, 6, 0x57, 0x57, "Intel Knights Landing"},
    X86Range{kIntel, 6, 0x85, 0x85, "Intel Knights Mill"},
    X86Range{kAmd, 0x17, 0x00, 0x2f, "AMD Zen"},
    X86Range{kAmd, 0x17, 0x50, 0x5f, "AMD Zen"},
    X86Range{kAmd, 0x17, 0x30, 0x4f, "AMD Zen 2"},
    X86Range{kAmd, 0x17, 0x60, 0x7f, "AMD Zen 2"},
    X86Range{kAmd, 0x17, 0x90, 0x91, "AMD Zen 2"},
    X86Range{kAmd, 0x17, 0xa0, 0xaf, "AMD Zen 2"},
    X86Range{kAmd, 0x19, 0x00, 0x0f, "AMD Zen 3"},
    X86Range{kAmd, 0x19, 0x20, 0x5f, "AMD Zen 3"},
    X86Range{kAmd, 0x19, 0x10, 0x1f, "AMD Zen 4"},
    X86Range{kAmd, 0x19, 0x60, 0xaf, "AMD Zen 4"},
    X86Range{kAmd, 0x1a, 0x00, 0x2f, "AMD Zen 5"},
    X86Range{kAmd, 0x1a, 0x40, 0x4f, "AMD Zen 5"},
    X86Range{kAmd, 0x1a, 0x60, 0x7f, "AMD Zen 5"},
    X86Range{"HygonGenuine", 0x18, 0x00, 0xff, "Hygon Dhyana"},
};

struct ArmPart {
  uint32_t implementer;
  uint32_t part;
  std::string_view name;
};

constexpr std::array kArm{
    ArmPart{0x41, 0xd03, "Arm Cortex-A53"},       ArmPart{0x41, 0xd04, "Arm Cortex-A35"},
    ArmPart{0x41, 0xd05, "Arm Cortex-A55"},       ArmPart{0x41, 0xd07, "Arm Cortex-A57"},
    ArmPart{0x41, 0xd08, "Arm Cortex-A72"},       ArmPart{0x41, 0xd09, "Arm Cortex-A73"},
    ArmPart{0x41, 0xd0a, "Arm Cortex-A75"},       ArmPart{0x41, 0xd0b, "Arm Cortex-A76"},
    ArmPart{0x41, 0xd0c, "Arm Neoverse N1"},      ArmPart{0x41, 0xd0d, "Arm Cortex-A77"},
    ArmPart{0x41, 0xd40, "Arm Neoverse V1"},      ArmPart{0x41, 0xd41, "Arm Cortex-A78"},
    ArmPart{0x41, 0xd44, "Arm Cortex-X1"},        ArmPart{0x41, 0xd46, "Arm Cortex-A510"},
    ArmPart{0x41, 0xd47, "Arm Cortex-A710"},      ArmPart{0x41, 0xd48, "Arm Cortex-X2"},
    ArmPart{0x41, 0xd49, "Arm Neoverse N2"},      ArmPart{0x41, 0xd4b, "Arm Cortex-A78C"},
    ArmPart{0x41, 0xd4c, "Arm Cortex-X1C"},       ArmPart{0x41, 0xd4d, "Arm Cortex-A715"},
    ArmPart{0x41, 0xd4e, "Arm Cortex-X3"},        ArmPart{0x41, 0xd4f, "Arm Neoverse V2"},
    ArmPart{0x41, 0xd80, "Arm Cortex-A520"},      ArmPart{0x41, 0xd81, "Arm Cortex-A720"},
    ArmPart{0x41, 0xd82, "Arm Cortex-X4"},        ArmPart{0x41, 0xd83, "Arm Neoverse V3AE"},
    ArmPart{0x41, 0xd84, "Arm Neoverse V3"},      ArmPart{0x41, 0xd85, "Arm Cortex-X925"},
    ArmPart{0x41, 0xd87, "Arm Cortex-A725"},      ArmPart{0x41, 0xd8e, "Arm Neoverse N3"},
    ArmPart{0x42, 0x516, "Broadcom Vulcan"},      ArmPart{0x43, 0x0a1, "Cavium ThunderX"},
    ArmPart{0x43, 0x0af, "Cavium ThunderX2"},     ArmPart{0x46, 0x001, "Fujitsu A64FX"},
    ArmPart{0x48, 0xd01, "HiSilicon TSV110"},     ArmPart{0x4e, 0x003, "NVIDIA Denver"},
    ArmPart{0x4e, 0x004, "NVIDIA Carmel"},        ArmPart{0x51, 0xc00, "Qualcomm Falkor"},
    ArmPart{0x6d, 0xd49, "Microsoft Cobalt 100"}, ArmPart{0xc0, 0xac3, "Ampere AmpereOne"},
    ArmPart{0xc0, 0xac4, "Ampere AmpereOne A"},
};

std::string_view generation_of(const X86Model& model) {
  const auto found = std::ranges::find_if(kX86, [&](const X86Range& range) {
    return range.vendor == model.vendor && range.family == model.family && range.first_model <= model.model &&
           model.model <= range.last_model && range.first_stepping <= model.stepping &&
           model.stepping <= range.last_stepping;
  });
  return found == kX86.end() ? std::string_view() : found->generation;
}

std::string_view name_of(const ArmCore& core) {
  const auto found = std::ranges::find_if(kArm, [&](const ArmPart& part) {
    return part.implementer == core.implementer && part.part == core.part;
  });
  return found == kArm.end() ? std::string_view() : found->name;
}

}  // namespace

std::string generation_of(const CpuId& id) {
  if (id.x86) {
    return std::string(generation_of(*id.x86));
  }
  std::string names;
  for (const ArmCore& core : id.arm) {
    const std::string_view name = name_of(core);
    if (name.empty()) {
      return {};
    }
    names += names.empty() ? "" : " + ";
    names += name;
  }
  return names;
}

std::string platform_name(const CpuId& id, bool is_hybrid) {
  const std::string generation = generation_of(id);
  const std::string name = generation.empty() ? model_text(id) : generation;
  return is_hybrid && !name.empty() ? name + " hybrid" : name;
}

}  // namespace plimsoll::platform
