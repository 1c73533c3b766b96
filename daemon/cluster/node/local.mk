# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/cluster/kube daemon/core
daemon_cluster_libcluster_a_SOURCES += \
    %D%/cluster_settings.cpp \
    %D%/cluster_settings.hpp \
    %D%/gpu_labels.cpp \
    %D%/gpu_labels.hpp \
    %D%/host_agent.cpp \
    %D%/host_agent.hpp \
    %D%/metrics.cpp \
    %D%/metrics.hpp \
    %D%/metrics_socket.cpp \
    %D%/metrics_socket.hpp \
    %D%/node_change.cpp \
    %D%/node_change.hpp \
    %D%/readiness.cpp \
    %D%/readiness.hpp \
    %D%/upgrade_node.cpp \
    %D%/upgrade_node.hpp \
    %D%/write_damper.cpp \
    %D%/write_damper.hpp
