// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/clock.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/doctor/doctor.hpp"

#include <algorithm>

namespace gpuhost::ctl {

using base::Json;

namespace {

constexpr std::uint64_t mib = 1U << 20U;
/// Approximate size of a driver, packed and unpacked.
constexpr std::uint64_t driver_size = 1024 * mib;
/// Enough for journals and other records for some time.
constexpr std::uint64_t little_state = 100 * mib;
constexpr std::uint64_t initramfs_size = 100 * mib; ///< approximate size of an initramfs with a driver
/// Tolerated difference: an installer may use another time zone.
constexpr std::uint64_t clock_slack_us = 86'400'000'000;

/// Returns the first problem that makes container runtimes reject the file, or makes containers that use it
/// fail; empty if there is none.
std::string first_wrong(const Json& file) {
    for (const char* const key : {"problems", "stale"})
        for (const Json& sentence : list_of(file, key))
            if (sentence.is_string())
                return printable(sentence.get<std::string>());
    return {};
}

/// Returns true if the loaded driver is from branch 615 or later, for which NVIDIA's toolkit 1.20.1 sets
/// NVIDIA_GPU_MEMORY_LIMIT in containers.
bool limits_memory(const DoctorFacts& facts) {
    constexpr std::uint64_t first_branch = 615;
    return std::any_of(facts.loaded.begin(), facts.loaded.end(), [](const kmod::LoadedModule& module) {
        const auto branch = base::parse_uint(module.version.substr(0, module.version.find('.')));
        return module.name == "nvidia" && branch && *branch >= first_branch;
    });
}

} // namespace

Diagnosis check_libraries(const DoctorFacts& facts) {
    if (facts.shadows.empty())
        return well("no library of another driver found");
    return error("programs may find " + base::join(facts.shadows, ", "),
                 "Remove the package that it belongs to; dpkg -S or rpm -qf shows it.");
}

Diagnosis check_space(const DoctorFacts& facts) {
    if (!facts.state_free)
        return skipped("/var/lib/gpuhost not found");
    const std::string next = "gpuhostctl driver remove VERSION; gpuhostctl bundle remove NAME";
    const std::string text = human_bytes(*facts.state_free) + " free in /var/lib/gpuhost";
    if (*facts.state_free < little_state)
        return error(text, next);
    if (*facts.state_free < driver_size)
        return warning(text, next);
    if (facts.boot_free && *facts.boot_free < initramfs_size)
        return warning(human_bytes(*facts.boot_free) + " free in /boot", "Remove unused kernels.");
    return well(text);
}

/// Checks the clock, on which the validity of certificates depends. A clock whose battery has failed shows a
/// time in the past.
Diagnosis check_clock(const DoctorFacts& facts) {
    if (facts.now_us + clock_slack_us < facts.newest_file_us)
        return error(
            "the clock shows " + base::utc_text(facts.now_us / 1'000'000) +
                ", but files of this host are from " + base::utc_text(facts.newest_file_us / 1'000'000),
            "timedatectl set-time TIME; signatures and certificates are verified with the clock's time");
    return well("the clock is not earlier than this host's files");
}

Diagnosis check_cdi(const DoctorFacts& facts) {
    if (!facts.is_host)
        return skipped("this is a mounted system");
    const std::string make = "gpuhostctl apply --only=cdi";
    std::string others;
    bool has_ours = false;
    for (const Json& file : list_of(facts.cdi, "files")) {
        const std::string wrong = first_wrong(file);
        const bool is_ours = base::bool_or(file, "ours", false);
        has_ours = has_ours || is_ours;
        if (is_ours && !wrong.empty())
            return error("'" + text_of(file, "path") + "' of gpuhostd: " + wrong,
                         make + "; gpuhostctl cdi validate");
        if (others.empty() && !wrong.empty())
            others = "'" + text_of(file, "path") + "', which is not gpuhostd's: " + wrong;
    }
    if (facts.cdi_enabled && !facts.served.empty() && !has_ours)
        return warning("no CDI file of gpuhostd describes the loaded driver", make);
    if (!others.empty())
        return warning(
            others, "gpuhostctl cdi validate; repair the file, or remove it and the program that wrote it");
    const std::string good = plural(list_of(facts.cdi, "files").size(), "file", "files") + ", no problems";
    return well(has_ours && limits_memory(facts) ? good + "; gpuhostd's set no CUDA memory limits" : good);
}

Diagnosis check_runtimes(const DoctorFacts& facts) {
    if (!facts.is_host)
        return skipped("this is a mounted system");
    if (const std::string why = text_of(facts.runtimes, "message"); !why.empty())
        return warning("runtimes can't be checked: " + why, "gpuhostctl runtime verify");
    std::vector<std::string> bad;
    for (const Json& runtime : list_of(facts.runtimes, "runtimes"))
        if (!base::bool_or(runtime, "ok", false))
            bad.push_back(text_of(runtime, "name"));
    const Json& plan = base::member(base::member(base::member(facts.host, "components"), "runtime"), "plan");
    const auto reasons = base::strings_or_empty(plan, "reasons");
    // During an operation, the plan always differs from the host.
    if (bad.empty() && !list_of(plan, "steps").empty() && text_of(facts.host, "state") != "busy")
        return warning(reasons.empty() ? text_of(plan, "title") : printable(base::join(reasons, "; ")),
                       "gpuhostctl apply");
    if (bad.empty())
        return well(plural(list_of(facts.runtimes, "runtimes").size(), "runtime is", "runtimes are") +
                    " configured as intended");
    return error("not configured as intended: " + base::join(bad, ", "),
                 "gpuhostctl runtime verify; gpuhostctl runtime configure --dry-run");
}

} // namespace gpuhost::ctl
