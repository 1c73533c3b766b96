// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/inspect/cdi_record.hpp"

#include "daemon/runtime/inspect/runtime_record.hpp"

namespace gpuhost::runtime {

using base::Json;
using base::Root;

namespace {

constexpr std::string_view record_file = "/var/lib/gpuhost/cdi.json";

} // namespace

Json to_json(const CdiRecord& record) {
    return {{"inputs", record.inputs},
            {"files", record.files},
            {"devices", record.devices},
            {"directory", record.directory},
            {"groups_setting", record.groups_setting},
            {"groups", record.groups},
            {"old_reader", record.old_reader},
            {"programs", record.programs},
            {"version", record.version},
            {"problem", record.problem},
            {"failed", record.failed},
            {"whole", record.whole}};
}

std::optional<CdiRecord> cdi_record_from_json(const Json& value) {
    if (!value.is_object())
        return std::nullopt;
    CdiRecord record;
    record.inputs = base::member(value, "inputs");
    record.files = base::string_map_or_empty(value, "files");
    record.devices = base::strings_or_empty(value, "devices");
    record.directory = base::string_or(value, "directory", "");
    record.groups_setting = base::string_or(value, "groups_setting", "");
    record.groups = base::bool_or(value, "groups", true);
    record.old_reader = base::string_or(value, "old_reader", "");
    record.programs = base::string_map_or_empty(value, "programs");
    record.version = base::string_or(value, "version", "");
    record.problem = base::string_or(value, "problem", "");
    record.failed = base::bool_or(value, "failed", false);
    record.whole = base::bool_or(value, "whole", false);
    return record;
}

std::optional<CdiRecord> read_cdi_record(const Root& host) {
    const auto text = host.read(record_file);
    const auto value = text ? base::parse_json(*text, record_file) : base::fail(text.error());
    return value ? cdi_record_from_json(*value) : std::nullopt;
}

base::Result<void> write_cdi_record(const Root& host, const CdiRecord& record) {
    GPUHOST_CHECK(host.make_directories("/var/lib/gpuhost"));
    return host.write_atomic(record_file, base::dump(to_json(record)) + "\n");
}

std::string identify(const Root& host, const std::string& path) {
    const auto st = host.lstat(path);
    if (!st)
        return "";
    if (!S_ISREG(st->st_mode))
        return "no file, " + std::to_string(st->st_ino);
    return std::to_string(st->st_size) + " " + std::to_string(st->st_mtim.tv_sec) + "." +
           std::to_string(st->st_mtim.tv_nsec);
}

std::vector<std::string> changed_files(const Root& host, const CdiRecord& record) {
    std::vector<std::string> changed;
    for (const auto& [path, identity] : record.files)
        if (const std::string now = identify(host, path); !now.empty() && now != identity)
            changed.push_back(path);
    return changed;
}

std::vector<std::string> changed_programs(const Root& host, const CdiRecord& record) {
    std::vector<std::string> changed;
    for (const auto& [path, identity] : record.programs)
        if (stamp_of(host, path) != identity)
            changed.push_back(path);
    return changed;
}

std::vector<std::string> missing_files(const Root& host, const CdiRecord& record) {
    std::vector<std::string> missing;
    for (const auto& entry : record.files)
        if (identify(host, entry.first).empty())
            missing.push_back(entry.first);
    return missing;
}

} // namespace gpuhost::runtime
