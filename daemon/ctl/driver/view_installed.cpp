// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/driver/view_installed.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/table.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/wrap.hpp"

#include <map>

namespace gpuhost::ctl {
namespace {

/// Adds a line for each directory: "23 files in /usr/lib/x86_64-linux-gnu".
void add_directories(Facts& facts, const std::string& label, const std::vector<std::string>& files) {
    std::map<std::string, std::uint64_t> counts;
    for (const std::string& file : files)
        ++counts[file.substr(0, file.rfind('/'))];
    std::string first = label;
    for (const auto& [directory, count] : counts)
        facts.add(std::exchange(first, ""), plural(count, "file", "files") + " in " + printable(directory));
}

void add_lines(Facts& facts, const std::string& label, const std::vector<std::string>& lines) {
    std::string first = label;
    for (const std::string& line : lines)
        facts.add(std::exchange(first, ""), printable(line));
}

std::string origin(const kmod::InstalledDriver& driver, const Owners& owners) {
    if (!owners.packages.empty())
        return "packages (" + owners.manager +
               "): " + base::join({owners.packages.begin(), owners.packages.end()}, " ");
    if (!driver.uninstaller.empty())
        return "NVIDIA's installer; its uninstaller is " + driver.uninstaller;
    return "no package";
}

} // namespace

std::string render_installed(const Screen& screen, const kmod::InstalledDriver& driver,
                             const Owners& owners) {
    Facts facts;
    facts.add("Driver", screen.paint(Style::Bold, driver.version) +
                            (driver.flavour.empty()
                                 ? ", without modules for " + driver.kernel
                                 : ", " + driver.flavour + (driver.loaded ? ", loaded" : ", not loaded")));
    facts.add("From", printable(origin(driver, owners)));
    if (!owners.packages.empty() && !owners.unowned.empty())
        facts.add("", plural(owners.unowned.size(), "file belongs", "files belong") +
                          " to no package, such as " + printable(owners.unowned.front()));
    add_directories(facts, "Modules", driver.modules);
    add_directories(facts, "Libraries", driver.libraries);
    add_directories(facts, "Programs", driver.programs);
    add_directories(facts, "Firmware", driver.firmware);
    add_lines(facts, "Services", driver.units);
    add_directories(facts, "Sources", driver.sources);
    add_lines(facts, "DKMS", driver.dkms);
    add_lines(facts, "modprobe", driver.rules);
    add_lines(facts, "Risks", driver.disturbers);
    return facts.render(screen);
}

std::string render_takeover(const Screen& screen, const kmod::InstalledDriver& driver, const Owners& owners,
                            const base::Root& root, bool adopted) {
    std::string text;
    if (!adopted)
        text += "\nTo leave it alone:   Version=preinstalled in gpuhostd.conf(5)\n"
                "To adopt it:         gpuhostctl driver adopt, which copies it into the store\n";
    std::string remove = !removal_command(owners).empty() ? removal_command(owners) : driver.uninstaller;
    if (remove.empty())
        remove = "gpuhostctl driver adopt --files" +
                 (root.is_host() ? std::string() : " --root=" + root.host_path("")) +
                 " | xargs -d '\\n' rm   (not packaged: check the list first)";
    text += std::string(adopted ? "\nTo run it with gpuhostd:\n" : "and then, to run it with gpuhostd:\n");
    // From the removal of the files to the swap GPUs are not usable, so the dry run is the first command.
    text += "  gpuhostctl driver swap " + driver.version + " --dry-run   (until only these files block it)\n";
    for (const std::string& unit : driver.units)
        if (!base::starts_with(unit, "/etc/"))
            text += "  cp " + printable(unit) +
                    " /etc/systemd/system/   (if you use this service: it is removed next)\n";
    text += "  " + printable(remove) + "\n";
    for (const std::string& rule : driver.rules)
        text += "  rm " + printable(rule) + "   (if it still exists)\n";
    text += "  gpuhostctl driver swap " + driver.version + "\n";
    return fit(screen, text);
}

} // namespace gpuhost::ctl
