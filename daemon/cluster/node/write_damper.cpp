// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/node/write_damper.hpp"

#include "daemon/base/json.hpp"

#include <algorithm>
#include <vector>

namespace gpuhost::cluster {

using base::Json;

namespace {

constexpr double most_tokens = 6;
constexpr Time first_interval{10'000};
constexpr Time most_interval{600'000};

void add_conditions(const Json& conditions, const std::string& path, std::vector<std::string>& writes) {
    for (Json condition : conditions) {
        condition.erase("lastHeartbeatTime");
        condition.erase("lastTransitionTime");
        writes.push_back(path + "=" + base::dump(condition));
    }
}

void add_writes(const Json& patch, const std::string& path, std::vector<std::string>& writes) {
    for (const auto& [key, value] : patch.items()) {
        const std::string field = path + "/" + key;
        if (field == "/metadata/resourceVersion")
            continue;
        if (field == "/status/conditions" && value.is_array())
            add_conditions(value, field, writes);
        else if (value.is_object())
            add_writes(value, field, writes);
        else
            writes.push_back(field + "=" + base::dump(value));
    }
}

/// Returns a line for each field that a patch sets, with the field's value.
std::vector<std::string> writes_of(const Json& patch) {
    std::vector<std::string> writes;
    if (patch.is_object())
        add_writes(patch, "", writes);
    return writes;
}

} // namespace

WriteDamper::Bucket WriteDamper::filled(const Bucket& bucket, Time now) {
    const auto passed = static_cast<double>((now - bucket.at).count());
    const double tokens = bucket.tokens + passed / static_cast<double>(bucket.interval.count());
    return {std::min(most_tokens, tokens), bucket.interval, now};
}

std::optional<Time> WriteDamper::held_until(const Json& patch, Time now) const {
    std::optional<Time> held;
    for (const std::string& write : writes_of(patch)) {
        const auto found = buckets_.find(write);
        if (found == buckets_.end())
            continue;
        const Bucket bucket = filled(found->second, now);
        if (bucket.tokens >= 1)
            continue;
        const double missing = (1 - bucket.tokens) * static_cast<double>(bucket.interval.count());
        const Time until = now + Time(static_cast<Time::rep>(missing) + 1);
        held = std::max(held.value_or(until), until);
    }
    return held;
}

void WriteDamper::wrote(const Json& patch, Time now) {
    std::erase_if(buckets_, [now](const auto& one) { return filled(one.second, now).tokens >= most_tokens; });
    for (const std::string& write : writes_of(patch)) {
        const auto found = buckets_.emplace(write, Bucket{most_tokens, first_interval, now}).first;
        Bucket& bucket = found->second;
        bucket = filled(bucket, now);
        bucket.tokens = std::max(0.0, bucket.tokens - 1);
        if (bucket.tokens < 1)
            bucket.interval = std::min(bucket.interval * 2, most_interval);
    }
}

} // namespace gpuhost::cluster
