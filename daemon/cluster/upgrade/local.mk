# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/cluster/kube daemon/cluster/node daemon/cluster/policy
#   daemon/cluster/rollout
daemon_cluster_libcluster_a_SOURCES += \
    %D%/agent.cpp \
    %D%/agent.hpp \
    %D%/event_sender.cpp \
    %D%/event_sender.hpp \
    %D%/gpu_users.cpp \
    %D%/gpu_users.hpp \
    %D%/host.hpp \
    %D%/patch.cpp \
    %D%/patch.hpp \
    %D%/pause.cpp \
    %D%/pod_mover.cpp \
    %D%/pod_mover.hpp \
    %D%/pods.cpp \
    %D%/pods.hpp \
    %D%/upgrade.cpp \
    %D%/upgrade.hpp
