# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/client daemon/cluster/kube daemon/content/crypto daemon/ctl/cli
#   daemon/ctl/gpu daemon/ctl/host daemon/ctl/runtime daemon/devices daemon/runtime/cdi daemon/runtime/configure
#   daemon/runtime/inspect daemon/runtime/toolkit images/bundle kmod
#   kmod/boot kmod/device kmod/load kmod/module kmod/plan kmod/store kmod/trust
daemon_ctl_libctl_a_SOURCES += \
    %D%/boot.cpp \
    %D%/cluster.cpp \
    %D%/daemon.cpp \
    %D%/doctor.cpp \
    %D%/doctor.hpp \
    %D%/driver.cpp \
    %D%/facts.cpp \
    %D%/facts.hpp \
    %D%/kubelet.cpp \
    %D%/modprobe_rules.cpp \
    %D%/modprobe_rules.hpp \
    %D%/place.cpp \
    %D%/service.cpp \
    %D%/system.cpp \
    %D%/verb.cpp \
    %D%/view.cpp \
    %D%/view.hpp
