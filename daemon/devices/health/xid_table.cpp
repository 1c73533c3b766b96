// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/health/xid_table.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::devices {

namespace {

constexpr std::array needs_reset{
    46,  // GPU stopped processing
    48,  // double-bit ECC error
    62,  // internal micro-controller halt
    64,  // a row could not be remapped
    95,  // uncontained memory error
    109, // context switch timeout
    110, // security fault
    119, // GSP RPC timeout
    120, // GSP error
    136, // link training failed
    140, // unrecovered ECC error
    143, // GPU initialization error
    155, // NVLink software defined error
    156, // resource retirement event
    158, // fatal timeout
};
constexpr std::array needs_reboot{
    79,  // GPU has fallen off the bus
    151, // key rotation error
};
constexpr unsigned nvlink_error = 74;
constexpr unsigned first_nvlink_unit = 144;
constexpr unsigned last_nvlink_unit = 150;

template <class List>
bool contains(const List& list, unsigned xid) {
    return std::find(list.begin(), list.end(), static_cast<int>(xid)) != list.end();
}

} // namespace

bool is_nvlink_xid(unsigned xid) {
    return xid == nvlink_error || (xid >= first_nvlink_unit && xid <= last_nvlink_unit);
}

Recovery xid_recovery(unsigned xid, bool fatal) {
    if (contains(needs_reboot, xid))
        return Recovery::reboot;
    return contains(needs_reset, xid) || (is_nvlink_xid(xid) && fatal) ? Recovery::reset : Recovery::none;
}

Recovery action_recovery(unsigned action) {
    switch (action) {
    case 0: // none
        return Recovery::none;
    case 2: // restart of the host
    case 6: // reset of the bus
    case 7: // restart of the system
        return Recovery::reboot;
    default: // 1: reset of the GPU; 3, 4: the same after its users have ended; 5: recovery of the IMEX domain
        return Recovery::reset;
    }
}

} // namespace gpuhost::devices
