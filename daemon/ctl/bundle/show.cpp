// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/ctl/bundle/content.hpp"
#include "daemon/ctl/bundle/files.hpp"
#include "daemon/ctl/bundle/verbs.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/view.hpp"

#include <array>

namespace gpuhost::ctl {

using base::Json;
using base::Result;

namespace {

constexpr Option root_option{"root", "DIRECTORY", "show what the system that is mounted there would import"};
constexpr std::array options{trust_option, root_option, option::json};

Result<int> run(Session& session) {
    GPUHOST_TRY(files, open_bundle_files(session.arguments().words()));
    GPUHOST_TRY(trust, chosen_trust(session));
    GPUHOST_TRY(input, bundle_input(files));
    GPUHOST_TRY(bundle, images::BundleReader::open(std::move(input), trust));
    GPUHOST_TRY(root, base::Root::open(session.arguments().value(root_option).value_or("/")));
    const Json document = document_of(bundle, root);
    if (session.wants_json())
        session.print_json(document);
    else
        session.page(render_bundle(session.out(), document));
    return 0;
}

constexpr std::array examples{
    Example{"bundle show site.bundle", "show what is in it, and what this host would import"}};

} // namespace

const Verb bundle_show_verb{
    "bundle show",
    "FILE…|-",
    "show the content of a bundle",
    "Shows a bundle's name, generation, signer, images, drivers, packages and files with their sizes; which "
    "of them this host would import and how much of each its store lacks; and whether an import would be "
    "refused. Reads the signed manifest and the documents of the content; from a pipe only the manifest, "
    "which has no sizes. Needs no daemon and no privileges.",
    1,
    100'000,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
