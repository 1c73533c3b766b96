// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi/validations.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/core/former_names.hpp"
#include "daemon/runtime/cdi/driver_root.hpp"
#include "daemon/runtime/gpu/character_device.hpp"
#include "daemon/runtime/gpu/gpus.hpp"
#include "daemon/runtime/inspect/cdi_record.hpp"
#include "daemon/runtime/inspect/runtime_record.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace gpuhost::runtime {

namespace {

using base::Errc;
using base::Json;
using base::Result;
using base::Root;
using File = ValidationState::File;

constexpr std::string_view directory = "/run/nvidia/validations";
/// Contains the names of the files that gpuhost has written, one a line. The package's removal script also
/// reads this file.
constexpr std::string_view record_file = "/run/gpuhost/validations";
constexpr std::size_t longest = 4096;

struct Validation {
    std::string_view name;
    std::string_view text;
    bool ValidationFacts::*wanted;
};
constexpr std::array validations{Validation{"driver-ready",
                                            "IS_HOST_DRIVER=true\n"
                                            "NVIDIA_DRIVER_ROOT=/\n"
                                            "DRIVER_ROOT_CTR_PATH=/host\n"
                                            "NVIDIA_DEV_ROOT=/\n"
                                            "DEV_ROOT_CTR_PATH=/host\n",
                                            &ValidationFacts::driver},
                                 Validation{"toolkit-ready", "", &ValidationFacts::containers}};
constexpr const Validation& toolkit = validations[1];

std::string path_of(const Validation& validation) {
    return std::string(directory) + "/" + std::string(validation.name);
}

std::set<std::string, std::less<>> read_record(const Root& host) {
    const std::string text = host.read(record_file, longest).value_or(std::string());
    const auto names = base::split_words(text);
    return {names.begin(), names.end()};
}

Result<void> record(const Root& host, const Validation& validation, bool ours) {
    auto names = read_record(host);
    const std::string name(validation.name);
    if (ours ? !names.insert(name).second : names.erase(name) == 0)
        return {};
    if (names.empty())
        return host.remove(record_file);
    std::string text;
    for (const std::string& one : names)
        text += one + "\n";
    GPUHOST_CHECK(host.make_directories("/run/gpuhost"));
    return host.write_atomic(record_file, text);
}

File file_of(const Root& host, const Validation& validation) {
    const std::string path = path_of(validation);
    const auto st = host.lstat(path);
    if (!st)
        return st.error().code == Errc::NotFound ? File::Absent : File::Other;
    if (!S_ISREG(st->st_mode))
        return File::Other;
    const auto text = host.read(path, longest);
    return text && *text == validation.text ? File::Same : File::Other;
}

ValidationState state_of(const Root& host, const Validation& validation) {
    return {file_of(host, validation), read_record(host).count(validation.name) != 0};
}

std::string_view name_of(File file) {
    return file == File::Absent ? "absent" : file == File::Same ? "same" : "other";
}

File file_from(const std::string& name) {
    return name == "absent" ? File::Absent : name == "same" ? File::Same : File::Other;
}

// Facts

/// Returns true if the selected userland is that of the loaded version. Also true if no userland is selected:
/// other installers add their libraries to the loader's cache.
bool has_libraries(const Root& host, const std::string& version) {
    const auto userland = selected_userland(host);
    if (!userland || !*userland)
        return userland.has_value();
    return userland->value().find("/" + version + "/") != std::string::npos;
}

bool has_nodes(const Root& host, const std::vector<Gpu>& gpus) {
    const auto is_there = [&](const std::string& path) {
        return stat_character_device(host, path).has_value();
    };
    return is_there("/dev/nvidiactl") && std::all_of(gpus.begin(), gpus.end(), [&](const Gpu& gpu) {
               return is_there("/dev/nvidia" + std::to_string(gpu.minor));
           });
}

bool is_driver_ready(const Root& host) {
    const std::string version = host.read_line("/sys/module/nvidia/version").value_or(std::string());
    if (version.empty())
        return false;
    const std::vector<Gpu> gpus = read_gpus(host);
    return !gpus.empty() && has_nodes(host, gpus) && has_libraries(host, version);
}

/// Returns true if containers get this driver by CDI. If gpuhost's CDI is off, assumes that other tools
/// publish it.
bool containers_have_gpus(const Root& host, const std::string& version, bool cdi) {
    if (!cdi)
        return true;
    const auto told = read_cdi_record(host);
    return told && told->problem.empty() && !told->devices.empty() &&
           base::string_or(told->inputs, "driver", "") == version;
}

/// Returns true if container runtimes give GPUs to containers. Operands are pods: if at least one runtime
/// serves a kubelet, the others do not count.
bool do_runtimes_give(const Root& host, const ValidationSettings& settings) {
    if (!settings.runtimes)
        return true;
    const auto record = read_runtime_record(host);
    if (!record || !record->settings.is_object())
        return !is_any_runtime_here(host);
    const auto& runtimes = record->runtimes;
    const bool is_any_cri = std::any_of(runtimes.begin(), runtimes.end(),
                                        [](const auto& entry) { return entry.second.serves_cri; });
    const std::string spec_version = read_cdi_record(host).value_or(CdiRecord()).version;
    return std::all_of(runtimes.begin(), runtimes.end(), [&](const auto& entry) {
        const RecordedRuntime& runtime = entry.second;
        const bool gives = (runtime.outcome == "configured" || runtime.outcome == "nothing") &&
                           !withholds_gpus(host, runtime) && reads_specs(runtime, spec_version);
        return gives || (is_any_cri && !runtime.serves_cri);
    });
}

bool do_containers_get(const Root& host, const ValidationSettings& settings) {
    const std::string version = host.read_line("/sys/module/nvidia/version").value_or(std::string());
    return containers_have_gpus(host, version, settings.cdi) && do_runtimes_give(host, settings);
}

// Actions

Result<void> write(const Root& host, const Validation& validation) {
    // The file is recorded first: an unrecorded file would never be removed.
    GPUHOST_CHECK(record(host, validation, true));
    GPUHOST_CHECK(host.make_directories(directory));
    return host.write_atomic(path_of(validation), validation.text);
}

Result<void> remove(const Root& host, const Validation& validation) {
    GPUHOST_CHECK(host.remove(path_of(validation)));
    return record(host, validation, false);
}

void converge(core::StepContext& context, const Validation& validation, bool wanted) {
    const ValidationState state = state_of(context.root, validation);
    const ValidationChange change = validation_change(wanted, state);
    Result<void> done;
    if (change == ValidationChange::Write)
        done = write(context.root, validation);
    else if (change == ValidationChange::Remove)
        done = remove(context.root, validation);
    else if (state.file == File::Absent)
        // The file is gone, so the next program that writes it owns it.
        done = record(context.root, validation, false);
    if (!done)
        context.warn("the validation files for NVIDIA's operands may be wrong: " + done.error().message);
}

} // namespace

ValidationSettings validation_settings(const Json& settings) {
    // While the package is upgraded, an earlier daemon may send former names of settings.
    const auto is_on = [&](const char* section, const char* key) {
        for (const auto& [name, value] : base::member(settings, section).items())
            if (core::present_key(section, name) == key && value.is_string())
                return base::parse_bool(value.get<std::string>()).value_or(true);
        return true;
    };
    return {is_on("Cluster", "StatusFiles"), is_on("CDI", "Manage"), is_on("Runtime", "Manage")};
}

ValidationFacts validation_facts(const Root& host, const ValidationSettings& settings) {
    if (!settings.keep || !is_driver_ready(host))
        return {};
    return {true, do_containers_get(host, settings)};
}

ValidationChange validation_change(bool wanted, const ValidationState& state) {
    if (wanted)
        return state.file == File::Absent ? ValidationChange::Write : ValidationChange::None;
    return state.file == File::Same && state.ours ? ValidationChange::Remove : ValidationChange::None;
}

Json observe_validations(const Root& host, const ValidationSettings& settings) {
    const ValidationFacts facts = validation_facts(host, settings);
    Json observed = Json::object();
    for (const Validation& validation : validations) {
        const ValidationState state = state_of(host, validation);
        observed[std::string(validation.name)] = {
            {"wanted", facts.*validation.wanted}, {"file", name_of(state.file)}, {"ours", state.ours}};
    }
    return observed;
}

std::vector<std::string> validation_reasons(const Json& observed) {
    std::vector<std::string> reasons;
    for (const Validation& validation : validations) {
        const Json& one = base::member(observed, std::string(validation.name));
        const ValidationState state{file_from(base::string_or(one, "file", "absent")),
                                    base::bool_or(one, "ours", false)};
        const ValidationChange change = validation_change(base::bool_or(one, "wanted", false), state);
        if (change == ValidationChange::Write)
            reasons.push_back("'" + path_of(validation) + "' is missing, and NVIDIA's operands wait for it");
        else if (change == ValidationChange::Remove)
            reasons.push_back("'" + path_of(validation) + "' no longer applies");
    }
    return reasons;
}

void converge_validations(core::StepContext& context) {
    const ValidationFacts facts = validation_facts(context.root, validation_settings(context.settings));
    for (const Validation& validation : validations)
        converge(context, validation, facts.*validation.wanted);
}

void converge_toolkit_validation(core::StepContext& context) {
    const ValidationSettings settings = validation_settings(context.settings);
    const bool is_driver_ready = state_of(context.root, validations[0]).file == File::Same;
    converge(context, toolkit, settings.keep && is_driver_ready && do_containers_get(context.root, settings));
}

Result<void> withdraw_validations(core::StepContext& context) {
    const bool keep = validation_settings(context.settings).keep;
    for (const Validation& validation : validations) {
        const ValidationState state = state_of(context.root, validation);
        if (state.file == File::Same && (keep || state.ours))
            GPUHOST_CHECK(remove(context.root, validation));
    }
    return {};
}

} // namespace gpuhost::runtime
