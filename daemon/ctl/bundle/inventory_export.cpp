// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/bundle/host_inventory.hpp"
#include "daemon/ctl/cli/output_file.hpp"
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/host/verbs.hpp"

#include <array>

namespace gpuhost::ctl {

using base::Result;

namespace {

constexpr Option file_option{"output", "PATH", "the file to write instead of stdout", false, false, 'o'};
constexpr std::array options{file_option, root_option};

Result<int> run(Session& session) {
    const Arguments& given = session.arguments();
    GPUHOST_TRY(root, given_root(given));
    GPUHOST_TRY(inventory, read_inventory(root));
    const std::string text = images::to_text(inventory);
    const auto path = given.value(file_option);
    if (!path) {
        session.print(text);
        return 0;
    }
    GPUHOST_TRY(file, OutputFile::create(*path));
    GPUHOST_CHECK(base::write_all(file.fd(), text, *path));
    GPUHOST_CHECK(file.finish());
    session.note(
        "Wrote the inventory of " +
        (inventory.hostname.empty() ? "this host" : printable(inventory.hostname)) + ", with " +
        plural(inventory.blobs.size(), "blob", "blobs") + ", to " + *path +
        ".\nNext: copy it to the machine that makes bundles, for 'gpuhostctl bundle create --for'.\n");
    return 0;
}

constexpr std::array examples{
    Example{"inventory export -o host.json", "describe this host, for 'bundle create --for'"}};

} // namespace

const Verb inventory_export_verb{
    "inventory export",
    "",
    "write a description of this host, to make bundles for it",
    "Writes a description of this host: kernels, GPUs, drivers, container runtimes, bundles, images, blobs. "
    "'gpuhostctl bundle create --for' makes the smallest bundle for this host from it. gpuhost-bundle(5) "
    "describes the JSON document. It has no secrets. Needs no daemon and no privileges.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
