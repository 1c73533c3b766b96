# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/content/crypto daemon/http
daemon_cluster_libcluster_a_SOURCES += \
    %D%/api.cpp \
    %D%/api.hpp \
    %D%/backoff.hpp \
    %D%/credentials.cpp \
    %D%/credentials.hpp \
    %D%/endpoint.cpp \
    %D%/endpoint.hpp \
    %D%/enrolment.cpp \
    %D%/enrolment.hpp \
    %D%/event_lines.cpp \
    %D%/event_lines.hpp \
    %D%/kube_time.cpp \
    %D%/kube_time.hpp \
    %D%/kubeconfig.cpp \
    %D%/kubeconfig.hpp \
    %D%/paths.hpp \
    %D%/selector.cpp \
    %D%/selector.hpp \
    %D%/shortened.cpp \
    %D%/shortened.hpp \
    %D%/watch.cpp \
    %D%/watch.hpp
