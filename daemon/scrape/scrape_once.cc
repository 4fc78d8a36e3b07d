#include "daemon/scrape/scrape_once.h"

#include <fmt/core.h>

#include <cstdio>
#include <optional>

#include "base/durable_file.h"
#include "daemon/scrape/scraper.h"
#include "proto/profile_codec.h"

namespace plimsoll::scrape {
namespace {

Result<config::ScrapeEndpoint> endpoint_of(const ScrapeOnceOptions& options) {
  auto endpoint = config::parse_scrape_endpoint(options.url);
  if (!endpoint) {
    return with_field(propagate(endpoint), "--scrape");
  }
  if (!endpoint->is_loopback && !options.beyond_loopback) {
    return with_hint(
        with_field(fail(ErrorCode::kDenied, "{} is not on this machine's loopback", options.url), "--scrape"),
        "use 127.0.0.1, or give --beyond-loopback");
  }
  return endpoint;
}

// On standard error where the profile itself goes to standard output.
void print_summary(const wire::RawProfile& profile, const std::string& output) {
  std::FILE* const out = is_standard_output(output) ? stderr : stdout;
  for (const std::string& note : profile.notes()) {
    fmt::print(out, "note: {}\n", note);
  }
  for (const wire::Event& event : profile.events()) {
    if (event.kind() != wire::SQUARES) {
      fmt::print(out, "{}: {:.0f}\n", event.name(),
                 wire::scale_of(event) * static_cast<double>(event.hits()));
    }
  }
  fmt::print(out, "{}: {} stacks of {}\n", output, profile.stacks().parent_size(),
             profile.processes(0).job());
}

}  // namespace

Status scrape_once(const ScrapeOnceOptions& options) {
  auto endpoint = endpoint_of(options);
  if (!endpoint) {
    return propagate(endpoint);
  }
  auto machine = identity::read_machine(options.machine);
  if (!machine) {
    return propagate(machine);
  }
  const identity::ProcFs proc_fs;
  const identity::LiveImages images(proc_fs);
  identity::BinaryTable binaries(images);
  Scraper scraper(std::move(*endpoint), {}, std::move(*machine), proc_fs, binaries);
  auto scraped = scraper.scrape(0, true);
  if (!scraped) {
    return propagate(scraped);
  }
  const std::optional<wire::RawProfile> profile = std::move(*scraped);
  if (!profile) {
    return fail(ErrorCode::kNotFound, "scraping {}: the profile has no values", options.url);
  }
  const std::string encoded = wire::encode(*profile);
  if (auto written = write_file_durably(options.output, as_bytes(encoded)); !written) {
    return written;
  }
  print_summary(*profile, options.output);
  return {};
}

}  // namespace plimsoll::scrape
