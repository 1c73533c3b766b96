# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/client daemon/ctl/cli daemon/devices daemon/devices/publish daemon/rpc/kubelet
daemon_ctl_libctl_a_SOURCES += \
    %D%/clear.cpp \
    %D%/list.cpp \
    %D%/mark.cpp \
    %D%/pods.cpp \
    %D%/pods.hpp \
    %D%/show.cpp \
    %D%/verbs.hpp \
    %D%/view.cpp \
    %D%/view.hpp
