// SPDX-License-Identifier: Apache-2.0
#include "images/bundle/host_facts.hpp"

#include "daemon/base/hex.hpp"
#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "images/bundle/distribution.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <elf.h>
#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace gpuhost::images {

using base::Json;

namespace {

constexpr std::string_view kernel_prefix = "kernel=";
constexpr std::string_view distribution_prefix = "os=";
constexpr std::string_view flavour_prefix = "flavour=";
constexpr std::string_view gpu_prefix = "gpu=";
constexpr std::array programs_of_all{std::string_view("/usr/lib/systemd/systemd"),
                                     std::string_view("/bin/sh")};

/// Returns the OCI architecture of an ELF program: "amd64" or "arm64"; empty for other files. e_machine is
/// two bytes at offset 18 (elf(5)).
std::string_view machine_of(const base::Root& root, std::string_view program) {
    std::array<unsigned char, 20> head{};
    const auto fd = root.open_file(program, O_RDONLY | O_NONBLOCK);
    if (!fd || ::pread(fd->get(), head.data(), head.size(), 0) != static_cast<ssize_t>(head.size()) ||
        !std::equal(head.begin(), head.begin() + SELFMAG, ELFMAG))
        return {};
    const unsigned machine = head[18] + 256U * head[19];
    return machine == EM_X86_64 ? "amd64" : machine == EM_AARCH64 ? "arm64" : "";
}

/// Parses one comma-separated part of a word and stores it in `host`. Returns false if the part is malformed,
/// or if a part of its kind was stored before.
bool set_part(HostWord& host, std::string_view part) {
    const auto set = [](std::string_view& to, std::string_view value, bool good) {
        const bool first = to.empty();
        to = value;
        return first && good;
    };
    const auto is = [&](std::string_view prefix) {
        if (!base::starts_with(part, prefix))
            return false;
        part.remove_prefix(prefix.size());
        return true;
    };
    if (is(kernel_prefix))
        return set(host.kernel, part, base::is_kernel_release(part));
    if (is(distribution_prefix))
        return set(host.distribution, part, is_distribution(part));
    if (is(flavour_prefix))
        return set(host.flavour, part, is_flavour(part));
    if (is(gpu_prefix))
        return set(host.gpu, part, part == any_gpu || is_gpu(part));
    return set(host.platform, part, is_platform(part));
}

/// Reports whether `gpu` of a word selects a host with this filter. Any `gpu` selects a host without GPUs if
/// the settings of that host name a driver version.
bool fits_gpu(const core::DriverFilter& driver, std::string_view gpu) {
    if (driver.gpus.empty())
        return driver.wanted;
    return gpu == any_gpu || std::find(driver.gpus.begin(), driver.gpus.end(), gpu) != driver.gpus.end();
}

} // namespace

bool HostFacts::is(std::string_view wanted) const {
    return wanted == platform || base::starts_with(wanted, platform + "/");
}

bool HostFacts::fits(const HostWord& word) const {
    return (word.platform.empty() || is(word.platform)) &&
           (word.kernel.empty() || std::find(kernels.begin(), kernels.end(), word.kernel) != kernels.end()) &&
           (word.distribution.empty() || fits_distribution(distributions, word.distribution)) &&
           (word.flavour.empty() || driver.flavour.empty() || word.flavour == driver.flavour) &&
           (word.gpu.empty() || fits_gpu(driver, word.gpu));
}

bool HostFacts::needs(const Member& member) const {
    return member.hosts.empty() ||
           std::any_of(member.hosts.begin(), member.hosts.end(), [&](const std::string& word) {
               const auto wanted = parse_host_word(word);
               return wanted && fits(*wanted);
           });
}

Json to_json(const HostFacts& host) {
    return {{"platform", host.platform},           {"kernels", host.kernels},
            {"distributions", host.distributions}, {"gpus", host.driver.gpus},
            {"flavour", host.driver.flavour},      {"driver_wanted", host.driver.wanted}};
}

HostFacts host_facts_from_json(const Json& value) {
    return {
        base::string_or(value, "platform", ""),
        base::strings_or_empty(value, "kernels"),
        base::strings_or_empty(value, "distributions"),
        {base::strings_or_empty(value, "gpus"), base::string_or(value, "flavour", ""),
         base::bool_or(value, "driver_wanted", base::bool_or(value, "wants_driver", false))}}; // before 0.1.0
}

std::string host_platform(const base::Root& root) {
    if (!root.is_host())
        for (const std::string_view program : programs_of_all)
            if (const std::string_view machine = machine_of(root, program); !machine.empty())
                return "linux/" + std::string(machine);
    struct utsname name {};
    if (::uname(&name) < 0)
        return {};
    const std::string_view machine = name.machine;
    return "linux/" + std::string(machine == "x86_64" ? "amd64" : machine == "aarch64" ? "arm64" : machine);
}

std::optional<HostWord> parse_host_word(std::string_view word) {
    HostWord host;
    for (;;) {
        const auto comma = word.find(',');
        if (!set_part(host, word.substr(0, comma)))
            return std::nullopt;
        if (comma == std::string_view::npos)
            return host;
        word.remove_prefix(comma + 1);
    }
}

std::string host_word(const HostWord& host) {
    std::string word(host.platform);
    for (const auto& [prefix, part] :
         {std::pair(distribution_prefix, host.distribution), std::pair(kernel_prefix, host.kernel),
          std::pair(flavour_prefix, host.flavour), std::pair(gpu_prefix, host.gpu)})
        if (!part.empty())
            word += (word.empty() ? "" : ",") + std::string(prefix) + std::string(part);
    return word;
}

bool is_flavour(std::string_view text) {
    return text == "open" || text == "proprietary";
}

bool is_gpu(std::string_view text) {
    return text.size() == 9 && text[4] == ':' && base::is_hex(text.substr(0, 4)) &&
           base::is_hex(text.substr(5));
}

bool is_platform(std::string_view text) {
    const auto parts = base::split(text, '/');
    return (parts.size() == 2 || parts.size() == 3) &&
           std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
               return !part.empty() && part.size() <= 32 && std::all_of(part.begin(), part.end(), [](char c) {
                   return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
                          c == '-';
               });
           });
}

} // namespace gpuhost::images
