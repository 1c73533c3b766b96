// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/create/inventory.hpp"

#include <functional>
#include <map>
#include <string>

namespace gpuhost::ctl {

/// Returns the facts that decide what the host imports from a bundle.
[[nodiscard]] images::HostFacts read_host_facts(const base::Root& root);

/// Reads the inventory of a host from its files, without gpuhostd and without privileges. Omits facts that
/// can't be read. Fails if a store can't be read, because an inventory must list the stores completely.
[[nodiscard]] base::Result<images::Inventory> read_inventory(const base::Root& root);

/// Returns the models of this host's GPUs in pci.ids: PCI address → name, which is empty if it is unknown.
/// Reads no file of the driver: while a driver hangs, a read of its files may never return.
[[nodiscard]] std::map<std::string, std::string, std::less<>> gpu_models(const base::Root& root);

/// Returns the packages that dpkg has installed: name → version.
[[nodiscard]] std::map<std::string, std::string, std::less<>> debian_packages(const base::Root& root);

} // namespace gpuhost::ctl
