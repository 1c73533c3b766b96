// SPDX-License-Identifier: Apache-2.0
#include "kmod/store/flavour_choice.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>

namespace gpuhost::kmod {

using base::Errc;

namespace {

/// Returns the list of GPUs that the open modules do not drive, from the newest userland with such a list;
/// null if there is none.
const std::vector<std::string>* list_of(const Store& store, const std::string& version) {
    const DriverVersion* const known = store.find(version);
    if (known == nullptr)
        return nullptr;
    for (const Userland& userland : known->userland)
        if (!userland.closed_gpus.empty())
            return &userland.closed_gpus;
    return nullptr;
}

} // namespace

FlavourChoice choose_flavour(const Store& store, const std::string& version, const std::string& wanted,
                             const std::vector<PciGpu>& gpus) {
    FlavourChoice choice{wanted, {}, std::nullopt};
    const std::vector<std::string>* const list = list_of(store, version);
    if (list == nullptr)
        return choice;
    std::vector<std::string> closed;
    std::vector<std::string> others;
    for (const PciGpu& gpu : gpus_to_drive(gpus)) {
        const std::string numbers = pci_numbers(gpu);
        const bool is_closed = std::find(list->begin(), list->end(), numbers) != list->end();
        (is_closed ? closed : others).push_back(gpu.address + " (" + numbers + ")");
    }
    if (closed.empty())
        return choice;
    const std::string not_driven =
        "the open modules of " + version + " do not drive " + base::join(closed, ", ");
    if (wanted == "open") {
        choice.reasons.push_back("Flavour=open applies, although " + not_driven);
    } else if (wanted == "any" && others.empty()) {
        choice.flavour = "proprietary";
        choice.reasons.push_back(not_driven + ": the proprietary modules are used");
    } else if (wanted == "any") {
        choice.problem = core::Problem{
            Errc::Unsupported, not_driven + ", but " + base::join(others, ", ") + " may need them",
            "Set Flavour=proprietary in gpuhostd.conf if those modules drive all of these "
            "GPUs, or Flavour=open to leave the first GPUs without a driver."};
    }
    return choice;
}

const ModuleSet* modules_to_use(const Store& store, const std::string& version, const std::string& kernel,
                                const std::string& wanted, const std::vector<PciGpu>& gpus) {
    const std::string flavour = choose_flavour(store, version, wanted, gpus).flavour;
    return store.modules_for(version, kernel, flavour == "any" ? "" : flavour);
}

} // namespace gpuhost::kmod
