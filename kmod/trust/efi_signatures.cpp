// SPDX-License-Identifier: Apache-2.0
#include "kmod/trust/efi_signatures.hpp"

#include <cstdint>
#include <cstring>

namespace gpuhost::kmod {
namespace {

constexpr std::size_t variable_limit = 4U << 20; // bytes; firmware has some hundred KiB for all variables
constexpr std::size_t most_certificates = 1024;
constexpr std::size_t attributes = 4; ///< bytes of attributes, before a variable's content in efivarfs
constexpr std::size_t owner = 16;     ///< bytes of each signature's SignatureOwner
constexpr std::string_view x509_type("\xa1\x59\xc0\xa5\xe4\x94\xa7\x4a\x87\xb5\xab\x15\x5c\x2b\xf0\x72", 16);
constexpr std::string_view efivars = "/sys/firmware/efi/efivars/";

struct ListHeader {
    char type[16];                                        ///< a GUID
    std::uint32_t list_size, header_size, signature_size; ///< little-endian
};

std::string variable(const base::Root& root, std::string_view name) {
    const std::string path = std::string(efivars) + std::string(name);
    std::string content = root.read(path, variable_limit).value_or(std::string());
    content.erase(0, attributes);
    return content;
}

} // namespace

std::vector<std::string> parse_signature_lists(std::string_view data) {
    std::vector<std::string> certificates;
    ListHeader header{};
    while (data.size() >= sizeof header) {
        std::memcpy(&header, data.data(), sizeof header);
        if (header.list_size < sizeof header || header.list_size > data.size() ||
            header.header_size > header.list_size - sizeof header || header.signature_size <= owner)
            return certificates;
        std::string_view list = data.substr(sizeof header + header.header_size,
                                            header.list_size - sizeof header - header.header_size);
        data.remove_prefix(header.list_size);
        if (std::string_view(header.type, sizeof header.type) != x509_type)
            continue;
        for (; list.size() >= header.signature_size; list.remove_prefix(header.signature_size)) {
            if (certificates.size() == most_certificates)
                return certificates;
            certificates.emplace_back(list.substr(owner, header.signature_size - owner));
        }
    }
    return certificates;
}

std::vector<std::string> firmware_certificates(const base::Root& root) {
    // With a recent kernel and shim, this file has the complete list. The variable in efivarfs has only a
    // list that fits into one variable.
    const auto table = root.read("/sys/firmware/efi/mok-variables/MokListRT", variable_limit);
    std::vector<std::string> certificates = parse_signature_lists(
        table ? *table : variable(root, "MokListRT-605dab50-e046-4300-abb6-3dd810dd8b23"));
    for (std::string& certificate :
         parse_signature_lists(variable(root, "db-d719b2cb-3d3a-4596-a3bc-dad00e67656f")))
        certificates.push_back(std::move(certificate));
    return certificates;
}

std::string secure_boot_state(const base::Root& root) {
    const std::string value = variable(root, "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c");
    if (value.size() != 1)
        return {};
    return value.front() == 1 ? "enabled" : "disabled";
}

} // namespace gpuhost::kmod
