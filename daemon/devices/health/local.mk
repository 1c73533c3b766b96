# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/devices
daemon_devices_libdevices_a_SOURCES += \
    %D%/clears.cpp \
    %D%/clears.hpp \
    %D%/fault_log.cpp \
    %D%/fault_log.hpp \
    %D%/fault_log_text.cpp \
    %D%/health.cpp \
    %D%/health.hpp \
    %D%/kernel_line.cpp \
    %D%/kernel_line.hpp \
    %D%/kmsg_record.cpp \
    %D%/kmsg_record.hpp \
    %D%/xid_table.cpp \
    %D%/xid_table.hpp
