// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/inspect/runtime_record.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/runtime/inspect/cdi_support.hpp"
#include "daemon/runtime/inspect/files.hpp"
#include "daemon/runtime/inspect/find.hpp"
#include "daemon/runtime/inspect/profiles.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

namespace gpuhost::runtime {

using base::Json;
using base::Root;

namespace {

constexpr std::string_view record_file = "/var/lib/gpuhost/runtime.json";
/// Limit in bytes. The record may have several files, each with two contents of up to 1 MiB.
constexpr std::size_t record_limit = 64U << 20U;

/// Paths of runtimes' programs in addition to those of the profiles.
constexpr std::array other_programs{"/usr/local/bin/containerd", "/usr/local/bin/crio",
                                    "/usr/local/bin/k0s",        "/usr/local/bin/k3s",
                                    "/usr/local/bin/rke2",       "/usr/local/bin/dockerd"};

Json to_json(const KnownFiles& known) {
    Json files = Json::object();
    for (const auto& [path, file] : known)
        files[path] = {{"before", runtime::to_json(file.before)},
                       {"written", runtime::to_json(file.written)}};
    return files;
}

KnownFiles files_from_json(const Json& value) {
    KnownFiles known;
    for (const auto& [path, file] : value.items())
        known[path] = {text_from_json(base::member(file, "before")),
                       text_from_json(base::member(file, "written"))};
    return known;
}

Json to_json(const RecordedRuntime& one) {
    return {{"kind", one.kind},
            {"outcome", one.outcome},
            {"text", one.text},
            {"serves_cri", one.serves_cri},
            {"newest_cdi", one.newest_cdi},
            {"files", to_json(one.files)},
            {"unfinished", to_json(one.unfinished)},
            {"inputs", one.inputs},
            {"awaits", one.awaits ? runtime::to_json(*one.awaits) : Json()},
            {"gives_meanwhile", one.gives_meanwhile},
            {"restart_text", one.restart_text},
            {"is_restart_theirs", one.is_restart_theirs},
            {"rewritten", one.rewritten},
            {"restarts", one.restarts}};
}

RecordedRuntime runtime_from_json(const Json& value) {
    RecordedRuntime one;
    one.kind = base::string_or(value, "kind", "");
    one.outcome = base::string_or(value, "outcome", "");
    one.text = base::string_or(value, "text", "");
    one.serves_cri = base::bool_or(value, "serves_cri", true);
    one.newest_cdi = base::string_or(value, "newest_cdi", "");
    one.inputs = base::string_map_or_empty(value, "inputs");
    one.awaits = process_stamp_from_json(base::member(value, "awaits"));
    one.gives_meanwhile = base::bool_or(value, "gives_meanwhile", false);
    one.restart_text = base::string_or(value, "restart_text", "");
    one.is_restart_theirs = base::bool_or(value, "is_restart_theirs", false);
    one.rewritten = base::string_or(value, "rewritten", "");
    one.files = files_from_json(base::member(value, "files"));
    one.unfinished = files_from_json(base::member(value, "unfinished"));
    for (const Json& moment : base::member(value, "restarts"))
        if (moment.is_number_unsigned())
            one.restarts.push_back(moment.get<std::uint64_t>());
    return one;
}

} // namespace

Json to_json(const Text& text) {
    return text ? Json(*text) : Json();
}

Text text_from_json(const Json& value) {
    return value.is_string() ? Text(value.get<std::string>()) : Text();
}

Json to_json(const ProcessStamp& stamp) {
    return {{"pid", stamp.pid}, {"started", stamp.started}, {"boot_id", stamp.boot_id}};
}

std::optional<ProcessStamp> process_stamp_from_json(const Json& value) {
    if (!value.is_object())
        return std::nullopt;
    return ProcessStamp{static_cast<std::uint64_t>(base::int_or(value, "pid", 0)),
                        static_cast<std::uint64_t>(base::int_or(value, "started", 0)),
                        base::string_or(value, "boot_id", "")};
}

Json to_json(const RuntimeRecord& record) {
    Json runtimes = Json::object();
    for (const auto& [name, one] : record.runtimes)
        runtimes[name] = to_json(one);
    return {{"settings", record.settings}, {"runtimes", std::move(runtimes)}, {"places", record.places}};
}

RuntimeRecord runtime_record_from_json(const Json& value) {
    RuntimeRecord record;
    record.settings = base::member(value, "settings");
    for (const auto& [name, one] : base::member(value, "runtimes").items())
        record.runtimes[name] = runtime_from_json(one);
    for (const auto& [path, exists] : base::member(value, "places").items())
        record.places[path] = exists.is_boolean() && exists.get<bool>();
    return record;
}

std::optional<RuntimeRecord> read_runtime_record(const Root& host) {
    const auto text = host.read(record_file, record_limit);
    const auto value = text ? base::parse_json(*text, record_file) : base::fail(text.error());
    return value && value->is_object() ? std::optional(runtime_record_from_json(*value)) : std::nullopt;
}

base::Result<void> write_runtime_record(const Root& host, const RuntimeRecord& record) {
    GPUHOST_CHECK(host.make_directories("/var/lib/gpuhost"));
    return host.write_atomic(record_file, base::dump(to_json(record)) + "\n", 0600);
}

bool awaits_restart(const Root& host, const RecordedRuntime& recorded) {
    return recorded.awaits && stamp_process(host, recorded.awaits->pid) == recorded.awaits;
}

bool withholds_gpus(const Root& host, const RecordedRuntime& recorded) {
    return !recorded.gives_meanwhile && awaits_restart(host, recorded);
}

std::string stamp_of(const Root& host, const std::string& path) {
    const auto st = host.stat(path);
    if (!st)
        return "";
    const std::string when = std::to_string(st->st_mtim.tv_sec) + "." + std::to_string(st->st_mtim.tv_nsec);
    return S_ISDIR(st->st_mode) ? when : std::to_string(st->st_size) + " " + when;
}

std::map<std::string, std::string> inputs_of(const Root& host, const RuntimeState& state) {
    std::map<std::string, std::string> inputs;
    const auto add = [&](const std::string& path) {
        if (!path.empty())
            inputs[path] = stamp_of(host, path);
    };
    for (const ConfigFile& file : state.files) {
        add(file.path);
        for (const std::string& import : base::strings_or_empty(file.content, "imports"))
            if (import.find('*') != std::string::npos)
                add((std::filesystem::path(file.path).parent_path() / import)
                        .lexically_normal()
                        .parent_path());
    }
    add(drop_in_of(state.instance));
    add(state.instance.config_directory);
    add(state.instance.executable);
    add(state.instance.unit_file);
    if (!state.instance.unit.empty())
        add("/etc/systemd/system/" + state.instance.unit + ".d");
    return inputs;
}

std::vector<std::string> known_programs() {
    std::vector<std::string> programs(other_programs.begin(), other_programs.end());
    for (const RuntimeProfile& profile : runtime_profiles())
        programs.emplace_back(profile.executable);
    return programs;
}

std::map<std::string, bool> known_places(const Root& host) {
    std::map<std::string, bool> places;
    const auto add = [&](std::string_view path) { places[std::string(path)] = host.exists(path); };
    for (const std::string& program : known_programs())
        add(program);
    // Podman's configuration file and those in /run do not indicate a runtime. Other tools install Podman's
    // file too. dockerd writes and removes its own containerd's file, which is in /run.
    for (const RuntimeProfile& profile : runtime_profiles())
        if (profile.kind != RuntimeKind::Podman && !base::starts_with(profile.config, "/run/"))
            add(profile.config);
    return places;
}

bool is_any_runtime_here(const Root& host) {
    const auto places = known_places(host);
    return std::any_of(places.begin(), places.end(), [](const auto& place) { return place.second; }) ||
           !find_runtimes(host).empty();
}

bool reads_specs(const RecordedRuntime& recorded, const std::string& spec_version) {
    return recorded.newest_cdi.empty() || reads_cdi(recorded.newest_cdi, spec_version);
}

std::optional<ProcessStamp> stamp_process(const Root& host, std::uint64_t pid) {
    const auto text = host.read_line("/proc/" + std::to_string(pid) + "/stat");
    if (pid == 0 || !text)
        return std::nullopt;
    // The process's name may contain any character, so parsing starts after it, at the third field of
    // proc(5).
    const std::vector<std::string> fields = base::split_words(text->substr(text->rfind(')') + 1));
    constexpr std::size_t starttime = 22 - 3;
    const auto started = fields.size() > starttime ? base::parse_uint(fields[starttime]) : std::nullopt;
    if (!started)
        return std::nullopt;
    return ProcessStamp{pid, *started,
                        host.read_line("/proc/sys/kernel/random/boot_id").value_or(std::string())};
}

} // namespace gpuhost::runtime
