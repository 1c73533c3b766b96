# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/core daemon/host daemon/host/transaction
daemon_host_libhost_a_SOURCES += \
    %D%/cluster_side.cpp \
    %D%/cluster_side.hpp \
    %D%/kubelet_files.cpp \
    %D%/kubelet_files.hpp \
    %D%/manager.cpp \
    %D%/manager.hpp \
    %D%/mounted_system.cpp \
    %D%/mounted_system.hpp
