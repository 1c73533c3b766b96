# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/devices daemon/devices/health daemon/host
daemon_devices_plugin_libplugin_a_SOURCES += \
    %D%/fault_monitor.cpp \
    %D%/fault_monitor.hpp \
    %D%/health_report.cpp \
    %D%/health_report.hpp
