// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/doctor/doctor.hpp"
#include "kmod/plan/driver_choice.hpp"
#include "kmod/plan/select_plan.hpp"

#include <algorithm>

namespace gpuhost::ctl {

namespace {

std::string loaded_version(const DoctorFacts& facts) {
    for (const kmod::LoadedModule& module : facts.loaded)
        if (module.name == "nvidia")
            return module.version;
    return {};
}

std::string or_none(const std::string& version) {
    return version.empty() ? "none" : version;
}

/// Returns the facts that kmod::hands_off_plan() and kmod::version_in_use() need.
kmod::Observed observed_of(const DoctorFacts& facts) {
    kmod::Observed observed;
    observed.kernel = facts.kernel;
    for (const KernelFacts& kernel : facts.kernels)
        observed.kernels.push_back({kernel.release, kernel.build_problems.empty(), kernel.build_problems});
    observed.gpus = facts.gpus;
    observed.loaded_version = loaded_version(facts);
    observed.store = facts.store;
    observed.devices_complete = facts.devices_complete;
    observed.current = facts.current;
    return observed;
}

/// Returns an address with the reason: "0000:65:00.0 (nouveau)", or the line of the kernel log.
std::string with_reason(const DoctorFacts& facts, const std::string& address) {
    const auto line = facts.gpu_log.find(address);
    if (line != facts.gpu_log.end())
        return address + " (" + line->second + ")";
    for (const kmod::PciGpu& gpu : facts.gpus)
        if (gpu.address == address && !gpu.driver.empty())
            return address + " (" + gpu.driver + ")";
    return address;
}

/// Checks a driver that gpuhostd does not manage. Returns the first problem that 'apply' would report.
Diagnosis check_preinstalled(const DoctorFacts& facts) {
    const core::Plan plan = kmod::hands_off_plan(facts.owner, {}, observed_of(facts));
    if (plan.problems.empty())
        return well(base::join(plan.reasons, "; "));
    return error(plan.problems.front().text, plan.problems.front().hint);
}

} // namespace

std::string wanted_version(const DoctorFacts& facts) {
    kmod::DriverSettings settings;
    settings.version = facts.configured;
    return kmod::version_in_use(settings, observed_of(facts));
}

std::string without_own_driver(const DoctorFacts& facts) {
    if (facts.owner == kmod::DriverOwner::Preinstalled)
        return "Version=preinstalled: gpuhostd does not manage the driver";
    if (facts.owner == kmod::DriverOwner::Nobody)
        return "Version=off: the driver is not gpuhostd's";
    if (facts.is_host && facts.gpus.empty() && wanted_version(facts).empty())
        return "no NVIDIA GPU found on PCI, and no driver is configured";
    return {};
}

std::string way_to_driver(const DoctorFacts& facts) {
    kmod::DriverSettings settings;
    settings.flavour = facts.flavour;
    if (facts.is_host && facts.owner == kmod::DriverOwner::Gpuhost && wanted_version(facts).empty())
        if (const auto problem = kmod::driver_to_choose(observed_of(facts), settings))
            return problem->hint.substr(0, problem->hint.find_last_not_of('.') + 1);
    return "gpuhostctl apply";
}

std::vector<std::string> unserved_gpus(const DoctorFacts& facts) {
    std::vector<std::string> unserved;
    for (const kmod::PciGpu& gpu : kmod::gpus_to_drive(facts.gpus))
        if (std::find(facts.served.begin(), facts.served.end(), gpu.address) == facts.served.end())
            unserved.push_back(gpu.address);
    return unserved;
}

std::string log_line_on(std::string_view log, const std::string& address) {
    const std::string device = address.substr(0, address.rfind('.')); // Xid lines omit the PCI function
    std::string from_driver;
    std::string from_kernel;
    for (const std::string& line : base::split(log, '\n')) {
        if (line.find(device) == std::string::npos)
            continue;
        if (line.find("NVRM") != std::string::npos)
            from_driver = line;
        else if (line.find("nvidia") != std::string::npos)
            from_kernel = line;
    }
    return from_driver.empty() ? from_kernel : from_driver;
}

std::set<std::uint64_t> xids_of(std::string_view log) {
    std::set<std::uint64_t> numbers;
    for (const std::string& line : base::split(log, '\n')) {
        const auto xid = line.find("NVRM: Xid (");
        const auto number = xid == std::string::npos ? xid : line.find("): ", xid);
        if (number == std::string::npos)
            continue;
        const std::string digits = line.substr(number + 3);
        if (const auto value = base::parse_uint(digits.substr(0, digits.find_first_not_of("0123456789"))))
            numbers.insert(*value);
    }
    return numbers;
}

Diagnosis check_gpus(const DoctorFacts& facts) {
    if (!facts.is_host)
        return skipped("this is a mounted system");
    const std::string without = without_own_driver(facts);
    const bool is_others = facts.owner == kmod::DriverOwner::Preinstalled;
    if (!without.empty() && !is_others)
        return skipped(without);
    if (facts.gpus.empty() && is_others)
        return skipped("no NVIDIA GPU found on PCI");
    const std::vector<std::string> unserved = unserved_gpus(facts);
    const std::string served = plural(facts.served.size(), "GPU is", "GPUs are") + " served";
    if (facts.gpus.empty())
        return warning("no NVIDIA GPU found on PCI", "lspci -d 10de:; check the settings of the firmware");
    if (unserved.empty())
        return well(served);
    std::vector<std::string> named;
    named.reserve(unserved.size());
    for (const std::string& address : unserved)
        named.push_back(with_reason(facts, address));
    const std::string text = "not served: " + base::join(named, ", ");
    const std::string way_to_load = is_others ? "modprobe nvidia; journalctl -k" : way_to_driver(facts);
    if (loaded_version(facts).empty())
        return error(text, way_to_load);
    const std::string next = "journalctl -k --grep='NVRM|nvidia'; nvidia-smi";
    return facts.served.empty() ? error(text, next) : warning(served + "; " + text, next);
}

Diagnosis check_driver(const DoctorFacts& facts) {
    if (facts.owner == kmod::DriverOwner::Nobody)
        return skipped(without_own_driver(facts));
    if (facts.owner == kmod::DriverOwner::Preinstalled)
        return facts.is_host ? check_preinstalled(facts) : skipped("this is a mounted system");
    const kmod::Selection* const selected = facts.store.selection_of(facts.kernel);
    const std::string loaded = loaded_version(facts);
    const std::string chosen = selected != nullptr ? selected->generation.version : "";
    if (!facts.configured.empty() && facts.configured != chosen)
        return error("configured is " + facts.configured + ", selected " + or_none(chosen),
                     "gpuhostctl apply --dry-run; gpuhostctl apply");
    if (!facts.is_host)
        return chosen.empty() ? skipped("no driver is configured or selected for a known kernel")
                              : well("selected is " + chosen);
    if (chosen.empty() && !loaded.empty())
        return warning("driver " + loaded + " is loaded, but gpuhostd has not selected it",
                       "gpuhostctl driver adopt --dry-run shows its owner; Version=preinstalled in "
                       "gpuhostd.conf keeps it");
    if (loaded != chosen)
        return error("loaded is " + or_none(loaded) + ", selected " + chosen, "gpuhostctl apply");
    return chosen.empty() ? skipped("no driver is configured, selected or loaded")
                          : well(chosen + " is configured or selected, and loaded");
}

Diagnosis check_store(const DoctorFacts& facts) {
    if (facts.store.problems.empty())
        return well(plural(facts.store.versions.size(), "version in the driver store",
                           "versions in the driver store"));
    return error(base::join(facts.store.problems, "; "), kmod::mending_hint(facts.store.problems.front()));
}

Diagnosis check_devices(const DoctorFacts& facts) {
    if (!facts.is_host || facts.loaded.empty())
        return skipped("no driver is loaded");
    return facts.devices_complete
               ? well("all device nodes exist")
               : error("device nodes are missing, or have another number or mode", "gpuhostctl apply");
}

/// Checks the firmware, without which the open modules drive no GPU.
Diagnosis check_firmware(const DoctorFacts& facts) {
    const kmod::Selection* const selected = facts.store.selection_of(facts.kernel);
    if (selected == nullptr)
        return skipped("no driver is selected");
    const std::string& version = selected->generation.version;
    const kmod::Userland* const userland = facts.store.find_userland(version, selected->generation.userland);
    const kmod::ModuleSet* const modules = facts.store.find_modules(version, selected->generation.modules);
    const bool is_open = modules != nullptr && modules->flavour == "open";
    if (userland == nullptr || userland->firmware.empty())
        return is_open ? error("driver " + version + " has no firmware in the store",
                               "Import its package nvidia-firmware or firmware-nvidia-gsp: gpuhostctl driver "
                               "import FILE.")
                       : skipped("driver " + version + " needs no GSP firmware");
    return facts.firmware_linked
               ? well("GSP firmware found: " + base::join(userland->firmware, ", "))
               : error("/lib/firmware/nvidia/" + version + " does not point to it", "gpuhostctl apply");
}

Diagnosis check_xid(const DoctorFacts& facts) {
    if (!facts.xid_lines && facts.xid_unseen.empty())
        return skipped("the kernel's log was not read");
    if (!facts.xid_lines)
        return skipped("not known: " + facts.xid_unseen);
    if (*facts.xid_lines == 0)
        return well("no error of a GPU in this boot");
    std::vector<std::string> numbers;
    for (const std::uint64_t number : facts.xids)
        numbers.push_back(std::to_string(number));
    return warning(plural(*facts.xid_lines, "line", "lines") + " with Xid" +
                       (numbers.empty() ? "" : " " + base::join(numbers, ", ")) + " in the kernel's log",
                   "journalctl -k -b --grep='NVRM: Xid'; NVIDIA's Xid documentation explains each number");
}

} // namespace gpuhost::ctl
