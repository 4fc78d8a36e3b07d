#include "capture/platform/cpu_id.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/file.h"
#include "base/printable.h"

namespace plimsoll::platform {
namespace {

constexpr size_t kMaxArmCores = 16;
constexpr uint64_t kMaxRegisterBytes = 64;
constexpr int kMaxCpus = 4096;

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n"), text.size()));
  return text.substr(0, text.find_last_not_of(" \t\n") + 1);
}

// Decimal, or hexadecimal behind "0x"; 0 where it is neither.
uint64_t number_from(std::string_view text) {
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  if (is_hex) {
    text.remove_prefix(2);
  }
  uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, is_hex ? 16 : 10);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() ? value : 0;
}

uint32_t small_number_from(std::string_view text) {
  return static_cast<uint32_t>(std::min<uint64_t>(number_from(text), UINT32_MAX));
}

void add_core(ArmCore core, CpuId& id) {
  if (id.arm.size() < kMaxArmCores && std::ranges::find(id.arm, core) == id.arm.end()) {
    id.arm.push_back(core);
  }
}

void add_register(uint64_t midr, CpuId& id) {
  if (midr != 0) {
    add_core({static_cast<uint32_t>(midr >> 24U & 0xffU), static_cast<uint32_t>(midr >> 4U & 0xfffU)}, id);
  }
}

// The parts of one processor's paragraph that name an x86 model, or an Arm core.
struct Paragraph {
  X86Model x86;
  ArmCore arm;
  bool has_part = false;
};

void take_line(std::string_view key, std::string_view value, Paragraph& paragraph, CpuId& id) {
  if (key == "vendor_id") {
    paragraph.x86.vendor = printable(value);
  } else if (key == "cpu family") {
    paragraph.x86.family = small_number_from(value);
  } else if (key == "model") {
    paragraph.x86.model = small_number_from(value);
  } else if (key == "stepping") {
    paragraph.x86.stepping = small_number_from(value);
  } else if (key == "model name" && id.model_name.empty()) {
    id.model_name = printable(value);
  } else if (key == "CPU implementer") {
    paragraph.arm.implementer = small_number_from(value);
  } else if (key == "CPU part") {
    paragraph.arm.part = small_number_from(value);
    paragraph.has_part = true;
  }
}

void end_paragraph(Paragraph& paragraph, CpuId& id) {
  if (!id.x86 && !paragraph.x86.vendor.empty() && paragraph.x86.family != 0) {
    id.x86 = paragraph.x86;
  }
  if (paragraph.has_part) {
    add_core(paragraph.arm, id);
  }
  paragraph = {};
}

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (parts.size() < 4) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) {
      break;
    }
    text.remove_prefix(end + 1);
  }
  return parts;
}

}  // namespace

CpuId cpu_id_from(std::string_view cpuinfo) {
  CpuId id;
  Paragraph paragraph;
  while (!cpuinfo.empty()) {
    const size_t end = std::min(cpuinfo.find('\n'), cpuinfo.size());
    const std::string_view line = cpuinfo.substr(0, end);
    cpuinfo.remove_prefix(std::min(end + 1, cpuinfo.size()));
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos) {
      take_line(trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1)), paragraph, id);
    } else if (trimmed(line).empty()) {
      end_paragraph(paragraph, id);
    }
  }
  end_paragraph(paragraph, id);
  return id;
}

CpuId cpu_id_from_recording(std::string_view cpu_id, std::string_view model_name) {
  CpuId id;
  id.model_name = printable(model_name);
  if (cpu_id.starts_with("0x")) {
    add_register(number_from(trimmed(cpu_id)), id);
    return id;
  }
  const auto parts = parts_of(cpu_id, ',');
  if (parts.size() == 4) {
    id.x86 = X86Model{printable(parts[0]), small_number_from(parts[1]), small_number_from(parts[2]),
                      small_number_from(parts[3])};
  }
  return id;
}

CpuId read_cpu_id(std::string_view cpuinfo, const std::string& sysfs) {
  CpuId id = cpu_id_from(cpuinfo);
  if (id.x86 || !id.arm.empty()) {
    return id;
  }
  for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
    const auto midr =
        read_file(fmt::format("{}/devices/system/cpu/cpu{}/regs/identification/midr_el1", sysfs, cpu),
                  kMaxRegisterBytes);
    if (!midr) {
      break;
    }
    add_register(number_from(trimmed(*midr)), id);
  }
  return id;
}

std::string model_text(const CpuId& id) {
  if (id.x86) {
    return fmt::format("{} ({} {}/{})", id.model_name, id.x86->vendor, id.x86->family, id.x86->model);
  }
  std::string text = id.model_name;
  for (const ArmCore& core : id.arm) {
    text +=
        fmt::format("{}implementer {:#x} part {:#x}", text.empty() ? "" : ", ", core.implementer, core.part);
  }
  return text;
}

}  // namespace plimsoll::platform
