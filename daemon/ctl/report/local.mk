# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/client daemon/cluster/kube daemon/content/archive daemon/core
#   daemon/ctl/bundle daemon/ctl/cli daemon/ctl/doctor daemon/ctl/host daemon/devices/publish
#   daemon/runtime/cdi daemon/runtime/inspect daemon/settings
daemon_ctl_libctl_a_SOURCES += \
    %D%/daemon.cpp \
    %D%/driver.cpp \
    %D%/files.cpp \
    %D%/newest_first.cpp \
    %D%/newest_first.hpp \
    %D%/redact.cpp \
    %D%/redact.hpp \
    %D%/report.cpp \
    %D%/report.hpp \
    %D%/system.cpp \
    %D%/verb.cpp
