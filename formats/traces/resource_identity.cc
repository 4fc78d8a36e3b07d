#include "formats/traces/resource_identity.h"

#include <algorithm>
#include <initializer_list>

namespace plimsoll::formats {
namespace {

enum Key : uint8_t {
  kServiceName,
  kServiceNamespace,
  kServiceInstance,
  kPodName,
  kPodUid,
  kContainerId,
  kHostName,
  kHostId,
  kProcessId,
  kNodeName,
  kServiceVersion,
  kImageTags,
  kImageTag,
  kOldHostName,
};

// In the order of Key.
constexpr std::array<std::string_view, 14> kKeyNames{
    "service.name",        "service.namespace", "service.instance.id", "k8s.pod.name",
    "k8s.pod.uid",         "container.id",      "host.name",           "host.id",
    "process.pid",         "k8s.node.name",     "service.version",     "container.image.tags",
    "container.image.tag", "hostname"};  // the last is Jaeger's own

}  // namespace

void ResourceIdentity::clear() {
  for (std::string& value : values_) {
    value.clear();
  }
}

void ResourceIdentity::take(std::string_view key, std::string_view value) {
  const auto found = std::ranges::find(kKeyNames, key);
  if (found != kKeyNames.end() && !value.empty()) {
    values_[static_cast<size_t>(found - kKeyNames.begin())] = value;
  }
}

void ResourceIdentity::finish() {
  const auto first_of = [this](std::initializer_list<Key> keys) {
    for (const Key key : keys) {
      if (!values_[key].empty()) {
        return values_[key];
      }
    }
    return std::string();
  };
  service_ = values_[kServiceName].empty() ? "unknown_service" : values_[kServiceName];
  if (!values_[kServiceNamespace].empty()) {
    service_ = values_[kServiceNamespace] + "/" + service_;
  }
  replica_ = first_of({kServiceInstance, kPodName, kPodUid, kContainerId});
  const std::string host = first_of({kHostName, kOldHostName});
  if (replica_.empty() && !host.empty() && !values_[kProcessId].empty()) {
    replica_ = host + ":" + values_[kProcessId];
  }
  machine_ = first_of({kNodeName, kHostName, kOldHostName, kHostId});
  version_ = first_of({kServiceVersion, kImageTags, kImageTag});
}

}  // namespace plimsoll::formats
