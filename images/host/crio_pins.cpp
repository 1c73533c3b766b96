// SPDX-License-Identifier: Apache-2.0
#include "images/host/crio_pins.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/content/set/file_operation.hpp"

#include <algorithm>

namespace gpuhost::images {

using base::Errc;
using base::Result;
using base::Root;
using Names = std::set<std::string>;

namespace {

constexpr std::string_view crio_conf = "/etc/crio/crio.conf";
constexpr std::string_view crio_conf_d = "/etc/crio/crio.conf.d";
/// The path of the new file while it is written. In crio_conf_d, CRI-O would read the incomplete file.
constexpr std::string_view unfinished = "/etc/crio/gpuhost.unfinished";
constexpr std::string_view indent = "    \"";

bool has_list(const Root& root, const std::string& file) {
    const std::string text = root.read(file).value_or("");
    for (const std::string_view line : base::split(text, '\n'))
        if (!base::starts_with(base::trim(line), "#") && line.find("pinned_images") != line.npos)
            return true;
    return false;
}

bool somebody_has_list(const Root& root) {
    if (has_list(root, std::string(crio_conf)))
        return true;
    const auto files = root.list(crio_conf_d).value_or(std::vector<std::string>());
    return std::any_of(files.begin(), files.end(), [&](const std::string& name) {
        const std::string path = std::string(crio_conf_d) + "/" + name;
        return (path != crio_pins_file || !content::is_ours(root, path)) && has_list(root, path);
    });
}

std::string text_of(const Names& names) {
    std::string text = std::string(content::file_mark) + "[crio.image]\npinned_images = [\n";
    for (const std::string& name : names)
        text += std::string(indent) + name + "\",\n";
    return text + "]\n";
}

} // namespace

bool CrioPins::are_used() const {
    return root_->exists(crio_directory) && !somebody_has_list(*root_);
}

Result<Names> CrioPins::names() const {
    Names names;
    if (!root_->exists(crio_pins_file) || !content::is_ours(*root_, crio_pins_file))
        return names;
    GPUHOST_TRY(text, root_->read(crio_pins_file));
    for (std::string_view line : base::split(text, '\n'))
        if (base::starts_with(line, indent)) {
            line.remove_prefix(indent.size());
            names.emplace(line.substr(0, line.find('"')));
        }
    return names;
}

Result<void> CrioPins::write(const Names& names, const CrioReload& reload) const {
    if (!content::is_ours(*root_, crio_pins_file))
        return base::fail(Errc::AlreadyExists, "'" + std::string(crio_pins_file) + "' is not gpuhost's",
                          "Remove the program that wrote it, or move the file away.");
    GPUHOST_CHECK(reload.mark());
    if (names.empty())
        return root_->remove(crio_pins_file);
    GPUHOST_CHECK(root_->make_directories(crio_conf_d));
    GPUHOST_CHECK(root_->write_atomic(unfinished, text_of(names)));
    return root_->rename(unfinished, crio_pins_file);
}

Result<void> CrioPins::add(const std::string& name) const {
    if (!are_used())
        return {};
    GPUHOST_TRY(reload, CrioReload::begin(*root_));
    GPUHOST_TRY(names, this->names());
    if (!names.insert(name).second)
        return {};
    GPUHOST_CHECK(write(names, reload));
    return reload.notify(patience_);
}

Result<void> CrioPins::notify() const {
    if (!root_->exists(crio_directory))
        return {};
    GPUHOST_TRY(reload, CrioReload::begin(*root_));
    return reload.notify(patience_);
}

Result<void> CrioPins::retain(const std::function<bool(const std::string&)>& is_wanted) const {
    if (!root_->exists(crio_directory))
        return {};
    GPUHOST_TRY(reload, CrioReload::begin(*root_));
    GPUHOST_TRY(names, this->names());
    const bool used = are_used();
    if (std::erase_if(names, [&](const std::string& name) { return !used || !is_wanted(name); }) != 0)
        GPUHOST_CHECK(write(names, reload));
    return reload.notify(patience_);
}

} // namespace gpuhost::images
